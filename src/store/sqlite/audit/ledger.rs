//! Audits of the send ledger: one undecided try, one accept, no repeat without permission, nothing
//! unknown that nobody looks after.

use super::Audit;

pub(super) const AUDITS: &[Audit] = &[
    Audit {
        name: "two_undecided",
        sentence: "a send has at most one undecided try",
        sql: "SELECT send FROM lanebox_send_try WHERE state IN ('intended', 'unknown') GROUP BY send HAVING count(*) > 1",
    },
    Audit {
        name: "accepted_twice",
        sentence: "a send is accepted once, and once more for each order of a person",
        sql: "SELECT send FROM lanebox_send_try WHERE state = 'accepted' GROUP BY send, order_no HAVING count(*) > 1",
    },
    Audit {
        name: "intended_but_not_running",
        sentence: "an intended try belongs to a run under way",
        sql: "SELECT t.send FROM lanebox_send_try t WHERE t.state IN ('intended', 'unknown') AND t.state = 'intended' \
AND NOT EXISTS (SELECT 1 FROM lanebox_running r WHERE r.id = t.job AND r.token = t.token)",
    },
    Audit {
        name: "unknown_unattended",
        sentence: "an unknown try has a next look or an open notice",
        sql: "SELECT t.send FROM lanebox_send_try t WHERE t.state IN ('intended', 'unknown') AND t.state = 'unknown' AND t.next_look IS NULL \
AND NOT EXISTS (SELECT 1 FROM lanebox_notice n WHERE n.id = t.notice AND n.state <> 'resolved')",
    },
    Audit {
        name: "unknown_of_an_ended_job",
        sentence: "a person was told of an unknown try whose job has ended",
        sql: "SELECT t.send FROM lanebox_send_try t JOIN lanebox_finished f ON f.id = t.job WHERE t.state IN ('intended', 'unknown') \
AND t.state = 'unknown' AND NOT EXISTS (SELECT 1 FROM lanebox_notice n WHERE n.id = t.notice AND n.state <> 'resolved')",
    },
    Audit {
        name: "try_of_another_origin",
        sentence: "a try belongs to a job of its send's origin",
        sql: "SELECT t.send FROM lanebox_send_try t JOIN lanebox_send s ON s.id = t.send JOIN lanebox_job j ON j.id = t.job \
WHERE s.origin <> CASE WHEN j.consumer IS NULL THEN 'j' || j.id ELSE 'e' || j.source_event || '.c' || j.consumer || '.' || j.ordinal END",
    },
    Audit {
        name: "waits_for_a_settled_send",
        sentence: "a job waits for a send only while it is unknown",
        sql: "SELECT w.id FROM lanebox_tried w WHERE w.waits_send IS NOT NULL \
AND NOT EXISTS (SELECT 1 FROM lanebox_send_try t WHERE t.send = w.waits_send AND t.state = 'unknown')",
    },
    Audit {
        name: "parked_without_notice",
        sentence: "a person was told of the send that a parked job waits for",
        sql: "SELECT w.id FROM lanebox_tried w JOIN lanebox_send_try t ON t.send = w.waits_send AND t.state = 'unknown' \
WHERE w.phase = 'parked' AND NOT EXISTS (SELECT 1 FROM lanebox_notice n WHERE n.id = t.notice AND n.state <> 'resolved')",
    },
    Audit {
        name: "waits_past_its_notice",
        sentence: "a job waits in its lane only until a person was told",
        sql: "SELECT w.id FROM lanebox_tried w JOIN lanebox_send_try t ON t.send = w.waits_send AND t.state = 'unknown' \
WHERE w.phase = 'unknown' AND t.notice IS NOT NULL",
    },
    Audit {
        name: "waits_without_its_lane",
        sentence: "a job that waits for a send inside the patience keeps its lane",
        sql: "SELECT w.id FROM lanebox_tried w JOIN lanebox_job j ON j.id = w.id WHERE w.phase = 'unknown' AND w.lane IS NOT j.lane",
    },
    Audit {
        name: "done_over_undecided",
        sentence: "a done job has no undecided send, but one that was accepted before",
        sql: "SELECT t.send FROM lanebox_send_try t JOIN lanebox_send s ON s.id = t.send JOIN lanebox_finished f ON f.id = t.job \
WHERE t.state IN ('intended', 'unknown') AND f.state = 'done' AND s.order_by IS NULL \
  AND NOT EXISTS (SELECT 1 FROM lanebox_send_try a WHERE a.send = s.id AND a.state = 'accepted')",
    },
    Audit {
        name: "order_of_an_ended_job",
        sentence: "a person was told of an order that its job ended without",
        sql: "SELECT s.id FROM lanebox_send s JOIN lanebox_send_try t ON t.send = s.id AND t.n = (SELECT max(n) FROM lanebox_send_try WHERE send = s.id) \
JOIN lanebox_channel c ON c.id = t.channel JOIN lanebox_finished f ON f.id = t.job WHERE s.order_by IS NOT NULL AND f.state <> 'dead' \
AND NOT EXISTS (SELECT 1 FROM lanebox_notice n WHERE n.org = s.org AND n.kind = 'send.unfulfilled' AND n.cause = 'channel ' || c.name)",
    },
    Audit {
        name: "second_accept_without_notice",
        sentence: "a second accept has its notice",
        sql: "SELECT t.send FROM lanebox_send_try t WHERE t.state = 'duplicate' AND NOT EXISTS (SELECT 1 FROM lanebox_notice n WHERE n.id = t.notice)",
    },
    Audit {
        name: "tried_again_without_cause",
        sentence: "a later try follows one that was rejected, abandoned, or ordered by a person",
        sql: "SELECT t.send FROM lanebox_send_try t JOIN lanebox_send_try p ON p.send = t.send AND p.n = t.n - 1 \
WHERE t.ordered_by IS NULL AND p.class IS NULL AND p.how IS NULL",
    },
    Audit {
        name: "sent_again_without_order",
        sentence: "after a person gave up, or ordered, nothing goes out without an order",
        sql: "SELECT t.send FROM lanebox_send_try t JOIN lanebox_send_try p ON p.send = t.send AND p.n = t.n - 1 \
WHERE t.ordered_by IS NULL AND p.how IN ('given_up', 'send_again')",
    },
    Audit {
        name: "tries_with_a_gap",
        sentence: "the tries of a send are numbered without a gap",
        sql: "SELECT send FROM lanebox_send_try GROUP BY send HAVING max(n) <> count(*)",
    },
    Audit {
        name: "send_without_try",
        sentence: "a send has a try",
        sql: "SELECT s.id FROM lanebox_send s WHERE NOT EXISTS (SELECT 1 FROM lanebox_send_try t WHERE t.send = s.id)",
    },
    Audit {
        name: "sends_with_a_gap",
        sentence: "the numbered sends of an origin have no gap",
        sql: "SELECT origin FROM lanebox_send WHERE seq IS NOT NULL GROUP BY origin HAVING max(seq) <> count(*)",
    },
    Audit {
        name: "notice_of_nothing",
        sentence: "an open notice about unknown sends is about at least one",
        sql: "SELECT n.id FROM lanebox_notice n WHERE n.kind = 'send.unknown' AND n.state <> 'resolved' \
AND NOT EXISTS (SELECT 1 FROM lanebox_send_try t WHERE t.notice = n.id AND t.state = 'unknown')",
    },
];
