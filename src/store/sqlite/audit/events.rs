//! Audits of events, consumers and deliveries: every fact is adopted once, and seen by whoever it
//! concerns.

use super::Audit;

pub(super) const AUDITS: &[Audit] = &[
    Audit {
        name: "front_ahead",
        sentence: "every event up to the front has its id",
        sql: "SELECT seq FROM lanebox_event WHERE seq <= (SELECT seq FROM lanebox_front) AND uuid IS NULL",
    },
    Audit {
        name: "key_forgotten",
        sentence: "the key of every adopted event is remembered",
        sql: "SELECT e.seq FROM lanebox_event e LEFT JOIN lanebox_event_key k ON k.event = e.seq \
WHERE e.uuid IS NOT NULL AND e.dedupe_key IS NOT NULL AND e.duplicate_of IS NULL AND k.uuid IS NOT e.uuid",
    },
    Audit {
        name: "duplicate_delivered",
        sentence: "a duplicate has no deliveries",
        sql: "SELECT d.event FROM lanebox_delivery d JOIN lanebox_event e ON e.seq = d.event WHERE e.duplicate_of IS NOT NULL",
    },
    Audit {
        name: "delivered_ahead",
        sentence: "no delivery is beyond its consumer's position",
        sql: "SELECT d.event FROM lanebox_delivery d JOIN lanebox_consumer c ON c.id = d.consumer WHERE d.event > c.position",
    },
    Audit {
        name: "job_without_delivery",
        sentence: "a job born of a delivery has that delivery",
        sql: "SELECT j.id FROM lanebox_job j JOIN lanebox_event e ON e.seq = j.source_event \
WHERE j.consumer IS NOT NULL AND NOT EXISTS (SELECT 1 FROM lanebox_delivery d WHERE d.consumer = j.consumer AND d.event = j.source_event)",
    },
    Audit {
        name: "delivery_without_job",
        sentence: "a delivery that became a job has it, while its event is here",
        sql: "SELECT d.event FROM lanebox_delivery d JOIN lanebox_event e ON e.seq = d.event WHERE d.state IN ('job', 'routed') \
AND NOT EXISTS (SELECT 1 FROM lanebox_job j WHERE j.source_event = d.event AND j.consumer = d.consumer)",
    },
    Audit {
        name: "dead_delivery_without_notice",
        sentence: "every dead delivery has its notice",
        sql: "SELECT d.event FROM lanebox_delivery d WHERE d.state = 'dead' AND NOT EXISTS (SELECT 1 FROM lanebox_notice n WHERE n.id = d.notice)",
    },
    Audit {
        name: "retry_without_event",
        sentence: "a delivery that is tried again has its event",
        sql: "SELECT d.event FROM lanebox_delivery d WHERE d.state = 'retry' AND NOT EXISTS (SELECT 1 FROM lanebox_event e WHERE e.seq = d.event)",
    },
    Audit {
        name: "retired_but_open",
        sentence: "a retired consumer has nothing under way",
        sql: "SELECT key FROM lanebox_consumer WHERE state = 'retired' AND (routing IS NOT NULL OR holder IS NOT NULL)",
    },
    Audit {
        name: "consumer_without_pattern",
        sentence: "a consumer has a pattern",
        sql: "SELECT c.key FROM lanebox_consumer c WHERE NOT EXISTS (SELECT 1 FROM lanebox_pattern p WHERE p.consumer = c.id)",
    },
    Audit {
        name: "passed_without_delivery",
        sentence: "a consumer whose definition never changed has a delivery for every matching event that it passed",
        sql: "SELECT e.seq FROM lanebox_consumer c JOIN lanebox_event e ON e.seq > c.started AND e.seq <= c.position \
WHERE c.generation = 1 AND e.duplicate_of IS NULL AND EXISTS (SELECT 1 FROM lanebox_pattern p WHERE p.consumer = c.id AND e.name GLOB p.name) \
  AND NOT EXISTS (SELECT 1 FROM lanebox_delivery d WHERE d.consumer = c.id AND d.event = e.seq)",
    },
    Audit {
        name: "holder_without_range",
        sentence: "who holds a consumer has marked a range",
        sql: "SELECT key FROM lanebox_consumer WHERE holder IS NOT NULL AND routing IS NULL",
    },
    Audit {
        name: "held_by_who_is_gone",
        sentence: "whoever holds a consumer or a delivery is not gone",
        sql: "SELECT c.key FROM lanebox_consumer c JOIN lanebox_process p ON p.id = c.holder WHERE p.gone = 1 \
UNION ALL SELECT d.event FROM lanebox_delivery d JOIN lanebox_process p ON p.id = d.holder WHERE p.gone = 1",
    },
];
