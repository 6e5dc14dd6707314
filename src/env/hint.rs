//! Hints that somebody writes to a file: what other programs do is an input like time.

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

pub(crate) use system::Hint;

#[cfg(target_os = "linux")]
mod system {
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::time::Duration;

    use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
    use rustix::io::Errno;

    /// Hears each write to one file. It opens nothing: closing a file of a database would drop the
    /// locks that this process holds on it.
    pub(crate) struct Hint {
        writes: OwnedFd,
        /// Readable once nobody shall wait any more.
        roused: OwnedFd,
    }

    impl Hint {
        /// # Errors
        /// The file is not there, or the system gives no more hints.
        pub(crate) fn of(file: &Path) -> io::Result<Hint> {
            let writes = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
            add_watch(&writes, file, WatchFlags::MODIFY)?;
            let roused = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
            Ok(Hint { writes, roused })
        }

        /// Waits until somebody writes, or for `longest`.
        ///
        /// # Errors
        /// It cannot wait.
        pub(crate) fn wait(&self, longest: Duration) -> io::Result<()> {
            let readable = |fd| PollFd::new(fd, PollFlags::IN);
            until(&mut [readable(&self.roused), readable(&self.writes)], longest)
        }

        /// Waits for `longest`, whoever writes.
        ///
        /// # Errors
        /// It cannot wait.
        pub(crate) fn rest(&self, longest: Duration) -> io::Result<()> {
            until(&mut [PollFd::new(&self.roused, PollFlags::IN)], longest)
        }

        /// Whether somebody wrote since the last call.
        ///
        /// # Errors
        /// The file was removed: nothing is heard any more.
        pub(crate) fn taken(&self) -> io::Result<bool> {
            let mut buffer = [MaybeUninit::uninit(); 512];
            let mut reader = Reader::new(&self.writes, &mut buffer);
            let mut taken = false;
            loop {
                match reader.next() {
                    Ok(event) if event.events().contains(ReadFlags::IGNORED) => {
                        return Err(io::ErrorKind::NotFound.into());
                    }
                    Ok(_) => taken = true,
                    Err(Errno::AGAIN) => return Ok(taken),
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }

        /// From now on nobody waits.
        pub(crate) fn rouse(&self) {
            // It fails only if it was said so often that the count is full.
            let _said = rustix::io::write(&self.roused, &1_u64.to_ne_bytes());
        }
    }

    fn until(fds: &mut [PollFd<'_>], longest: Duration) -> io::Result<()> {
        let longest = Timespec::try_from(longest).map_err(io::Error::other)?;
        match poll(fds, Some(&longest)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::path::Path;
    use std::time::Duration;

    /// No such thing here.
    pub(crate) enum Hint {}

    impl Hint {
        pub(crate) fn of(_: &Path) -> io::Result<Hint> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(crate) fn wait(&self, _: Duration) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn rest(&self, _: Duration) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn taken(&self) -> io::Result<bool> {
            match *self {}
        }

        pub(crate) fn rouse(&self) {
            match *self {}
        }
    }
}
