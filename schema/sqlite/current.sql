-- The whole schema of a Lanebox file: the page to read first.
--
-- A job's row is written once; its state is its presence in narrow tables (scheduled, ready, open, running, tried,
-- finished). Nothing on the hot path depends on how much waits or how much happened. What must never be is refused
-- here too, by CHECK, unique index or trigger, so that no program can store it.
--
-- Times are integers, milliseconds since 1970 UTC; lease_until alone is of the monotonic clock of its boot.
-- Lists of three or more are written with OR: SQLite builds a table for IN (...), at every insert.
-- Triggers and defaults use nothing newer than SQLite 3.38, because other programs insert events.

-- ---------------------------------------------------------------------------------------------- the file itself

CREATE TABLE lanebox_meta (
  id             INTEGER PRIMARY KEY CHECK (id = 1),
  schema_version INTEGER NOT NULL,
  min_reader     INTEGER NOT NULL,                -- a program that knows less than this must not read
  min_writer     INTEGER NOT NULL,                -- a program that knows less than this must not write
  file_uuid      BLOB NOT NULL CHECK (length(file_uuid) = 16),
  secret         BLOB NOT NULL CHECK (length(secret) = 32),   -- key of every HMAC in this file
  epoch          INTEGER NOT NULL DEFAULT 1 CHECK (epoch >= 1),
  relaxed        INTEGER NOT NULL DEFAULT 0 CHECK (relaxed IN (0, 1)),
  hold           TEXT CHECK (length(hold) BETWEEN 1 AND 300), -- emergency hold of all sends, and why
  created_by     TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  CHECK (min_reader <= min_writer AND min_writer <= schema_version)
) STRICT;

CREATE TABLE lanebox_counter (
  one    INTEGER PRIMARY KEY CHECK (one = 1),
  token  INTEGER NOT NULL CHECK (token >= 0),     -- fencing: one global, strictly increasing number
  org    INTEGER NOT NULL,                        -- the org that the last claim served last
  cap    INTEGER NOT NULL DEFAULT 256 CHECK (cap BETWEEN 1 AND 10000),  -- most rows of running, over all processes
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1))
) STRICT;
INSERT INTO lanebox_counter(one, token, org) VALUES (1, 0, 0);
CREATE TRIGGER lanebox_counter_forward BEFORE UPDATE OF token ON lanebox_counter WHEN NEW.token < OLD.token BEGIN
  SELECT RAISE(ABORT, 'lanebox: tokens never go back'); END;
CREATE TRIGGER lanebox_counter_stays BEFORE DELETE ON lanebox_counter BEGIN
  SELECT RAISE(ABORT, 'lanebox: the token counter stays'); END;

CREATE TABLE lanebox_process (                    -- who holds leases and routing marks
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid       BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),  -- names its lock file
  boot       TEXT NOT NULL,                       -- a lease of another boot has ended
  os         BLOB NOT NULL CHECK (length(os) = 16),           -- with pid: the system's process; several rows of one die together
  pid        INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  gone       INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1))
) STRICT;
CREATE INDEX lanebox_process_here ON lanebox_process(id) WHERE gone = 0;
CREATE TRIGGER lanebox_process_stays BEFORE DELETE ON lanebox_process BEGIN
  SELECT RAISE(ABORT, 'lanebox: processes are marked gone, not deleted'); END;

CREATE TABLE lanebox_org (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  name   TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 128 AND name = trim(name) AND instr(name, char(0)) = 0),
  cap    INTEGER CHECK (cap >= 0),                -- NULL: no cap
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1))
) STRICT;
INSERT INTO lanebox_org(id, name) VALUES (1, '-');

CREATE TABLE lanebox_kind (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  name          TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 128 AND NOT name GLOB '*[^a-z0-9_.-]*' AND instr(name, char(0)) = 0),
  cap           INTEGER CHECK (cap >= 0),
  paused        INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  yields        INTEGER NOT NULL DEFAULT 0 CHECK (yields IN (0, 1)),
  on_dead       TEXT NOT NULL DEFAULT 'go' CHECK (on_dead = 'go' OR on_dead = 'stop' OR on_dead = 'cancel'),
  max_postponed INTEGER NOT NULL DEFAULT 100 CHECK (max_postponed >= 0),
  owed          INTEGER REFERENCES lanebox_org(id)            -- the org that a full cap made wait first
) STRICT;

CREATE TABLE lanebox_handles (                    -- which processes have code for which kinds
  process INTEGER NOT NULL REFERENCES lanebox_process(id),
  kind    INTEGER NOT NULL REFERENCES lanebox_kind(id),
  PRIMARY KEY (process, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE lanebox_lane (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  org         INTEGER NOT NULL REFERENCES lanebox_org(id),
  name        TEXT CHECK (length(name) BETWEEN 1 AND 200 AND name = trim(name) AND instr(name, char(0)) = 0),
  name_hash   BLOB CHECK (length(name_hash) = 32),            -- what is left of a forgotten name
  merged_into INTEGER REFERENCES lanebox_lane(id),
  UNIQUE (org, name),
  UNIQUE (id, org),
  CHECK ((name IS NULL) = (name_hash IS NOT NULL)),
  CHECK (merged_into <> id)
) STRICT;
CREATE UNIQUE INDEX lanebox_lane_forgotten ON lanebox_lane(org, name_hash) WHERE name_hash IS NOT NULL;

CREATE TABLE lanebox_pause (                      -- a paused lane, for up to three reasons at once
  lane        INTEGER PRIMARY KEY,
  by_operator INTEGER NOT NULL CHECK (by_operator IN (0, 1)),
  dead_job    INTEGER,                            -- stopped by the death of this job (on_dead = stop)
  cancel_upto INTEGER,                            -- on_dead = cancel: the line up to this id is being cancelled
  CHECK (by_operator = 1 OR dead_job IS NOT NULL OR cancel_upto IS NOT NULL)
) STRICT;
CREATE INDEX lanebox_pause_cancel ON lanebox_pause(lane) WHERE cancel_upto IS NOT NULL;

-- ------------------------------------------------------------------------------------------------------- notices

CREATE TABLE lanebox_notice (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  org             INTEGER NOT NULL REFERENCES lanebox_org(id),
  kind            TEXT NOT NULL CHECK (length(kind) BETWEEN 1 AND 128 AND NOT kind GLOB '*[^a-z0-9_.-]*'),
  cause           TEXT NOT NULL CHECK (length(cause) BETWEEN 1 AND 300),   -- what groups equal notices
  severity        TEXT NOT NULL CHECK (severity = 'info' OR severity = 'warn' OR severity = 'critical'),
  state           TEXT NOT NULL DEFAULT 'open' CHECK (state = 'open' OR state = 'acknowledged' OR state = 'resolved'),
  reason          TEXT NOT NULL CHECK (length(reason) BETWEEN 1 AND 300 AND instr(reason, char(10)) = 0 AND instr(reason, char(13)) = 0),
  next_step       TEXT NOT NULL CHECK (length(next_step) BETWEEN 1 AND 300),
  count           INTEGER NOT NULL DEFAULT 1 CHECK (count >= 1),
  ref_kind        TEXT CHECK (ref_kind = 'job' OR ref_kind = 'event' OR ref_kind = 'send' OR ref_kind = 'consumer' OR ref_kind = 'kind' OR ref_kind = 'lane' OR ref_kind = 'channel'),
  ref_id          INTEGER,
  first_at        INTEGER NOT NULL,
  last_at         INTEGER NOT NULL,
  resolved_at     INTEGER,
  resolved_by     TEXT,
  CHECK ((ref_kind IS NULL) = (ref_id IS NULL)),
  CHECK ((state = 'resolved') = (resolved_at IS NOT NULL AND resolved_by IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX lanebox_notice_group ON lanebox_notice(org, kind, cause) WHERE state <> 'resolved';

-- --------------------------------------------------------------------------------------------------------- jobs

CREATE TABLE lanebox_job (                        -- what is to be done: written once
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid         BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  org          INTEGER NOT NULL REFERENCES lanebox_org(id),
  kind         INTEGER NOT NULL REFERENCES lanebox_kind(id),
  version      INTEGER NOT NULL DEFAULT 1 CHECK (version >= 1),
  lane         INTEGER,                           -- NULL: no lane, said explicitly by whoever enqueued
  subject      TEXT CHECK (length(subject) BETWEEN 1 AND 512 AND instr(subject, char(0)) = 0),
  priority     INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 999),      -- smaller runs first
  run_at       INTEGER NOT NULL CHECK (run_at BETWEEN 0 AND 253402300799999),
  max_attempts INTEGER NOT NULL CHECK (max_attempts BETWEEN 1 AND 100),
  expires_at   INTEGER CHECK (expires_at BETWEEN 0 AND 253402300799999),
  source_event INTEGER,                           -- the event that caused it
  consumer     INTEGER,                           -- with ordinal: born of this consumer's delivery of that event
  ordinal      INTEGER CHECK (ordinal >= 0),
  created_at   INTEGER NOT NULL,
  payload      TEXT CHECK (json_valid(payload) AND length(payload) <= 16777216),
  forgotten_at INTEGER,
  FOREIGN KEY (lane, org) REFERENCES lanebox_lane(id, org),
  CHECK ((payload IS NULL) = (forgotten_at IS NOT NULL)),
  CHECK ((consumer IS NULL) = (ordinal IS NULL)),
  CHECK (consumer IS NULL OR source_event IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX lanebox_job_origin ON lanebox_job(source_event, consumer, ordinal) WHERE consumer IS NOT NULL;
CREATE TRIGGER lanebox_job_written_once BEFORE UPDATE OF id, uuid, org, kind, version, lane, priority, run_at, max_attempts, expires_at, source_event, consumer, ordinal, created_at ON lanebox_job BEGIN
  SELECT RAISE(ABORT, 'lanebox: a job is written once; its state lives elsewhere'); END;

-- Where a job is. Exactly one of: scheduled, ready or open (due), running, tried (with its lane kept, or parked), finished.

CREATE TABLE lanebox_scheduled (                  -- not due yet
  run_at INTEGER NOT NULL,
  id     INTEGER NOT NULL,
  lane   INTEGER,
  PRIMARY KEY (run_at, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX lanebox_scheduled_lane ON lanebox_scheduled(lane, run_at) WHERE lane IS NOT NULL;

CREATE TABLE lanebox_ready (                      -- can be claimed now; the table is its own index
  alone    INTEGER NOT NULL CHECK (alone IN (0, 1)),          -- a suspect: it runs with nothing beside it
  kind     INTEGER NOT NULL,
  org      INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  run_at   INTEGER NOT NULL,
  id       INTEGER NOT NULL,
  PRIMARY KEY (alone, kind, org, priority, run_at, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE lanebox_open (                       -- the line of each lane: due, not occupying it
  lane     INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  run_at   INTEGER NOT NULL,
  id       INTEGER NOT NULL,
  kind     INTEGER NOT NULL,
  PRIMARY KEY (lane, priority, run_at, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE lanebox_running (                    -- being tried now; never more rows than the global cap
  id           INTEGER PRIMARY KEY,
  org          INTEGER NOT NULL,
  kind         INTEGER NOT NULL,
  lane         INTEGER,
  run_at       INTEGER NOT NULL,
  token        INTEGER NOT NULL CHECK (token > 0),
  process      INTEGER NOT NULL,
  holder       TEXT NOT NULL DEFAULT 'thread' CHECK (holder IN ('thread', 'remote')),
  lease_until  INTEGER NOT NULL,                  -- monotonic milliseconds of the process's boot
  started_at   INTEGER NOT NULL,
  series       INTEGER NOT NULL DEFAULT 1 CHECK (series >= 1),
  attempts     INTEGER NOT NULL DEFAULT 1,        -- this one included
  max_attempts INTEGER NOT NULL,
  lost         INTEGER NOT NULL DEFAULT 0 CHECK (lost >= 0),
  lost_alone   INTEGER NOT NULL DEFAULT 0 CHECK (lost_alone BETWEEN 0 AND 1 AND lost_alone <= lost),
  postponed    INTEGER NOT NULL DEFAULT 0 CHECK (postponed >= 0),
  unknowns     INTEGER NOT NULL DEFAULT 0 CHECK (unknowns >= 0),
  alone        INTEGER NOT NULL DEFAULT 0 CHECK (alone = (lost >= 2)),
  kept_lane    INTEGER NOT NULL DEFAULT 0 CHECK (kept_lane IN (0, 1)),  -- it kept its lane from an earlier try
  cancel_asked INTEGER NOT NULL DEFAULT 0 CHECK (cancel_asked IN (0, 1)),
  sent         INTEGER NOT NULL DEFAULT 0 CHECK (sent IN (0, 1)),        -- the ledger holds sends of it
  progress     TEXT CHECK (length(progress) <= 300),
  CHECK (attempts BETWEEN 1 AND max_attempts),
  CHECK (kept_lane = 0 OR lane IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX lanebox_running_lane ON lanebox_running(lane) WHERE lane IS NOT NULL;

CREATE TABLE lanebox_tried (                      -- has been tried, waits to be tried again
  id         INTEGER PRIMARY KEY REFERENCES lanebox_job(id),
  lane       INTEGER,                             -- the lane it keeps meanwhile, or NULL
  phase      TEXT NOT NULL CHECK (phase = 'waiting' OR phase = 'unknown' OR phase = 'parked'),
  run_at     INTEGER NOT NULL,                    -- its due time now (job.run_at is the first one)
  series     INTEGER NOT NULL CHECK (series >= 1),
  attempts   INTEGER NOT NULL CHECK (attempts >= 0),
  lost       INTEGER NOT NULL CHECK (lost >= 0),
  lost_alone INTEGER NOT NULL CHECK (lost_alone BETWEEN 0 AND 1 AND lost_alone <= lost),
  postponed  INTEGER NOT NULL CHECK (postponed >= 0),
  unknowns   INTEGER NOT NULL CHECK (unknowns >= 0),
  sent       INTEGER NOT NULL CHECK (sent IN (0, 1)),
  waits_send INTEGER REFERENCES lanebox_send(id), -- the send whose fate it waits for
  error      TEXT,
  CHECK (phase <> 'parked' OR lane IS NULL),
  CHECK ((waits_send IS NOT NULL) = (phase IN ('unknown', 'parked')))
) STRICT;
CREATE UNIQUE INDEX lanebox_tried_lane ON lanebox_tried(lane) WHERE lane IS NOT NULL;
CREATE INDEX lanebox_tried_waits ON lanebox_tried(waits_send) WHERE waits_send IS NOT NULL;

CREATE TABLE lanebox_finished (
  id          INTEGER PRIMARY KEY,
  state       TEXT NOT NULL CHECK (state = 'done' OR state = 'dead' OR state = 'cancelled'),
  reason      TEXT CHECK (reason = 'vetoed' OR reason = 'operator' OR reason = 'superseded' OR reason = 'expired' OR reason = 'given_up' OR reason = 'skipped'),
  finished_at INTEGER NOT NULL,
  started_at  INTEGER,                            -- the last attempt, if it ended the job
  token       INTEGER,
  process     INTEGER,
  series      INTEGER NOT NULL CHECK (series >= 1),
  attempts    INTEGER NOT NULL,
  lost        INTEGER NOT NULL,
  error       TEXT,
  notice      INTEGER REFERENCES lanebox_notice(id),
  CHECK ((state = 'cancelled') = (reason IS NOT NULL AND reason <> 'skipped')),
  CHECK (reason IS NOT 'skipped' OR (state = 'done' AND error IS NOT NULL)),   -- done without work, and why
  CHECK (state <> 'dead' OR (error IS NOT NULL AND notice IS NOT NULL))
) STRICT;
CREATE INDEX lanebox_finished_dead ON lanebox_finished(id) WHERE state = 'dead';
CREATE INDEX lanebox_finished_notice ON lanebox_finished(notice) WHERE notice IS NOT NULL;

-- One occupant per lane, over both tables: an index cannot see two of them.
CREATE TRIGGER lanebox_occupant_running AFTER INSERT ON lanebox_running
  WHEN NEW.lane IS NOT NULL AND EXISTS (SELECT 1 FROM lanebox_tried WHERE lane = NEW.lane)
  BEGIN SELECT RAISE(ABORT, 'lanebox: lane is kept by another job'); END;
CREATE TRIGGER lanebox_occupant_kept BEFORE UPDATE OF lane ON lanebox_tried
  WHEN NEW.lane IS NOT NULL AND OLD.lane IS NOT NEW.lane
  BEGIN SELECT RAISE(ABORT, 'lanebox: a waiting job gives its lane back, it never takes one'); END;
CREATE TRIGGER lanebox_occupant_tried BEFORE INSERT ON lanebox_tried
  WHEN NEW.lane IS NOT NULL AND EXISTS (SELECT 1 FROM lanebox_running WHERE lane = NEW.lane)
  BEGIN SELECT RAISE(ABORT, 'lanebox: lane is occupied by a running job'); END;

-- What refers to a job by its number is guarded here, where rows go, and not by foreign keys where rows come on the hot path.
CREATE TRIGGER lanebox_job_keep BEFORE DELETE ON lanebox_job BEGIN
  SELECT RAISE(ABORT, 'lanebox: this job runs') WHERE EXISTS (SELECT 1 FROM lanebox_running WHERE id = OLD.id);
  SELECT RAISE(ABORT, 'lanebox: this job waits') WHERE EXISTS (SELECT 1 FROM lanebox_tried WHERE id = OLD.id);
  SELECT RAISE(ABORT, 'lanebox: the end of this job is still remembered') WHERE EXISTS (SELECT 1 FROM lanebox_finished WHERE id = OLD.id);
END;

-- Beside it.

CREATE TABLE lanebox_attempt (                    -- attempts that did not end their job
  job        INTEGER NOT NULL,
  token      INTEGER NOT NULL,
  series     INTEGER NOT NULL CHECK (series >= 1),
  n          INTEGER NOT NULL CHECK (n >= 1),
  process    INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER NOT NULL,
  ended      TEXT NOT NULL CHECK (ended = 'failed' OR ended = 'lost' OR ended = 'postponed' OR ended = 'handed_back' OR ended = 'unknown' OR ended = 'dead' OR ended = 'cancelled'),
  error      TEXT,
  PRIMARY KEY (job, token)
) STRICT, WITHOUT ROWID;

CREATE TABLE lanebox_expiry (                     -- only of jobs that wait and have sent nothing
  expires_at INTEGER NOT NULL,
  id         INTEGER NOT NULL,
  PRIMARY KEY (expires_at, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE lanebox_once (                       -- one job per (event, name), whatever became of it
  org          INTEGER NOT NULL,
  source_event INTEGER NOT NULL,
  name         TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
  job          INTEGER NOT NULL,
  uuid         BLOB NOT NULL CHECK (length(uuid) = 16),
  payload_hmac BLOB NOT NULL CHECK (length(payload_hmac) = 32),
  used_at      INTEGER NOT NULL,
  PRIMARY KEY (org, source_event, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE lanebox_job_key (                    -- dedupe keys, remembered for their horizon, also after done
  org          INTEGER NOT NULL,
  key_hmac     BLOB NOT NULL CHECK (length(key_hmac) = 32),
  job          INTEGER NOT NULL,
  uuid         BLOB NOT NULL CHECK (length(uuid) = 16),
  payload_hmac BLOB NOT NULL CHECK (length(payload_hmac) = 32),
  until        INTEGER NOT NULL,
  PRIMARY KEY (org, key_hmac)
) STRICT, WITHOUT ROWID;
CREATE INDEX lanebox_job_key_until ON lanebox_job_key(until);

CREATE TABLE lanebox_job_unique (                 -- unique while unfinished: a finished job's key is the next one's to take
  job      INTEGER PRIMARY KEY,
  org      INTEGER NOT NULL,
  kind     INTEGER NOT NULL,
  key_hmac BLOB NOT NULL CHECK (length(key_hmac) = 32),
  holds    INTEGER NOT NULL CHECK (holds IN (0, 1))         -- 0: a dead job that another took it from; it may want it back
) STRICT;
CREATE UNIQUE INDEX lanebox_job_unique_key ON lanebox_job_unique(org, kind, key_hmac) WHERE holds = 1;

CREATE TABLE lanebox_step (                       -- what a handler finished once and does not do again, across series
  job         INTEGER NOT NULL,
  name        TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
  result      TEXT CHECK (json_valid(result)),
  finished_at INTEGER NOT NULL,
  token       INTEGER NOT NULL,
  PRIMARY KEY (job, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE lanebox_result (                     -- what a handler answered with Done
  job    INTEGER PRIMARY KEY,
  result TEXT NOT NULL CHECK (json_valid(result))
) STRICT;

CREATE VIEW lanebox_job_state AS
SELECT j.id, j.uuid, j.org, j.kind, j.lane, j.priority, coalesce(t.run_at, r.run_at, j.run_at) AS run_at,
  CASE WHEN f.id IS NOT NULL THEN f.state WHEN r.id IS NOT NULL THEN 'running' ELSE 'pending' END AS state,
  f.reason, t.phase, (t.lane IS NOT NULL) AS keeps_lane,
  coalesce(r.series, t.series, f.series, 1) AS series,
  coalesce(r.attempts, t.attempts, f.attempts, 0) AS attempts,
  coalesce(r.lost, t.lost, f.lost, 0) AS lost,
  coalesce(r.token, f.token) AS token,
  coalesce(t.error, f.error) AS error
FROM lanebox_job j
LEFT JOIN lanebox_running r ON r.id = j.id
LEFT JOIN lanebox_tried t ON t.id = j.id
LEFT JOIN lanebox_finished f ON f.id = j.id;

-- ------------------------------------------------------------------------------------------------------- events

CREATE TABLE lanebox_event (                      -- an immutable fact; other programs may INSERT (org, name, ...) here
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid         BLOB UNIQUE CHECK (uuid IS NULL OR length(uuid) = 16),    -- NULL: not adopted yet
  org          TEXT NOT NULL,
  name         TEXT NOT NULL,
  entity_type  TEXT,
  entity_id    TEXT,
  subject      TEXT,                              -- normally the contact
  payload      TEXT DEFAULT '{}',
  metadata     TEXT DEFAULT '{}',
  dedupe_key   TEXT,
  cause_event  INTEGER,
  cause_job    INTEGER,
  depth        INTEGER NOT NULL DEFAULT 0 CHECK (depth BETWEEN 0 AND 16),
  occurred_at  INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  recorded_at  INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  duplicate_of BLOB CHECK (duplicate_of IS NULL OR (length(duplicate_of) = 16 AND uuid IS NOT NULL)),
  forgotten_at INTEGER,
  CHECK (json_valid(payload) AND json_valid(metadata)),
  CHECK ((payload IS NULL) = (forgotten_at IS NOT NULL)),
  CHECK (cause_event IS NULL OR cause_event < seq)
) STRICT;
CREATE UNIQUE INDEX lanebox_event_dedupe ON lanebox_event(org, dedupe_key) WHERE dedupe_key IS NOT NULL;

CREATE TRIGGER lanebox_event_guard BEFORE INSERT ON lanebox_event BEGIN
  SELECT RAISE(ABORT, 'lanebox: seq is given by the file') WHERE NEW.seq IS NOT NULL AND NEW.seq <> -1;
  SELECT RAISE(ABORT, 'lanebox: org is missing or not 1 to 128 characters without outer blanks or NUL')
   WHERE NEW.org IS NULL OR NEW.org = '' OR NEW.org <> trim(NEW.org) OR length(NEW.org) > 128 OR instr(NEW.org, char(0)) > 0;
  SELECT RAISE(ABORT, 'lanebox: event names are dotted lower case, like lead.stage_changed')
   WHERE NEW.name IS NULL OR length(NEW.name) > 128 OR instr(NEW.name, char(0)) > 0 OR NEW.name GLOB '*[^a-z0-9_.]*'
      OR NOT NEW.name GLOB '[a-z]*.[a-z]*' OR NEW.name GLOB '*.' OR NEW.name GLOB '*.[^a-z]*';
  SELECT RAISE(ABORT, 'lanebox: payload and metadata are JSON objects of at most 1 MiB')
   WHERE NEW.payload IS NULL OR NEW.metadata IS NULL OR NOT json_valid(NEW.payload) OR NOT json_valid(NEW.metadata)
      OR json_type(NEW.payload) <> 'object' OR json_type(NEW.metadata) <> 'object'
      OR length(CAST(NEW.payload AS BLOB)) > 1048576 OR length(CAST(NEW.metadata AS BLOB)) > 1048576
      OR instr(NEW.payload, char(0)) > 0 OR instr(NEW.metadata, char(0)) > 0;
  SELECT RAISE(ABORT, 'lanebox: dedupe keys, subjects and entities are 1 to 512 characters without NUL; entities have type and id')
   WHERE (NEW.dedupe_key IS NOT NULL AND (length(NEW.dedupe_key) NOT BETWEEN 1 AND 512 OR instr(NEW.dedupe_key, char(0)) > 0))
      OR (NEW.subject IS NOT NULL AND (length(NEW.subject) NOT BETWEEN 1 AND 512 OR instr(NEW.subject, char(0)) > 0))
      OR (NEW.entity_type IS NULL) <> (NEW.entity_id IS NULL)
      OR (NEW.entity_type IS NOT NULL AND (length(NEW.entity_type) NOT BETWEEN 1 AND 512 OR instr(NEW.entity_type, char(0)) > 0))
      OR (NEW.entity_id IS NOT NULL AND (length(NEW.entity_id) NOT BETWEEN 1 AND 512 OR instr(NEW.entity_id, char(0)) > 0));
  SELECT RAISE(ABORT, 'lanebox: id, duplicate mark, cause and forgetting are given by the file')
   WHERE (NEW.uuid IS NULL AND (NEW.cause_event IS NOT NULL OR NEW.cause_job IS NOT NULL OR NEW.depth <> 0))
      OR length(NEW.uuid) <> 16 OR NEW.depth IS NULL OR NEW.depth NOT BETWEEN 0 AND 16
      OR NEW.duplicate_of IS NOT NULL OR NEW.forgotten_at IS NOT NULL;
  SELECT RAISE(ABORT, 'lanebox: times are milliseconds since 1970; left out, they are now')   -- else OR IGNORE would drop the event
   WHERE NEW.occurred_at IS NULL OR NEW.recorded_at IS NULL;
  SELECT RAISE(ABORT, 'lanebox: this id is that of another event')        -- else OR REPLACE would remove that one
   WHERE NEW.uuid IS NOT NULL AND EXISTS (SELECT 1 FROM lanebox_event e WHERE e.uuid = NEW.uuid);
  SELECT RAISE(ABORT, 'lanebox: this dedupe key was used with another event')
   WHERE NEW.dedupe_key IS NOT NULL AND EXISTS (SELECT 1 FROM lanebox_event e WHERE e.org = NEW.org AND e.dedupe_key = NEW.dedupe_key
         AND (e.name IS NOT NEW.name OR e.payload IS NOT NEW.payload));
  SELECT RAISE(IGNORE)
   WHERE NEW.dedupe_key IS NOT NULL AND EXISTS (SELECT 1 FROM lanebox_event e WHERE e.org = NEW.org AND e.dedupe_key = NEW.dedupe_key);
END;
CREATE TRIGGER lanebox_event_seq AFTER INSERT ON lanebox_event WHEN NEW.seq < 1 BEGIN
  SELECT RAISE(ABORT, 'lanebox: seq is given by the file');
END;
CREATE TRIGGER lanebox_event_fact BEFORE UPDATE ON lanebox_event
 WHEN NOT (OLD.uuid IS NULL AND NEW.uuid IS NOT NULL AND NEW.seq = OLD.seq AND NEW.org IS OLD.org AND NEW.name IS OLD.name
   AND NEW.entity_type IS OLD.entity_type AND NEW.entity_id IS OLD.entity_id AND NEW.subject IS OLD.subject
   AND NEW.payload IS OLD.payload AND NEW.metadata IS OLD.metadata AND NEW.dedupe_key IS OLD.dedupe_key
   AND NEW.cause_event IS OLD.cause_event AND NEW.cause_job IS OLD.cause_job AND NEW.depth = OLD.depth
   AND NEW.occurred_at = OLD.occurred_at AND NEW.recorded_at = OLD.recorded_at AND NEW.forgotten_at IS OLD.forgotten_at
   AND NOT EXISTS (SELECT 1 FROM lanebox_event e WHERE e.uuid = NEW.uuid)) BEGIN
  SELECT RAISE(ABORT, 'lanebox: an event is a fact and does not change');
END;

CREATE TABLE lanebox_event_key (                  -- the memory of dedupe keys, longer than bodies
  org          TEXT NOT NULL,
  key_hmac     BLOB NOT NULL CHECK (length(key_hmac) = 32),
  payload_hmac BLOB NOT NULL CHECK (length(payload_hmac) = 32),          -- of name and payload
  event        INTEGER NOT NULL,
  uuid         BLOB NOT NULL CHECK (length(uuid) = 16),
  used_at      INTEGER NOT NULL,
  PRIMARY KEY (org, key_hmac)
) STRICT, WITHOUT ROWID;
CREATE INDEX lanebox_event_key_used ON lanebox_event_key(used_at);

CREATE TABLE lanebox_front (                      -- every event up to seq is adopted, and was counted once
  one        INTEGER PRIMARY KEY CHECK (one = 1),
  seq        INTEGER NOT NULL CHECK (seq >= 0),
  generation INTEGER NOT NULL                     -- grows with every change of any consumer's definition or state
) STRICT;
INSERT INTO lanebox_front VALUES (1, 0, 0);
CREATE TRIGGER lanebox_front_forward BEFORE UPDATE ON lanebox_front WHEN NEW.seq < OLD.seq OR NEW.generation < OLD.generation BEGIN
  SELECT RAISE(ABORT, 'lanebox: the front never moves back'); END;
CREATE TRIGGER lanebox_front_stays BEFORE DELETE ON lanebox_front BEGIN
  SELECT RAISE(ABORT, 'lanebox: the front stays'); END;

CREATE TABLE lanebox_hour (                       -- first seq that the front met of each hour: a consumer may start at a time
  hour INTEGER PRIMARY KEY,
  seq  INTEGER NOT NULL
) STRICT;

CREATE TABLE lanebox_unhandled (                  -- names that no consumer's pattern met
  org   TEXT NOT NULL,
  name  TEXT NOT NULL,
  count INTEGER NOT NULL CHECK (count >= 1),
  first INTEGER NOT NULL,
  last  INTEGER NOT NULL,
  PRIMARY KEY (org, name),
  CHECK (last >= first)
) STRICT, WITHOUT ROWID;

-- ----------------------------------------------------------------------------------- consumers and deliveries

CREATE TABLE lanebox_consumer (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  key        TEXT NOT NULL UNIQUE CHECK (length(key) BETWEEN 1 AND 128 AND NOT key GLOB '*[^a-z0-9_.-]*' AND instr(key, char(0)) = 0),
  form       TEXT NOT NULL CHECK (form IN ('consume', 'route')),
  version    INTEGER NOT NULL CHECK (version >= 1),
  definition TEXT NOT NULL,
  generation INTEGER NOT NULL CHECK (generation >= 1),
  state      TEXT NOT NULL DEFAULT 'active' CHECK (state = 'active' OR state = 'paused' OR state = 'retired'),
  retired_at INTEGER,
  started    INTEGER NOT NULL CHECK (started >= 0),
  position   INTEGER NOT NULL CHECK (position >= started),
  routing    INTEGER CHECK (routing > position),  -- a range that was being routed: (position, routing]
  alone      INTEGER CHECK (alone > position AND alone <= routing),      -- a suspect event that runs by itself
  holder     INTEGER REFERENCES lanebox_process(id),
  CHECK (holder IS NULL OR routing IS NOT NULL),
  CHECK (alone IS NULL OR routing IS NOT NULL),
  CHECK ((state = 'retired') = (retired_at IS NOT NULL))
) STRICT;
CREATE INDEX lanebox_consumer_active ON lanebox_consumer(position) WHERE state = 'active';
CREATE INDEX lanebox_consumer_live ON lanebox_consumer(position) WHERE state <> 'retired';
CREATE TRIGGER lanebox_consumer_forward BEFORE UPDATE OF position ON lanebox_consumer WHEN NEW.position < OLD.position BEGIN
  SELECT RAISE(ABORT, 'lanebox: a position never moves back'); END;
CREATE TRIGGER lanebox_consumer_fixed BEFORE UPDATE OF id, key, started, form, generation ON lanebox_consumer
 WHEN NEW.id <> OLD.id OR NEW.key <> OLD.key OR NEW.started <> OLD.started OR NEW.generation < OLD.generation BEGIN
  SELECT RAISE(ABORT, 'lanebox: identity of a consumer is fixed'); END;
CREATE TRIGGER lanebox_consumer_stays BEFORE DELETE ON lanebox_consumer BEGIN
  SELECT RAISE(ABORT, 'lanebox: consumers are retired, not deleted'); END;

CREATE TABLE lanebox_pattern (
  name     TEXT NOT NULL CHECK (name = '*' OR (NOT replace(name, '.*', '') GLOB '*[^a-z0-9_.]*' AND name GLOB '[a-z]*.[a-z*]*')),
  consumer INTEGER NOT NULL REFERENCES lanebox_consumer(id),
  PRIMARY KEY (name, consumer)
) STRICT, WITHOUT ROWID;
CREATE INDEX lanebox_pattern_consumer ON lanebox_pattern(consumer);

CREATE TABLE lanebox_delivery (                   -- this fact was seen for that responsibility
  consumer   INTEGER NOT NULL REFERENCES lanebox_consumer(id),
  event      INTEGER NOT NULL,                    -- no foreign key: deliveries outlive bodies; a trigger at birth instead
  state      TEXT NOT NULL CHECK (state = 'job' OR state = 'routed' OR state = 'skipped' OR state = 'retry' OR state = 'dead'),
  series     INTEGER NOT NULL DEFAULT 1 CHECK (series >= 1),
  at         INTEGER NOT NULL,
  job        INTEGER,
  reason     TEXT CHECK (length(reason) BETWEEN 1 AND 300),
  attempts   INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  marks      INTEGER NOT NULL DEFAULT 0 CHECK (marks BETWEEN 0 AND 2),
  holder     INTEGER REFERENCES lanebox_process(id),
  next_at    INTEGER,
  last_error TEXT CHECK (length(last_error) <= 300),
  notice     INTEGER REFERENCES lanebox_notice(id),
  PRIMARY KEY (consumer, event),
  CHECK (state <> 'job' OR job IS NOT NULL),
  CHECK ((state = 'skipped') = (reason IS NOT NULL)),
  CHECK ((state = 'retry') = (next_at IS NOT NULL)),
  CHECK ((state = 'dead') = (notice IS NOT NULL)),
  CHECK (state = 'retry' OR (marks = 0 AND holder IS NULL)),
  CHECK (holder IS NULL OR marks >= 1)
) STRICT, WITHOUT ROWID;
CREATE INDEX lanebox_delivery_event ON lanebox_delivery(event);
CREATE INDEX lanebox_delivery_retry ON lanebox_delivery(consumer, next_at, event) WHERE state = 'retry';
CREATE INDEX lanebox_delivery_held ON lanebox_delivery(holder) WHERE holder IS NOT NULL;
CREATE INDEX lanebox_delivery_notice ON lanebox_delivery(notice) WHERE notice IS NOT NULL;
CREATE TRIGGER lanebox_delivery_birth BEFORE INSERT ON lanebox_delivery BEGIN
  SELECT RAISE(ABORT, 'lanebox: no such adopted event') WHERE NOT EXISTS (SELECT 1 FROM lanebox_event WHERE seq = NEW.event AND uuid IS NOT NULL AND duplicate_of IS NULL);
  SELECT RAISE(ABORT, 'lanebox: delivered already') WHERE EXISTS (SELECT 1 FROM lanebox_delivery WHERE consumer = NEW.consumer AND event = NEW.event);
  SELECT RAISE(ABORT, 'lanebox: a consumer has ended') WHERE EXISTS (SELECT 1 FROM lanebox_consumer WHERE id = NEW.consumer AND state = 'retired');
END;
CREATE TRIGGER lanebox_delivery_fixed BEFORE UPDATE ON lanebox_delivery WHEN NEW.consumer <> OLD.consumer OR NEW.event <> OLD.event OR NEW.series < OLD.series
 OR (NEW.series = OLD.series AND (NEW.attempts < OLD.attempts OR (OLD.state <> 'retry' AND NEW.state <> OLD.state))) BEGIN
  SELECT RAISE(ABORT, 'lanebox: a delivery only moves on'); END;
CREATE TRIGGER lanebox_delivery_keep BEFORE DELETE ON lanebox_delivery WHEN OLD.state IN ('retry', 'dead') OR EXISTS (SELECT 1 FROM lanebox_event WHERE seq = OLD.event) BEGIN
  SELECT RAISE(ABORT, 'lanebox: this delivery is still needed'); END;

CREATE TRIGGER lanebox_event_keep BEFORE DELETE ON lanebox_event BEGIN
  SELECT RAISE(ABORT, 'lanebox: not yet adopted') WHERE OLD.uuid IS NULL OR OLD.seq > (SELECT seq FROM lanebox_front);
  SELECT RAISE(ABORT, 'lanebox: a live consumer has not passed it') WHERE OLD.seq > (SELECT min(position) FROM lanebox_consumer WHERE state <> 'retired');
  SELECT RAISE(ABORT, 'lanebox: a delivery still needs it') WHERE EXISTS (SELECT 1 FROM lanebox_delivery WHERE event = OLD.seq AND state IN ('retry', 'dead'));
END;

CREATE VIEW lanebox_event_state AS SELECT e.seq, CASE
  WHEN e.duplicate_of IS NOT NULL THEN 'duplicate'
  WHEN EXISTS (SELECT 1 FROM lanebox_delivery d WHERE d.event = e.seq AND d.state = 'retry')
    OR EXISTS (SELECT 1 FROM lanebox_job j JOIN lanebox_job_state s ON s.id = j.id WHERE j.source_event = e.seq AND j.consumer IS NOT NULL AND s.state IN ('pending', 'running'))
    OR EXISTS (SELECT 1 FROM lanebox_consumer c INDEXED BY lanebox_consumer_live WHERE c.state <> 'retired' AND c.position < e.seq
               AND EXISTS (SELECT 1 FROM lanebox_pattern p WHERE p.consumer = c.id AND e.name GLOB p.name))
    THEN 'pending'
  WHEN EXISTS (SELECT 1 FROM lanebox_delivery d WHERE d.event = e.seq AND d.state = 'dead')
    OR EXISTS (SELECT 1 FROM lanebox_job j JOIN lanebox_job_state s ON s.id = j.id WHERE j.source_event = e.seq AND j.consumer IS NOT NULL AND s.state = 'dead')
    THEN 'dead'
  WHEN EXISTS (SELECT 1 FROM lanebox_delivery d WHERE d.event = e.seq) THEN 'done'
  ELSE 'unhandled' END AS state,
  (SELECT max(d.attempts) FROM lanebox_delivery d WHERE d.event = e.seq) AS attempts,
  (SELECT min(d.next_at) FROM lanebox_delivery d WHERE d.event = e.seq AND d.state = 'retry') AS next_at
FROM lanebox_event e;

-- -------------------------------------------------------------------------------------------- the send ledger

CREATE TABLE lanebox_channel (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  org              INTEGER NOT NULL REFERENCES lanebox_org(id),
  name             TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 128 AND name = trim(name) AND instr(name, char(0)) = 0),
  state            TEXT NOT NULL DEFAULT 'open' CHECK (state = 'open' OR state = 'paused' OR state = 'down' OR state = 'archived'),
  until            INTEGER,
  reason           TEXT CHECK (length(reason) <= 300),
  timeout_ms       INTEGER NOT NULL CHECK (timeout_ms > 0),
  patience_ms      INTEGER NOT NULL CHECK (patience_ms > 0),
  lookup_settle_ms INTEGER CHECK (lookup_settle_ms > 0),      -- NULL: the provider has no lookup by key
  dedupe_ms        INTEGER CHECK (dedupe_ms > 0),             -- NULL: the provider does not dedupe by key
  UNIQUE (org, name),
  CHECK (until IS NULL OR state = 'paused')
) STRICT;

CREATE TABLE lanebox_consent (                    -- no row: not asked, allowed
  org            INTEGER NOT NULL REFERENCES lanebox_org(id),
  recipient_hmac BLOB NOT NULL CHECK (length(recipient_hmac) = 32),
  channel        TEXT NOT NULL CHECK (length(channel) BETWEEN 1 AND 128),
  given          INTEGER NOT NULL CHECK (given IN (0, 1)),
  at             INTEGER NOT NULL,
  evidence       TEXT NOT NULL CHECK (length(evidence) BETWEEN 1 AND 300),
  PRIMARY KEY (org, recipient_hmac, channel)
) STRICT, WITHOUT ROWID;

CREATE TABLE lanebox_send (                       -- one logical outbound effect
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  org          INTEGER NOT NULL REFERENCES lanebox_org(id),
  origin       TEXT NOT NULL CHECK (length(origin) BETWEEN 1 AND 128),
  seq          INTEGER CHECK (seq BETWEEN 1 AND 1000),
  name         TEXT CHECK (length(name) BETWEEN 1 AND 128),
  order_by     TEXT,                              -- a person's order that is not fulfilled yet
  orders       INTEGER NOT NULL DEFAULT 0 CHECK (orders >= 0),
  changed_hash BLOB CHECK (length(changed_hash) = 32),        -- a later run asked for another body than the accepted one
  CHECK ((seq IS NULL) = (name IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX lanebox_send_seq ON lanebox_send(origin, seq);
CREATE UNIQUE INDEX lanebox_send_name ON lanebox_send(origin, name) WHERE name IS NOT NULL;

-- intended_at and unknown_at are kept by the monotonic clock of their boot too: a wall clock may step.
CREATE TABLE lanebox_send_try (                   -- one attempt at a send, with its own key; never the body
  send           INTEGER NOT NULL REFERENCES lanebox_send(id),
  n              INTEGER NOT NULL CHECK (n BETWEEN 1 AND 1000),
  key            BLOB NOT NULL CHECK (length(key) = 16),
  channel        INTEGER NOT NULL REFERENCES lanebox_channel(id),
  recipient_hmac BLOB NOT NULL CHECK (length(recipient_hmac) = 32),
  recipient_mask TEXT NOT NULL,
  hash           BLOB NOT NULL CHECK (length(hash) = 32),
  state          TEXT NOT NULL CHECK (state = 'intended' OR state = 'accepted' OR state = 'rejected' OR state = 'unknown' OR state = 'abandoned' OR state = 'duplicate'),
  job            INTEGER NOT NULL,
  token          INTEGER NOT NULL CHECK (token > 0),
  calls          INTEGER NOT NULL DEFAULT 1 CHECK (calls >= 1),          -- how many calls may have been made with this key
  after          TEXT CHECK (after = 'rejected' OR after = 'abandoned' OR after = 'order'),
  ordered_by     TEXT,
  order_no       INTEGER NOT NULL DEFAULT 0,      -- 0: no order; else which of the send's orders
  intended_at    INTEGER NOT NULL,
  ended_at       INTEGER,
  unknown_at     INTEGER,                         -- end of the last token that could call: settle time counts from here
  wait_until     INTEGER,                         -- end of patience, fixed at the first unknown
  next_look      INTEGER,                         -- the resolver's next look
  resend         INTEGER NOT NULL DEFAULT 0 CHECK (resend IN (0, 1)),
  receipt        TEXT,
  class          TEXT CHECK (class = 'transient' OR class = 'good' OR class = 'not_called'),
  reason         TEXT CHECK (length(reason) <= 300),
  how            TEXT CHECK (how = 'not_found' OR how = 'send_again' OR how = 'given_up'),
  settled_by     TEXT,
  notice         INTEGER REFERENCES lanebox_notice(id),
  intended_mono INTEGER,
  intended_boot TEXT CHECK ((intended_boot IS NULL) = (intended_mono IS NULL)),
  unknown_mono INTEGER,
  unknown_boot TEXT CHECK ((unknown_boot IS NULL) = (unknown_mono IS NULL)),
  PRIMARY KEY (send, n),
  CHECK ((n = 1) = (after IS NULL)),
  CHECK (after IS NOT 'order' OR ordered_by IS NOT NULL),
  CHECK ((ordered_by IS NULL) = (order_no = 0)),
  CHECK (state <> 'accepted' OR receipt IS NOT NULL OR settled_by IS NOT NULL),
  CHECK (state <> 'rejected' OR class IS NOT NULL),
  CHECK (state <> 'abandoned' OR (how IS NOT NULL AND settled_by IS NOT NULL)),
  CHECK (state <> 'unknown' OR (unknown_at IS NOT NULL AND wait_until IS NOT NULL AND (next_look IS NOT NULL OR notice IS NOT NULL))),
  CHECK (state <> 'duplicate' OR notice IS NOT NULL),
  CHECK (state = 'unknown' OR (next_look IS NULL AND resend = 0)),
  CHECK (notice IS NULL OR state IN ('unknown', 'duplicate')),
  CHECK ((state IN ('intended', 'unknown')) = (ended_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX lanebox_send_try_key ON lanebox_send_try(key);
CREATE UNIQUE INDEX lanebox_send_try_undecided ON lanebox_send_try(send) WHERE state IN ('intended', 'unknown');
CREATE UNIQUE INDEX lanebox_send_try_accepted ON lanebox_send_try(send, order_no) WHERE state = 'accepted';
CREATE INDEX lanebox_send_try_look ON lanebox_send_try(next_look) WHERE next_look IS NOT NULL;
CREATE INDEX lanebox_send_try_notice ON lanebox_send_try(notice) WHERE notice IS NOT NULL;

CREATE TABLE lanebox_send_extra (                 -- another receipt for a key that already has one
  send    INTEGER NOT NULL,
  n       INTEGER NOT NULL,
  receipt TEXT NOT NULL,
  at      INTEGER NOT NULL,
  notice  INTEGER NOT NULL REFERENCES lanebox_notice(id),
  PRIMARY KEY (send, n, receipt)
) STRICT, WITHOUT ROWID;
CREATE INDEX lanebox_send_extra_notice ON lanebox_send_extra(notice);

CREATE TRIGGER lanebox_send_try_born BEFORE INSERT ON lanebox_send_try BEGIN
  SELECT RAISE(ABORT, 'lanebox: a try begins as intended') WHERE NEW.state <> 'intended' OR NEW.calls <> 1;
  SELECT RAISE(ABORT, 'lanebox: only the run that holds the job may intend')
   WHERE NOT EXISTS (SELECT 1 FROM lanebox_running WHERE id = NEW.job AND token = NEW.token);
  SELECT RAISE(ABORT, 'lanebox: tries are numbered without a gap')
   WHERE NEW.n <> 1 + (SELECT coalesce(max(n), 0) FROM lanebox_send_try WHERE send = NEW.send);
END;
CREATE TRIGGER lanebox_send_try_step BEFORE UPDATE OF state ON lanebox_send_try WHEN OLD.state <> NEW.state BEGIN
  SELECT RAISE(ABORT, 'lanebox: no such step of a try') WHERE NOT (
    (OLD.state = 'intended'  AND NEW.state IN ('accepted', 'rejected', 'unknown', 'duplicate')) OR
    (OLD.state = 'unknown'   AND NEW.state IN ('intended', 'accepted', 'rejected', 'abandoned', 'duplicate')) OR
    (OLD.state IN ('rejected', 'abandoned') AND NEW.state IN ('accepted', 'duplicate')));
  SELECT RAISE(ABORT, 'lanebox: a call with the same key needs permission, the same try and the run that holds the job')
   WHERE NEW.state = 'intended' AND NOT (OLD.resend = 1 AND NEW.calls = OLD.calls + 1
     AND EXISTS (SELECT 1 FROM lanebox_running WHERE id = NEW.job AND token = NEW.token));
  SELECT RAISE(ABORT, 'lanebox: a rejection settles a try only if it was called once')
   WHERE NEW.state = 'rejected' AND OLD.calls > 1;
END;
CREATE TRIGGER lanebox_send_try_fixed BEFORE UPDATE OF send, n, key, channel, recipient_hmac, hash, ordered_by, order_no, after, job, wait_until, receipt ON lanebox_send_try
 WHEN OLD.send <> NEW.send OR OLD.n <> NEW.n OR OLD.key <> NEW.key OR OLD.channel <> NEW.channel OR OLD.recipient_hmac <> NEW.recipient_hmac
   OR OLD.hash <> NEW.hash OR OLD.ordered_by IS NOT NEW.ordered_by OR OLD.order_no <> NEW.order_no OR OLD.after IS NOT NEW.after OR OLD.job <> NEW.job
   OR (OLD.wait_until IS NOT NULL AND OLD.wait_until IS NOT NEW.wait_until) OR (OLD.receipt IS NOT NULL AND OLD.receipt IS NOT NEW.receipt)
 BEGIN SELECT RAISE(ABORT, 'lanebox: what a try was made of does not change'); END;
CREATE TRIGGER lanebox_send_try_keep BEFORE DELETE ON lanebox_send_try WHEN OLD.state IN ('intended', 'unknown')
 BEGIN SELECT RAISE(ABORT, 'lanebox: an undecided try is kept'); END;
CREATE TRIGGER lanebox_notice_keep BEFORE UPDATE OF state ON lanebox_notice
 WHEN NEW.state = 'resolved' AND EXISTS (SELECT 1 FROM lanebox_send_try WHERE notice = NEW.id AND state = 'unknown')
 BEGIN SELECT RAISE(ABORT, 'lanebox: a send of this notice is still unknown: settle it'); END;

-- ------------------------------------------------------------------------------------------- what people did

CREATE TABLE lanebox_audit (                      -- append-only: who did what to which, when; no bodies
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  at       INTEGER NOT NULL,
  who      TEXT NOT NULL CHECK (length(who) BETWEEN 1 AND 128),
  verb     TEXT NOT NULL CHECK (length(verb) BETWEEN 1 AND 64),
  ref_kind TEXT NOT NULL,
  ref_id   INTEGER NOT NULL,
  detail   TEXT CHECK (length(detail) <= 300)
) STRICT;
CREATE INDEX lanebox_audit_about ON lanebox_audit(ref_kind, ref_id);
CREATE TRIGGER lanebox_audit_fixed BEFORE UPDATE ON lanebox_audit BEGIN SELECT RAISE(ABORT, 'lanebox: the audit is append-only'); END;
CREATE TRIGGER lanebox_audit_keep BEFORE DELETE ON lanebox_audit BEGIN SELECT RAISE(ABORT, 'lanebox: the audit is append-only'); END;
