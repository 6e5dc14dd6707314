//! Audits of jobs and lanes: where each job is, that the derived tables are true, and that tokens
//! and caps held.

use super::Audit;

pub(super) const AUDITS: &[Audit] = &[
    Audit {
        name: "one_place",
        sentence: "every job is in exactly one place",
        sql: "SELECT j.id FROM lanebox_job j \
LEFT JOIN lanebox_finished f ON f.id = j.id LEFT JOIN lanebox_running r ON r.id = j.id LEFT JOIN lanebox_tried t ON t.id = j.id \
LEFT JOIN lanebox_scheduled s ON s.run_at = coalesce(t.run_at, j.run_at) AND s.id = j.id \
LEFT JOIN lanebox_open o ON o.lane = j.lane AND o.priority = j.priority AND o.run_at = coalesce(t.run_at, j.run_at) AND o.id = j.id \
LEFT JOIN lanebox_ready y ON y.alone = (coalesce(t.lost, 0) >= 2) AND y.kind = j.kind AND y.org = j.org AND y.priority = j.priority \
  AND y.run_at = coalesce(t.run_at, j.run_at) AND y.id = j.id \
WHERE (f.id IS NOT NULL) + (r.id IS NOT NULL) + (s.id IS NOT NULL) + (o.id IS NOT NULL) \
  + (t.lane IS NOT NULL AND s.id IS NULL) + (t.phase IS 'parked') + (j.lane IS NULL AND y.id IS NOT NULL) <> 1 \
  OR (y.id IS NOT NULL AND (f.id IS NOT NULL OR r.id IS NOT NULL OR s.id IS NOT NULL)) \
  OR (t.id IS NOT NULL AND (f.id IS NOT NULL OR r.id IS NOT NULL)) \
  OR (t.phase IS 'unknown' AND s.id IS NULL)",
    },
    Audit {
        name: "scheduled_is_true",
        sentence: "a scheduled row names a job and its due time",
        sql: "SELECT s.id FROM lanebox_scheduled s LEFT JOIN lanebox_job j ON j.id = s.id LEFT JOIN lanebox_tried t ON t.id = s.id \
WHERE j.id IS NULL OR s.run_at <> coalesce(t.run_at, j.run_at) OR s.lane IS NOT j.lane",
    },
    Audit {
        name: "open_is_true",
        sentence: "a row in a lane's line names a job, its place, and no job that keeps the lane",
        sql: "SELECT o.id FROM lanebox_open o LEFT JOIN lanebox_job j ON j.id = o.id LEFT JOIN lanebox_tried t ON t.id = o.id \
WHERE j.id IS NULL OR o.lane IS NOT j.lane OR o.priority <> j.priority OR o.kind <> j.kind \
  OR o.run_at <> coalesce(t.run_at, j.run_at) OR t.lane IS NOT NULL",
    },
    Audit {
        name: "ready_is_true",
        sentence: "a ready row names a job and its place",
        sql: "SELECT y.id FROM lanebox_ready y LEFT JOIN lanebox_job j ON j.id = y.id LEFT JOIN lanebox_tried t ON t.id = y.id \
WHERE j.id IS NULL OR y.kind <> j.kind OR y.org <> j.org OR y.priority <> j.priority \
  OR y.run_at <> coalesce(t.run_at, j.run_at) OR y.alone <> (coalesce(t.lost, 0) >= 2)",
    },
    Audit {
        name: "running_is_true",
        sentence: "a running row names a job, its org, its kind and its lane",
        sql: "SELECT r.id FROM lanebox_running r LEFT JOIN lanebox_job j ON j.id = r.id \
WHERE j.id IS NULL OR r.lane IS NOT j.lane OR r.org <> j.org OR r.kind <> j.kind",
    },
    Audit {
        name: "finished_is_true",
        sentence: "an ended job has its row",
        sql: "SELECT f.id FROM lanebox_finished f LEFT JOIN lanebox_job j ON j.id = f.id WHERE j.id IS NULL",
    },
    Audit {
        name: "tried_is_true",
        sentence: "a waiting job keeps its own lane or none",
        sql: "SELECT t.id FROM lanebox_tried t LEFT JOIN lanebox_job j ON j.id = t.id \
WHERE j.id IS NULL OR (t.lane IS NOT NULL AND t.lane IS NOT j.lane)",
    },
    Audit {
        name: "ready_not_claimable",
        sentence: "what can be claimed is the keeper, or the head of the line, of a lane that is free and not paused",
        sql: "SELECT y.id FROM lanebox_ready y JOIN lanebox_job j ON j.id = y.id LEFT JOIN lanebox_tried t ON t.id = y.id \
WHERE j.lane IS NOT NULL AND ( \
  EXISTS (SELECT 1 FROM lanebox_running r WHERE r.lane = j.lane) OR EXISTS (SELECT 1 FROM lanebox_pause p WHERE p.lane = j.lane) \
  OR EXISTS (SELECT 1 FROM lanebox_tried k WHERE k.lane = j.lane AND k.id <> y.id) \
  OR (t.lane IS NULL AND y.id <> (SELECT o.id FROM lanebox_open o WHERE o.lane = j.lane ORDER BY o.priority, o.run_at, o.id LIMIT 1)))",
    },
    Audit {
        name: "claimable_not_ready",
        sentence: "the head of the line of a free lane can be claimed",
        sql: "SELECT o.id FROM lanebox_open o \
WHERE o.id = (SELECT h.id FROM lanebox_open h WHERE h.lane = o.lane ORDER BY h.priority, h.run_at, h.id LIMIT 1) \
  AND NOT EXISTS (SELECT 1 FROM lanebox_running r WHERE r.lane = o.lane) AND NOT EXISTS (SELECT 1 FROM lanebox_tried k WHERE k.lane = o.lane) \
  AND NOT EXISTS (SELECT 1 FROM lanebox_pause p WHERE p.lane = o.lane) \
  AND NOT EXISTS (SELECT 1 FROM lanebox_job j LEFT JOIN lanebox_tried t ON t.id = j.id \
    JOIN lanebox_ready y ON y.alone = (coalesce(t.lost, 0) >= 2) AND y.kind = j.kind AND y.org = j.org \
    AND y.priority = o.priority AND y.run_at = o.run_at AND y.id = o.id WHERE j.id = o.id)",
    },
    Audit {
        name: "keeper_not_ready",
        sentence: "a due job that keeps its lane can be claimed, unless the lane is paused",
        sql: "SELECT t.id FROM lanebox_tried t JOIN lanebox_job j ON j.id = t.id \
WHERE t.lane IS NOT NULL AND t.phase = 'waiting' AND NOT EXISTS (SELECT 1 FROM lanebox_scheduled s WHERE s.run_at = t.run_at AND s.id = t.id) \
  AND NOT EXISTS (SELECT 1 FROM lanebox_pause p WHERE p.lane = t.lane) \
  AND NOT EXISTS (SELECT 1 FROM lanebox_ready y WHERE y.alone = (t.lost >= 2) AND y.kind = j.kind AND y.org = j.org \
    AND y.priority = j.priority AND y.run_at = t.run_at AND y.id = t.id)",
    },
    Audit {
        name: "two_in_ready_of_a_lane",
        sentence: "at most one job of a lane can be claimed",
        sql: "SELECT j.lane FROM lanebox_ready y JOIN lanebox_job j ON j.id = y.id WHERE j.lane IS NOT NULL GROUP BY j.lane HAVING count(*) > 1",
    },
    Audit {
        name: "two_occupants",
        sentence: "a lane has at most one occupant",
        sql: "SELECT r.lane FROM lanebox_running r JOIN lanebox_tried t ON t.lane = r.lane \
UNION ALL SELECT lane FROM lanebox_running WHERE lane IS NOT NULL GROUP BY lane HAVING count(*) > 1 \
UNION ALL SELECT lane FROM lanebox_tried WHERE lane IS NOT NULL GROUP BY lane HAVING count(*) > 1",
    },
    Audit {
        name: "token_twice",
        sentence: "a token belongs to one claim",
        sql: "SELECT token FROM lanebox_running GROUP BY token HAVING count(*) > 1",
    },
    Audit {
        name: "token_ahead",
        sentence: "no token is beyond the counter",
        sql: "SELECT id FROM lanebox_running WHERE token > (SELECT token FROM lanebox_counter) \
UNION ALL SELECT id FROM lanebox_finished WHERE token > (SELECT token FROM lanebox_counter) \
UNION ALL SELECT job FROM lanebox_attempt WHERE token > (SELECT token FROM lanebox_counter)",
    },
    Audit {
        name: "token_backwards",
        sentence: "the tokens of a job grow",
        sql: "SELECT a.job FROM lanebox_attempt a JOIN lanebox_running r ON r.id = a.job WHERE a.token >= r.token \
UNION ALL SELECT a.job FROM lanebox_attempt a JOIN lanebox_finished f ON f.id = a.job WHERE a.token >= f.token",
    },
    Audit {
        name: "all_over_cap",
        sentence: "no more jobs run than the file's cap allows (after a cap was lowered: until those runs end)",
        sql: "SELECT count(*) FROM lanebox_running HAVING count(*) > (SELECT cap FROM lanebox_counter)",
    },
    Audit {
        name: "org_over_cap",
        sentence: "no more jobs of an org run than its cap allows (after a cap was lowered: until those runs end)",
        sql: "SELECT o.name FROM lanebox_org o JOIN lanebox_running r ON r.org = o.id WHERE o.cap IS NOT NULL GROUP BY o.id HAVING count(*) > o.cap",
    },
    Audit {
        name: "kind_over_cap",
        sentence: "no more jobs of a kind run than its cap allows (after a cap was lowered: until those runs end)",
        sql: "SELECT k.name FROM lanebox_kind k JOIN lanebox_running r ON r.kind = k.id WHERE k.cap IS NOT NULL GROUP BY k.id HAVING count(*) > k.cap",
    },
    Audit {
        name: "suspect_not_alone",
        sentence: "a suspect runs with nothing beside it in its process",
        sql: "SELECT p.pid FROM lanebox_running r JOIN lanebox_process p ON p.id = r.process GROUP BY p.os, p.pid HAVING max(r.alone) = 1 AND count(*) > 1",
    },
    Audit {
        name: "attempts_over",
        sentence: "a job that waits has an attempt left",
        sql: "SELECT t.id FROM lanebox_tried t JOIN lanebox_job j ON j.id = t.id WHERE t.attempts >= j.max_attempts",
    },
    Audit {
        name: "lane_of_another_org",
        sentence: "a job's lane belongs to its org",
        sql: "SELECT j.id FROM lanebox_job j LEFT JOIN lanebox_lane l ON l.id = j.lane WHERE j.lane IS NOT NULL AND l.org IS NOT j.org",
    },
    Audit {
        name: "dead_without_notice",
        sentence: "every dead job has its notice",
        sql: "SELECT f.id FROM lanebox_finished f WHERE f.state = 'dead' AND NOT EXISTS (SELECT 1 FROM lanebox_notice n WHERE n.id = f.notice)",
    },
    Audit {
        name: "expiry_is_true",
        sentence: "an expiry names a job that waits, and its time",
        sql: "SELECT e.id FROM lanebox_expiry e LEFT JOIN lanebox_job j ON j.id = e.id \
WHERE j.id IS NULL OR e.expires_at IS NOT j.expires_at OR EXISTS (SELECT 1 FROM lanebox_running r WHERE r.id = e.id) \
  OR EXISTS (SELECT 1 FROM lanebox_finished f WHERE f.id = e.id)",
    },
    Audit {
        name: "expiry_missing",
        sentence: "a job that waits, has an expiry and has sent nothing will expire",
        sql: "SELECT j.id FROM lanebox_job j LEFT JOIN lanebox_tried t ON t.id = j.id \
WHERE j.expires_at IS NOT NULL AND coalesce(t.sent, 0) = 0 \
  AND NOT EXISTS (SELECT 1 FROM lanebox_running r WHERE r.id = j.id) \
  AND NOT EXISTS (SELECT 1 FROM lanebox_finished f WHERE f.id = j.id) \
  AND NOT EXISTS (SELECT 1 FROM lanebox_expiry e \
    WHERE e.expires_at = j.expires_at AND e.id = j.id)",
    },
    Audit {
        name: "result_is_true",
        sentence: "only a job that is done has a result",
        sql: "SELECT r.job FROM lanebox_result r LEFT JOIN lanebox_finished f ON f.id = r.job WHERE f.state IS NOT 'done'",
    },
    Audit {
        name: "pause_is_true",
        sentence: "a pause is of a lane that exists",
        sql: "SELECT p.lane FROM lanebox_pause p LEFT JOIN lanebox_lane l ON l.id = p.lane \
WHERE l.id IS NULL",
    },
    Audit {
        name: "holder_is_known",
        sentence: "a running job has a process that is written down",
        sql: "SELECT r.id FROM lanebox_running r LEFT JOIN lanebox_process p ON p.id = r.process WHERE p.id IS NULL",
    },
];
