//! Identities. Outside they are stored UUIDv7s; inside the file they are row numbers.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use uuid::Uuid;

macro_rules! public_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub Uuid);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                text.parse().map($name)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.collect_str(self)
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.0.as_bytes())))
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                <[u8; 16]>::column_result(value).map(|bytes| $name(Uuid::from_bytes(bytes)))
            }
        }
    };
}

macro_rules! row_number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(pub(crate) i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                self.0.to_sql()
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                i64::column_result(value).map($name)
            }
        }
    };
}

public_id!(
    /// Identity of an event: a UUIDv7 that the file stores and never changes.
    EventId
);
public_id!(
    /// Identity of a job: a UUIDv7 that the file stores and never changes.
    JobId
);
public_id!(
    /// The key of one try of a send: a UUIDv7, given to the provider so that it can recognise a
    /// repeat.
    SendKey
);

row_number!(/// Row of an org.
    OrgNo);
row_number!(/// Row of a job kind.
    KindNo);
row_number!(/// Row of a lane.
    LaneNo);
row_number!(/// Row of a job.
    JobNo);
row_number!(/// Row of a process that holds leases.
    ProcessNo);
row_number!(/// Sequence number of an event: the order of commits.
    EventSeq);
row_number!(/// Row of a consumer.
    ConsumerNo);
row_number!(/// Row of a channel of an org.
    ChannelNo);
row_number!(/// Row of a send.
    SendNo);
row_number!(/// Row of a notice.
    NoticeNo);
row_number!(/// Fencing number of one claim: one global counter of the file, strictly increasing.
    Token);

/// A claim as later writes name it: this job under this token, and what does not change while it is
/// held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Held {
    pub(crate) job: JobNo,
    pub(crate) token: Token,
    pub(crate) process: ProcessNo,
    pub(crate) org: OrgNo,
    pub(crate) lane: Option<LaneNo>,
    pub(crate) started_at: i64,
    pub(crate) series: i64,
    pub(crate) attempts: u32,
    pub(crate) lost: u32,
}
