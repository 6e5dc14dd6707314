//! A layer between SQLite and the operating system: everything passes, and what changes files below
//! one directory is written down in order, with what was acknowledged in between.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};
use uuid::Uuid;

use crate::check::Promised;
use crate::trouble::{self, Call, meets};

/// Something that a caller was told is done.
#[derive(Clone, Debug)]
pub enum Ack {
    Opened,
    Event(Uuid),
    /// Rows of the host's own, and what belongs to them: up to this one.
    Pair(i64),
    /// So many jobs accepted.
    Jobs(i64),
    /// So many jobs ended.
    Finished(i64),
    /// The provider has this letter.
    Called(String),
    /// Everything of an earlier life of the file.
    All(Promised),
}

#[derive(Debug)]
pub enum Op {
    Create { file: usize },
    Write { file: usize, at: usize, bytes: Vec<u8> },
    Truncate { file: usize, size: usize },
    Sync { file: usize },
    Delete { file: usize },
    Ack(Ack),
}

/// What was asked of the disk.
#[derive(Debug, Default)]
pub struct Log {
    /// What the files held before, in the order of their numbers.
    pub base: Vec<(String, Vec<u8>)>,
    pub names: Vec<String>,
    pub ops: Vec<Op>,
    prefix: String,
    /// Tells it from other logs: a file may be open for longer than one.
    number: u64,
}

impl Log {
    // The number of a file in the directory that is watched.
    fn file(&mut self, path: &str) -> Option<usize> {
        let name = path.strip_prefix(&self.prefix)?;
        let known = self.names.iter().position(|known| known == name);
        Some(known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }))
    }
}

static LOG: Mutex<Option<Log>> = Mutex::new(None);
static LOGS: AtomicU64 = AtomicU64::new(0);
static INSTALLED: Once = Once::new();

/// Writes down what `body` makes SQLite do to the files of a directory. Files that are there
/// already come first, in the order of their names.
pub fn record(dir: &Path, body: impl FnOnce()) -> Log {
    INSTALLED.call_once(install);
    let dir = dir.canonicalize().expect("a directory");
    let entries = std::fs::read_dir(&dir).expect("listed");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("ours"))
        .collect();
    names.sort_unstable();
    let prefix = format!("{}/", dir.to_str().expect("ours"));
    let read = |name: &String| (name.clone(), std::fs::read(dir.join(name)).expect("read"));
    let base = names.iter().map(read).collect();
    let number = LOGS.fetch_add(1, Ordering::Relaxed);
    *lock() = Some(Log { base, names, prefix, number, ..Log::default() });
    body();
    lock().take().expect("it was recording")
}

/// A caller was told.
pub fn ack(ack: Ack) {
    note(|_| Some(Op::Ack(ack)));
}

fn lock() -> std::sync::MutexGuard<'static, Option<Log>> {
    LOG.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn note(op: impl FnOnce(&mut Log) -> Option<Op>) {
    if let Some(log) = lock().as_mut()
        && let Some(op) = op(log)
    {
        log.ops.push(op);
    }
}

/// A file of ours; the operating system's own stands behind it in memory.
#[repr(C)]
struct File {
    methods: *const sqlite3_io_methods,
    /// The log that it is in, and its number there.
    watched: Option<(u64, usize)>,
}

struct System(*const sqlite3_vfs);

// SAFETY: it lives for ever, and any thread may use it.
unsafe impl Send for System {}

static SYSTEM: Mutex<System> = Mutex::new(System(std::ptr::null()));

fn system() -> *mut sqlite3_vfs {
    SYSTEM.lock().expect("no panic").0.cast_mut()
}

fn install() {
    // SAFETY: the system's own layer lives for ever; ours is a copy of it that lives as long.
    unsafe {
        let real = ffi::sqlite3_vfs_find(std::ptr::null());
        *SYSTEM.lock().expect("no panic") = System(real);
        let ours = Box::leak(Box::new(*real));
        ours.zName = c"recorder".as_ptr();
        ours.pNext = std::ptr::null_mut();
        ours.szOsFile = (size_of::<File>() as c_int) + (*real).szOsFile;
        ours.xOpen = Some(open);
        ours.xDelete = Some(delete);
        ours.xSleep = Some(sleep);
        assert_eq!(ffi::sqlite3_vfs_register(ours, 1), ffi::SQLITE_OK);
    }
}

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives as much memory as our layer asks for: ours, then the system's.
    unsafe {
        let system = system();
        let real = behind(file);
        (*file).pMethods = std::ptr::null();
        (*real).pMethods = std::ptr::null();
        if is_watched(name)
            && let Some(answer) = meets(Call::Open)
        {
            return answer;
        }
        let answer = (*system).xOpen.expect("it opens")(system, name, real, flags, out);
        let ours = file.cast::<File>();
        (*ours).watched = None;
        if answer != ffi::SQLITE_OK {
            return answer;
        }
        (*ours).methods = &raw const METHODS;
        if !name.is_null()
            && let Ok(path) = CStr::from_ptr(name).to_str()
        {
            note(|log| {
                let n = log.file(path)?;
                (*ours).watched = Some((log.number, n));
                (flags & ffi::SQLITE_OPEN_CREATE != 0).then_some(Op::Create { file: n })
            });
        }
        answer
    }
}

// SQLite waits by itself for ten seconds in all, for locks that trouble keeps for ever: nobody
// learns anything from that.
unsafe extern "C" fn sleep(_: *mut sqlite3_vfs, micros: c_int) -> c_int {
    if trouble::is_there() {
        return micros;
    }
    // SAFETY: passed on as it came.
    unsafe {
        let system = system();
        (*system).xSleep.expect("it sleeps")(system, micros)
    }
}

unsafe extern "C" fn delete(_: *mut sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: passed on as it came.
    unsafe {
        let system = system();
        if is_watched(name)
            && let Some(answer) = meets(Call::Delete)
        {
            return answer;
        }
        let answer = (*system).xDelete.expect("it deletes")(system, name, sync);
        if answer == ffi::SQLITE_OK
            && let Ok(path) = CStr::from_ptr(name).to_str()
        {
            note(|log| log.file(path).map(|file| Op::Delete { file }));
        }
        answer
    }
}

unsafe fn is_watched(name: *const c_char) -> bool {
    if name.is_null() {
        return false;
    }
    // SAFETY: SQLite's names end with a NUL.
    let path = unsafe { CStr::from_ptr(name) }.to_str();
    lock().as_ref().is_some_and(|log| path.is_ok_and(|path| path.starts_with(&log.prefix)))
}

// What a call on a file of ours is answered if it is in trouble.
unsafe fn trouble(file: *mut sqlite3_file, call: Call) -> Option<c_int> {
    // SAFETY: only our own files get our methods.
    let (number, _) = unsafe { (*file.cast::<File>()).watched }?;
    let now = lock().as_ref().is_some_and(|log| log.number == number);
    if now { meets(call) } else { None }
}

// The system's own file, behind ours.
unsafe fn behind(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: our layer asked for that much more memory.
    unsafe { file.cast::<u8>().add(size_of::<File>()).cast() }
}

unsafe fn methods<'f>(file: *mut sqlite3_file) -> &'f sqlite3_io_methods {
    // SAFETY: an open file of the system has its methods.
    unsafe { &*(*behind(file)).pMethods }
}

// Something was done to a file.
unsafe fn done(answer: c_int, file: *mut sqlite3_file, op: impl FnOnce(usize) -> Op) -> c_int {
    // SAFETY: only our own files get our methods.
    let watched = unsafe { (*file.cast::<File>()).watched };
    if answer == ffi::SQLITE_OK
        && let Some((number, file)) = watched
    {
        note(|log| (log.number == number).then(|| op(file)));
    }
    answer
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock_file),
    xUnlock: Some(unlock_file),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    // Version 3: files that are mapped into memory. Lanebox maps none.
    xFetch: None,
    xUnfetch: None,
};

// SAFETY of all that follow: SQLite calls them with an open file of ours, and each passes on what
// it got to the system's file behind it.

unsafe extern "C" fn write(f: *mut sqlite3_file, from: *const c_void, n: c_int, at: i64) -> c_int {
    unsafe {
        if let Some(answer) = trouble(f, Call::Write) {
            return answer;
        }
        let answer = methods(f).xWrite.expect("a method")(behind(f), from, n, at);
        let bytes = || std::slice::from_raw_parts(from.cast::<u8>(), n as usize).to_vec();
        done(answer, f, |file| Op::Write { file, at: at as usize, bytes: bytes() })
    }
}

unsafe extern "C" fn truncate(f: *mut sqlite3_file, size: i64) -> c_int {
    unsafe {
        if let Some(answer) = trouble(f, Call::Truncate) {
            return answer;
        }
        let answer = methods(f).xTruncate.expect("a method")(behind(f), size);
        done(answer, f, |file| Op::Truncate { file, size: size as usize })
    }
}

unsafe extern "C" fn sync(f: *mut sqlite3_file, flags: c_int) -> c_int {
    unsafe {
        if let Some(answer) = trouble(f, Call::Sync) {
            return answer;
        }
        let answer = methods(f).xSync.expect("a method")(behind(f), flags);
        done(answer, f, |file| Op::Sync { file })
    }
}

unsafe extern "C" fn close(f: *mut sqlite3_file) -> c_int {
    unsafe { methods(f).xClose.expect("a method")(behind(f)) }
}

unsafe extern "C" fn read(f: *mut sqlite3_file, to: *mut c_void, n: c_int, at: i64) -> c_int {
    unsafe {
        if let Some(answer) = trouble(f, Call::Read) {
            return answer;
        }
        methods(f).xRead.expect("a method")(behind(f), to, n, at)
    }
}

unsafe extern "C" fn file_size(f: *mut sqlite3_file, size: *mut i64) -> c_int {
    unsafe {
        if let Some(answer) = trouble(f, Call::Size) {
            return answer;
        }
        methods(f).xFileSize.expect("a method")(behind(f), size)
    }
}

unsafe extern "C" fn lock_file(f: *mut sqlite3_file, level: c_int) -> c_int {
    unsafe {
        if let Some(answer) = trouble(f, Call::Lock) {
            return answer;
        }
        methods(f).xLock.expect("a method")(behind(f), level)
    }
}

unsafe extern "C" fn unlock_file(f: *mut sqlite3_file, level: c_int) -> c_int {
    unsafe { methods(f).xUnlock.expect("a method")(behind(f), level) }
}

unsafe extern "C" fn check_reserved_lock(f: *mut sqlite3_file, out: *mut c_int) -> c_int {
    unsafe { methods(f).xCheckReservedLock.expect("a method")(behind(f), out) }
}

unsafe extern "C" fn file_control(f: *mut sqlite3_file, op: c_int, arg: *mut c_void) -> c_int {
    unsafe { methods(f).xFileControl.expect("a method")(behind(f), op, arg) }
}

unsafe extern "C" fn sector_size(f: *mut sqlite3_file) -> c_int {
    unsafe { methods(f).xSectorSize.expect("a method")(behind(f)) }
}

unsafe extern "C" fn device_characteristics(f: *mut sqlite3_file) -> c_int {
    unsafe { methods(f).xDeviceCharacteristics.expect("a method")(behind(f)) }
}

unsafe extern "C" fn shm_map(
    f: *mut sqlite3_file,
    page: c_int,
    size: c_int,
    extend: c_int,
    to: *mut *mut c_void,
) -> c_int {
    unsafe {
        if let Some(answer) = trouble(f, Call::Map) {
            return answer;
        }
        methods(f).xShmMap.expect("a method")(behind(f), page, size, extend, to)
    }
}

unsafe extern "C" fn shm_lock(f: *mut sqlite3_file, at: c_int, n: c_int, flags: c_int) -> c_int {
    unsafe {
        // Letting go does not fail, and nobody keeps readers out for long: SQLite waits for that by
        // itself.
        if flags & ffi::SQLITE_SHM_LOCK != 0
            && flags & ffi::SQLITE_SHM_EXCLUSIVE != 0
            && let Some(answer) = trouble(f, Call::Lock)
        {
            return answer;
        }
        methods(f).xShmLock.expect("a method")(behind(f), at, n, flags)
    }
}

unsafe extern "C" fn shm_barrier(f: *mut sqlite3_file) {
    unsafe { methods(f).xShmBarrier.expect("a method")(behind(f)) }
}

unsafe extern "C" fn shm_unmap(f: *mut sqlite3_file, delete: c_int) -> c_int {
    unsafe { methods(f).xShmUnmap.expect("a method")(behind(f), delete) }
}
