//! For each audit, what makes a sound file break its rule.

pub(super) const FAULTS: &[(&str, &str)] = &[
    ("one_place", "DELETE FROM lanebox_scheduled WHERE id = 5"),
    ("scheduled_is_true", "UPDATE lanebox_scheduled SET run_at = 91 WHERE id = 5"),
    ("open_is_true", "UPDATE lanebox_open SET kind = 9 WHERE id = 3"),
    ("ready_is_true", "UPDATE lanebox_ready SET priority = 1 WHERE id = 1"),
    ("running_is_true", "UPDATE lanebox_running SET lane = NULL"),
    ("finished_is_true", "DELETE FROM lanebox_job WHERE id = 6"),
    ("tried_is_true", "UPDATE lanebox_tried SET lane = 1 WHERE id = 7"),
    ("ready_not_claimable", "INSERT INTO lanebox_pause(lane, by_operator) VALUES (1, 1)"),
    ("claimable_not_ready", "DELETE FROM lanebox_ready WHERE id = 2"),
    (
        "keeper_not_ready",
        "DELETE FROM lanebox_ready WHERE id = 2; DELETE FROM lanebox_open WHERE id = 2; \
         INSERT INTO lanebox_tried(id, lane, phase, run_at, series, attempts, lost, lost_alone, postponed, unknowns, sent) \
         VALUES (2, 1, 'waiting', 10, 1, 1, 0, 0, 0, 0, 0)",
    ),
    ("two_in_ready_of_a_lane", "INSERT INTO lanebox_ready VALUES (0, 1, 2, 500, 11, 3)"),
    (
        "two_occupants",
        "INSERT INTO lanebox_tried(id, lane, phase, run_at, series, attempts, lost, lost_alone, postponed, unknowns, sent) \
         VALUES (1, 2, 'waiting', 10, 1, 1, 0, 0, 0, 0, 0)",
    ),
    (
        "token_twice",
        "INSERT INTO lanebox_running(id, org, kind, run_at, token, process, lease_until, started_at, max_attempts) \
         VALUES (1, 2, 1, 12, 50, 1, 0, 0, 3)",
    ),
    ("token_ahead", "UPDATE lanebox_counter SET token = 49"),
    (
        "token_backwards",
        "INSERT INTO lanebox_attempt(job, token, series, n, process, started_at, ended_at, ended) VALUES (4, 60, 1, 1, 1, 0, 0, 'lost')",
    ),
    ("all_over_cap", "UPDATE lanebox_counter SET cap = 0"),
    ("org_over_cap", "UPDATE lanebox_org SET cap = 0"),
    ("kind_over_cap", "UPDATE lanebox_kind SET cap = 0"),
    (
        "suspect_not_alone",
        "UPDATE lanebox_running SET alone = 1; \
         INSERT INTO lanebox_running(id, org, kind, run_at, token, process, lease_until, started_at, max_attempts) \
         VALUES (1, 2, 1, 12, 51, 1, 0, 0, 3)",
    ),
    ("attempts_over", "UPDATE lanebox_tried SET attempts = 3"),
    ("lane_of_another_org", "UPDATE lanebox_lane SET org = 1"),
    ("dead_without_notice", "DELETE FROM lanebox_notice WHERE id = 1"),
    ("expiry_is_true", "INSERT INTO lanebox_expiry(expires_at, id) VALUES (5, 1)"),
    ("expiry_missing", "UPDATE lanebox_job SET expires_at = 5 WHERE id = 1"),
    ("result_is_true", "INSERT INTO lanebox_result(job, result) VALUES (1, '{}')"),
    ("pause_is_true", "INSERT INTO lanebox_pause(lane, by_operator) VALUES (99, 1)"),
    ("holder_is_known", "UPDATE lanebox_running SET process = 99"),
    ("front_ahead", "UPDATE lanebox_event SET uuid = NULL WHERE seq = 2"),
    ("key_forgotten", "DELETE FROM lanebox_event_key"),
    ("duplicate_delivered", "UPDATE lanebox_event SET duplicate_of = zeroblob(16) WHERE seq = 2"),
    ("delivered_ahead", "UPDATE lanebox_consumer SET position = 1"),
    (
        "job_without_delivery",
        "UPDATE lanebox_job SET source_event = 1, consumer = 2, ordinal = 0 WHERE id = 1",
    ),
    (
        "delivery_without_job",
        "UPDATE lanebox_delivery SET state = 'job', job = 1, reason = NULL WHERE event = 1",
    ),
    (
        "dead_delivery_without_notice",
        "UPDATE lanebox_delivery SET state = 'dead', notice = 9, reason = NULL WHERE event = 1",
    ),
    (
        "retry_without_event",
        "INSERT INTO lanebox_delivery(consumer, event, state, at, next_at) VALUES (1, 0, 'retry', 0, 0)",
    ),
    (
        "retired_but_open",
        "UPDATE lanebox_consumer SET state = 'retired', retired_at = 0, routing = 3",
    ),
    ("consumer_without_pattern", "DELETE FROM lanebox_pattern"),
    ("passed_without_delivery", "DELETE FROM lanebox_delivery WHERE event = 2"),
    ("holder_without_range", "UPDATE lanebox_consumer SET holder = 1"),
    (
        "held_by_who_is_gone",
        "UPDATE lanebox_consumer SET routing = 9, holder = 1; UPDATE lanebox_process SET gone = 1",
    ),
    (
        "two_undecided",
        "INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, intended_at, after) \
         VALUES (1, 2, randomblob(16), 1, randomblob(32), 'a', randomblob(32), 'intended', 7, 31, 0, 'rejected')",
    ),
    (
        "accepted_twice",
        "UPDATE lanebox_send_try SET state = 'accepted', receipt = 'r', ended_at = 0, next_look = NULL; \
         INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, intended_at, after, ended_at, receipt) \
         VALUES (1, 2, randomblob(16), 1, randomblob(32), 'a', randomblob(32), 'accepted', 7, 31, 0, 'rejected', 0, 'r')",
    ),
    ("intended_but_not_running", "UPDATE lanebox_send_try SET state = 'intended'"),
    ("unknown_unattended", "UPDATE lanebox_send_try SET next_look = NULL"),
    ("unknown_of_an_ended_job", "UPDATE lanebox_send_try SET job = 6"),
    ("try_of_another_origin", "UPDATE lanebox_send SET origin = 'j5'"),
    ("waits_for_a_settled_send", "UPDATE lanebox_send_try SET state = 'rejected', class = 'good'"),
    ("parked_without_notice", "UPDATE lanebox_tried SET phase = 'parked'"),
    ("waits_past_its_notice", "UPDATE lanebox_send_try SET notice = 1"),
    ("waits_without_its_lane", "UPDATE lanebox_job SET lane = 1 WHERE id = 7"),
    (
        "done_over_undecided",
        "UPDATE lanebox_send_try SET job = 6; UPDATE lanebox_finished SET state = 'done'",
    ),
    (
        "order_of_an_ended_job",
        "UPDATE lanebox_send SET order_by = 'ann'; UPDATE lanebox_send_try SET job = 6; \
         UPDATE lanebox_finished SET state = 'done'",
    ),
    ("second_accept_without_notice", "UPDATE lanebox_send_try SET state = 'duplicate'"),
    (
        "tried_again_without_cause",
        "INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, intended_at, after) \
         VALUES (1, 2, randomblob(16), 1, randomblob(32), 'a', randomblob(32), 'rejected', 7, 31, 0, 'rejected')",
    ),
    (
        "sent_again_without_order",
        "UPDATE lanebox_send_try SET state = 'abandoned', how = 'given_up'; \
         INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, intended_at, after) \
         VALUES (1, 2, randomblob(16), 1, randomblob(32), 'a', randomblob(32), 'rejected', 7, 31, 0, 'abandoned')",
    ),
    ("tries_with_a_gap", "UPDATE lanebox_send_try SET n = 2"),
    ("send_without_try", "DELETE FROM lanebox_send_try"),
    ("sends_with_a_gap", "UPDATE lanebox_send SET seq = 2"),
    ("notice_of_nothing", "UPDATE lanebox_notice SET kind = 'send.unknown' WHERE id = 1"),
];
