//! Which call to the disk fails, and how.

use std::ffi::c_int;
use std::sync::Mutex;

use rusqlite::ffi;

/// What is asked of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Open,
    Read,
    Write,
    Truncate,
    Sync,
    Delete,
    Size,
    Map,
    Lock,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// There is no room.
    Full,
    /// A call fails.
    Error,
    /// Only a flush fails.
    Flush,
    /// Somebody else has the lock.
    Busy,
}

pub const KINDS: [Kind; 4] = [Kind::Full, Kind::Error, Kind::Flush, Kind::Busy];

impl Kind {
    fn answer(self, call: Call) -> Option<c_int> {
        match (self, call) {
            (Kind::Full, Call::Write) => Some(ffi::SQLITE_FULL),
            (Kind::Flush | Kind::Error, Call::Sync) => Some(ffi::SQLITE_IOERR_FSYNC),
            (Kind::Busy, Call::Lock) => Some(ffi::SQLITE_BUSY),
            (Kind::Error, Call::Open) => Some(ffi::SQLITE_CANTOPEN),
            (Kind::Error, Call::Read) => Some(ffi::SQLITE_IOERR_READ),
            (Kind::Error, Call::Write) => Some(ffi::SQLITE_IOERR_WRITE),
            (Kind::Error, Call::Truncate) => Some(ffi::SQLITE_IOERR_TRUNCATE),
            (Kind::Error, Call::Delete) => Some(ffi::SQLITE_IOERR_DELETE),
            (Kind::Error, Call::Size) => Some(ffi::SQLITE_IOERR_FSTAT),
            (Kind::Error, Call::Map) => Some(ffi::SQLITE_IOERR_SHMMAP),
            _ => None,
        }
    }
}

/// The trouble of one case.
#[derive(Clone, Copy, Debug)]
pub struct Trouble {
    pub kind: Kind,
    /// It begins with this call of those that it can meet.
    pub at: usize,
    /// Whether it stays.
    pub lasting: bool,
}

struct Armed {
    trouble: Trouble,
    calls: usize,
}

static ARMED: Mutex<Option<Armed>> = Mutex::new(None);

/// From now on there may be trouble.
pub fn begin(trouble: Trouble) {
    *ARMED.lock().expect("no panic") = Some(Armed { trouble, calls: 0 });
}

/// Whether there may be trouble now.
pub fn is_there() -> bool {
    ARMED.lock().expect("no panic").is_some()
}

/// The trouble is over; whether there was any.
pub fn end() -> bool {
    let armed = ARMED.lock().expect("no panic").take();
    armed.is_some_and(|armed| armed.calls > armed.trouble.at)
}

/// What a call is answered if it is in trouble.
pub fn meets(call: Call) -> Option<c_int> {
    let mut armed = ARMED.lock().expect("no panic");
    let armed = armed.as_mut()?;
    let answer = armed.trouble.kind.answer(call)?;
    armed.calls += 1;
    let now = armed.calls - 1;
    let at = armed.trouble.at;
    (now == at || (armed.trouble.lasting && now > at)).then_some(answer)
}
