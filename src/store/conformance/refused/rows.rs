//! For each rule of the job tables an assignment that breaks it, and the words of the refusal.

/// A table, and what its rows may not become.
pub(super) type Refused = (&'static str, &'static [(&'static str, &'static str)]);

/// Broken by an UPDATE of the table's sound rows.
pub(super) const CHANGES: &[Refused] = &[
    (
        "lanebox_meta",
        &[
            ("id = 2", "id = 1"),
            ("file_uuid = x'00'", "length(file_uuid) = 16"),
            ("secret = x'00'", "length(secret) = 32"),
            ("epoch = 0", "epoch >= 1"),
            ("relaxed = 2", "relaxed IN (0, 1)"),
            ("hold = ''", "length(hold) BETWEEN 1 AND 300"),
            ("min_writer = 99", "min_reader <= min_writer AND min_writer <= schema_version"),
        ],
    ),
    (
        "lanebox_counter",
        &[
            ("one = 2", "one = 1"),
            ("token = -1", "lanebox: tokens never go back"),
            ("cap = 0", "cap BETWEEN 1 AND 10000"),
            ("cap = 10001", "cap BETWEEN 1 AND 10000"),
            ("paused = 2", "paused IN (0, 1)"),
        ],
    ),
    (
        "lanebox_process",
        &[
            ("uuid = x'00'", "length(uuid) = 16"),
            ("gone = 2", "gone IN (0, 1)"),
            ("os = zeroblob(15)", "length(os) = 16"),
            ("uuid = zeroblob(16)", "UNIQUE constraint failed: lanebox_process.uuid"),
        ],
    ),
    (
        "lanebox_org",
        &[
            ("name = ''", "length(name) BETWEEN 1 AND 128"),
            ("name = ' a'", "length(name) BETWEEN 1 AND 128"),
            ("name = 'a' || char(0) || 'b'", "length(name) BETWEEN 1 AND 128"),
            ("name = printf('%0129d', id)", "length(name) BETWEEN 1 AND 128"),
            ("name = NULL", "NOT NULL constraint failed: lanebox_org.name"),
            ("name = 'twice'", "UNIQUE constraint failed: lanebox_org.name"),
            ("cap = -1", "cap >= 0"),
            ("paused = 2", "paused IN (0, 1)"),
        ],
    ),
    (
        "lanebox_kind",
        &[
            ("name = 'Upper'", "length(name) BETWEEN 1 AND 128"),
            ("name = 'a b'", "length(name) BETWEEN 1 AND 128"),
            ("cap = -1", "cap >= 0"),
            ("paused = 2", "paused IN (0, 1)"),
            ("yields = 2", "yields IN (0, 1)"),
            ("on_dead = 'wait'", "on_dead = 'go' OR"),
            ("max_postponed = -1", "max_postponed >= 0"),
            ("owed = 99", "FOREIGN KEY constraint failed"),
            ("name = 'twice'", "UNIQUE constraint failed: lanebox_kind.name"),
        ],
    ),
    (
        "lanebox_lane",
        &[
            ("name = ''", "length(name) BETWEEN 1 AND 200"),
            ("name = ' '", "length(name) BETWEEN 1 AND 200"),
            ("name = printf('%0201d', id)", "length(name) BETWEEN 1 AND 200"),
            ("name = NULL", "(name IS NULL) = (name_hash IS NOT NULL)"),
            ("name_hash = x'00'", "length(name_hash) = 32"),
            ("name_hash = zeroblob(32)", "(name IS NULL) = (name_hash IS NOT NULL)"),
            ("merged_into = id", "merged_into <> id"),
            ("name = 'twice'", "UNIQUE constraint failed: lanebox_lane.org, lanebox_lane.name"),
            ("name = NULL, name_hash = zeroblob(32)", "lanebox_lane.org, lanebox_lane.name_hash"),
        ],
    ),
    (
        "lanebox_pause",
        &[
            ("by_operator = 2", "by_operator IN (0, 1)"),
            ("by_operator = 0", "by_operator = 1 OR dead_job IS NOT NULL"),
        ],
    ),
    (
        "lanebox_notice",
        &[
            ("kind = 'A'", "length(kind) BETWEEN 1 AND 128"),
            ("cause = ''", "length(cause) BETWEEN 1 AND 300"),
            ("severity = 'loud'", "severity = 'info' OR"),
            ("state = 'new'", "state = 'open' OR"),
            ("reason = 'a' || char(10) || 'b'", "length(reason) BETWEEN 1 AND 300"),
            ("reason = printf('%0301d', id)", "length(reason) BETWEEN 1 AND 300"),
            ("next_step = ''", "length(next_step) BETWEEN 1 AND 300"),
            ("count = 0", "count >= 1"),
            ("ref_kind = 'moon', ref_id = 1", "ref_kind = 'job' OR"),
            ("ref_kind = NULL", "(ref_kind IS NULL) = (ref_id IS NULL)"),
            ("state = 'resolved'", "(state = 'resolved') = (resolved_at IS NOT NULL"),
            ("cause = 'twice'", "lanebox_notice.org, lanebox_notice.kind, lanebox_notice.cause"),
        ],
    ),
    (
        "lanebox_running",
        &[
            ("token = 0", "token > 0"),
            ("holder = 'ghost'", "holder IN ('thread', 'remote')"),
            ("series = 0", "series >= 1"),
            ("lost = -1", "lost >= 0"),
            ("lost_alone = 1", "lost_alone BETWEEN 0 AND 1 AND lost_alone <= lost"),
            ("lost = 2, lost_alone = 2, alone = 1", "lost_alone BETWEEN 0 AND 1"),
            ("postponed = -1", "postponed >= 0"),
            ("unknowns = -1", "unknowns >= 0"),
            ("lost = 2", "alone = (lost >= 2)"),
            ("kept_lane = 2", "kept_lane IN (0, 1)"),
            ("cancel_asked = 2", "cancel_asked IN (0, 1)"),
            ("sent = 2", "sent IN (0, 1)"),
            ("progress = printf('%0301d', id)", "length(progress) <= 300"),
            ("attempts = max_attempts + 1", "attempts BETWEEN 1 AND max_attempts"),
            ("attempts = 0", "attempts BETWEEN 1 AND max_attempts"),
            ("kept_lane = 1, lane = NULL", "kept_lane = 0 OR lane IS NOT NULL"),
            ("lane = 9", "UNIQUE constraint failed: lanebox_running.lane"),
        ],
    ),
    (
        "lanebox_tried",
        &[
            ("phase = 'asleep'", "phase = 'waiting' OR"),
            ("series = 0", "series >= 1"),
            ("attempts = -1", "attempts >= 0"),
            ("lost = -1", "lost >= 0"),
            ("lost_alone = 1", "lost_alone BETWEEN 0 AND 1 AND lost_alone <= lost"),
            ("postponed = -1", "postponed >= 0"),
            ("unknowns = -1", "unknowns >= 0"),
            ("sent = 2", "sent IN (0, 1)"),
            ("phase = 'parked'", "phase <> 'parked' OR lane IS NULL"),
            ("phase = 'unknown'", "(waits_send IS NOT NULL) = (phase IN ('unknown', 'parked'))"),
            ("lane = 2", "lanebox: a waiting job gives its lane back, it never takes one"),
        ],
    ),
    (
        "lanebox_finished",
        &[
            (
                "reason = 'skipped'",
                "reason IS NOT 'skipped' OR (state = 'done' AND error IS NOT NULL)",
            ),
            ("state = 'gone'", "state = 'done' OR"),
            ("state = 'cancelled', reason = 'mood'", "reason = 'vetoed' OR"),
            ("series = 0", "series >= 1"),
            (
                "reason = 'expired'",
                "(state = 'cancelled') = (reason IS NOT NULL AND reason <> 'skipped')",
            ),
            (
                "state = 'cancelled'",
                "(state = 'cancelled') = (reason IS NOT NULL AND reason <> 'skipped')",
            ),
            ("state = 'dead', error = 'x'", "state <> 'dead' OR (error IS NOT NULL"),
            ("state = 'dead', notice = 1", "state <> 'dead' OR (error IS NOT NULL"),
            ("notice = 99", "FOREIGN KEY constraint failed"),
        ],
    ),
    (
        "lanebox_attempt",
        &[
            ("series = 0", "series >= 1"),
            ("n = 0", "n >= 1"),
            ("ended = 'somehow'", "ended = 'failed' OR"),
        ],
    ),
    (
        "lanebox_once",
        &[
            ("name = ''", "length(name) BETWEEN 1 AND 128"),
            ("uuid = x'00'", "length(uuid) = 16"),
            ("payload_hmac = x'00'", "length(payload_hmac) = 32"),
        ],
    ),
    (
        "lanebox_job_key",
        &[
            ("key_hmac = x'00'", "length(key_hmac) = 32"),
            ("uuid = x'00'", "length(uuid) = 16"),
            ("payload_hmac = x'00'", "length(payload_hmac) = 32"),
        ],
    ),
    (
        "lanebox_job_unique",
        &[("key_hmac = x'00'", "length(key_hmac) = 32"), ("holds = 2", "holds IN (0, 1)")],
    ),
    (
        "lanebox_step",
        &[("name = ''", "length(name) BETWEEN 1 AND 128"), ("result = '{'", "json_valid(result)")],
    ),
    ("lanebox_result", &[("result = '{'", "json_valid(result)")]),
    ("lanebox_ready", &[("alone = 2", "alone IN (0, 1)")]),
    (
        "lanebox_job",
        &[
            ("priority = 1", "lanebox: a job is written once; its state lives elsewhere"),
            ("lane = NULL", "lanebox: a job is written once; its state lives elsewhere"),
            ("subject = ''", "length(subject) BETWEEN 1 AND 512"),
            ("payload = 'no json'", "json_valid(payload) AND length(payload) <= 16777216"),
            ("payload = NULL", "(payload IS NULL) = (forgotten_at IS NOT NULL)"),
            ("forgotten_at = 1", "(payload IS NULL) = (forgotten_at IS NOT NULL)"),
        ],
    ),
];

/// The same of the job table's columns that are written once: without the trigger that keeps them.
pub(super) const JOB_COLUMNS: &[(&str, &str)] = &[
    ("uuid = x'00'", "length(uuid) = 16"),
    ("uuid = zeroblob(16)", "UNIQUE constraint failed: lanebox_job.uuid"),
    ("version = 0", "version >= 1"),
    ("priority = 1000", "priority BETWEEN 0 AND 999"),
    ("priority = -1", "priority BETWEEN 0 AND 999"),
    ("run_at = -1", "run_at BETWEEN 0 AND 253402300799999"),
    ("max_attempts = 0", "max_attempts BETWEEN 1 AND 100"),
    ("max_attempts = 101", "max_attempts BETWEEN 1 AND 100"),
    ("expires_at = 253402300800000", "expires_at BETWEEN 0 AND 253402300799999"),
    ("consumer = 1, ordinal = -1, source_event = 1", "ordinal >= 0"),
    ("consumer = 1", "(consumer IS NULL) = (ordinal IS NULL)"),
    ("consumer = 1, ordinal = 0", "consumer IS NULL OR source_event IS NOT NULL"),
    ("consumer = 1, ordinal = 0, source_event = 1", "UNIQUE constraint failed: lanebox_job."),
    ("org = 1", "FOREIGN KEY constraint failed"),
    ("run_at = 'soon'", "cannot store TEXT value in INTEGER column"),
];

/// Statements of other forms, and the words of their refusal.
pub(super) const OTHERS: &[(&str, &str)] = &[
    (
        "INSERT INTO lanebox_counter(one, token, org) VALUES (2, -1, 0)",
        "CHECK constraint failed: one = 1",
    ),
    ("DROP TRIGGER lanebox_counter_forward; UPDATE lanebox_counter SET token = -1", "token >= 0"),
    ("DELETE FROM lanebox_counter", "lanebox: the token counter stays"),
    ("DELETE FROM lanebox_process", "lanebox: processes are marked gone, not deleted"),
    ("DELETE FROM lanebox_job WHERE id = 4", "lanebox: this job runs"),
    ("DELETE FROM lanebox_job WHERE id = 7", "lanebox: this job waits"),
    ("DELETE FROM lanebox_job WHERE id = 6", "lanebox: the end of this job is still remembered"),
    (
        "DELETE FROM lanebox_notice WHERE id = 1; DELETE FROM lanebox_org WHERE id = 2",
        "FOREIGN KEY",
    ),
    // A second occupant of a lane, whichever table it would stand in.
    (
        "INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, lease_until, started_at, max_attempts) \
         VALUES (2, 2, 1, 3, 9, 60, 1, 0, 0, 3)",
        "lanebox: lane is kept by another job",
    ),
    (
        "INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, lease_until, started_at, max_attempts) \
         VALUES (2, 2, 1, 2, 9, 60, 1, 0, 0, 3)",
        "UNIQUE constraint failed: lanebox_running.lane",
    ),
    (
        "INSERT INTO lanebox_tried(id, lane, phase, run_at, series, attempts, lost, lost_alone, postponed, unknowns, sent) \
         VALUES (2, 2, 'waiting', 9, 1, 1, 0, 0, 0, 0, 0)",
        "lanebox: lane is occupied by a running job",
    ),
    (
        "INSERT INTO lanebox_tried(id, lane, phase, run_at, series, attempts, lost, lost_alone, postponed, unknowns, sent) \
         VALUES (2, 3, 'waiting', 9, 1, 1, 0, 0, 0, 0, 0)",
        "UNIQUE constraint failed: lanebox_tried.lane",
    ),
    (
        "INSERT INTO lanebox_tried(id, phase, run_at, series, attempts, lost, lost_alone, postponed, unknowns, sent) \
         VALUES (99, 'waiting', 9, 1, 1, 0, 0, 0, 0, 0)",
        "FOREIGN KEY constraint failed",
    ),
    (
        "INSERT INTO lanebox_job(uuid, org, kind, lane, priority, run_at, max_attempts, created_at, payload) \
         VALUES (randomblob(16), 1, 1, 1, 500, 0, 3, 0, '{}')",
        "FOREIGN KEY constraint failed",
    ),
    (
        "INSERT INTO lanebox_job_unique(org, kind, key_hmac, job, holds) VALUES (2, 1, randomblob(32), 1, 1)",
        "UNIQUE constraint failed: lanebox_job_unique.job",
    ),
    (
        "INSERT INTO lanebox_job_unique(org, kind, key_hmac, job, holds) SELECT org, kind, key_hmac, 2, 1 FROM lanebox_job_unique",
        "UNIQUE constraint failed: lanebox_job_unique.org, lanebox_job_unique.kind, lanebox_job_unique.key_hmac",
    ),
];
