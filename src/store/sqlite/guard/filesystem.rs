//! Which file system the file is on. On a network the locks and the shared memory that SQLite
//! builds on do not hold.

use std::path::Path;

use crate::error::{Error, Result};

/// `statfs` numbers of file systems whose files another machine may change.
const NETWORK_NUMBERS: [(u32, &str); 12] = [
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x0bd0_0bd0, "lustre"),
    (0x5346_414f, "afs"),
    (0x6b41_4653, "kafs"),
    (0x7375_7245, "coda"),
    (0x4750_4653, "gpfs"),
    (0x786f_4256, "vboxsf"),
];

/// The same by the name that the kernel gives a mount; FUSE shows itself only here.
const NETWORK_NAMES: [&str; 24] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "virtiofs",
    "ceph",
    "lustre",
    "afs",
    "coda",
    "gpfs",
    "vboxsf",
    "prl_fs",
    "fuse.sshfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.gcsfuse",
    "fuse.goofys",
    "fuse.juicefs",
    "fuse.glusterfs",
    "fuse.ceph-fuse",
    "fuse.grpcfuse",
    "fuse.gvfsd-fuse",
];

/// A file system, as far as the system tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct FileSystem {
    pub(in super::super) name: String,
    /// Another machine may change its files, or its locks hold on this machine alone.
    pub(in super::super) network: bool,
}

impl FileSystem {
    fn of(number: Option<u32>, mount: Option<&str>) -> FileSystem {
        let numbered = NETWORK_NUMBERS.iter().find(|(known, _)| Some(*known) == number);
        let named = mount.is_some_and(|name| NETWORK_NAMES.contains(&name));
        let name = match (mount, numbered, number) {
            (Some(mount), _, _) => mount.to_owned(),
            (None, Some((_, name)), _) => (*name).to_owned(),
            (None, None, Some(number)) => format!("type {number:#x}"),
            (None, None, None) => "unknown".to_owned(),
        };
        FileSystem { name, network: numbered.is_some() || named }
    }

    fn refuse(&self, path: &Path, allowed: bool) -> Result<()> {
        if !self.network {
            return Ok(());
        }
        if allowed {
            tracing::warn!(
                file_system = self.name,
                "allowed by its user: on a network file system accepted work can be lost and the file damaged"
            );
            return Ok(());
        }
        let why = format!(
            "it is on a network file system ({}), where locks and shared memory do not hold: accepted work could be lost \
             and one job could run twice; keep the file on a local disk (--allow-filesystem gives these promises up)",
            self.name
        );
        Err(Error::unusable(path, why))
    }
}

/// Refuses a network file system, and a file that is mounted without its directory.
pub(super) fn check(path: &Path, directory: &Path, allowed: bool) -> Result<()> {
    let mounts = mounts();
    of_with(directory, &mounts).refuse(path, allowed)?;
    refuse_lone_mount(path, &mounts)
}

fn refuse_lone_mount(path: &Path, mounts: &str) -> Result<()> {
    if mount_points(mounts).any(|(point, _)| Path::new(&point) == path) {
        let why = "only the file itself is mounted here and not its directory: its -wal, which holds the latest \
             accepted work, would be lost with the container; mount the directory";
        return Err(Error::unusable(path, why));
    }
    Ok(())
}

/// The file system of a directory.
pub(in super::super) fn of(directory: &Path) -> FileSystem {
    of_with(directory, &mounts())
}

fn of_with(directory: &Path, mounts: &str) -> FileSystem {
    let mut found: Option<(usize, &str)> = None;
    for (point, name) in mount_points(mounts) {
        // Of two at one point the later one lies on top.
        if directory.starts_with(&point) && found.is_none_or(|(length, _)| point.len() >= length) {
            found = Some((point.len(), name));
        }
    }
    FileSystem::of(number(directory), found.map(|(_, name)| name))
}

#[cfg(target_os = "linux")]
fn mounts() -> String {
    // Without /proc the number alone has to tell.
    std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn mounts() -> String {
    String::new()
}

#[cfg(target_os = "linux")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of 32 bits")]
fn number(directory: &Path) -> Option<u32> {
    rustix::fs::statfs(directory).map(|found| found.f_type as u32).ok()
}

#[cfg(not(target_os = "linux"))]
fn number(_: &Path) -> Option<u32> {
    None
}

// `36 35 98:0 / /mnt/data rw,noatime shared:1 - ext4 /dev/sda1 rw`: the fifth word, and the first
// after the dash.
fn mount_points(mounts: &str) -> impl Iterator<Item = (String, &str)> {
    mounts.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        Some((unescape(before.split(' ').nth(4)?), after.split(' ').next()?))
    })
}

// Blanks and backslashes come as three octal digits.
fn unescape(text: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:50 / /srv/my\\040share rw - nfs4 box:/x rw
41 27 0:51 / /home/ann/remote rw shared:7 - fuse.sshfs ann@box: rw
42 27 254:0 /queue.db /app/queue.db rw - ext4 /dev/vda rw
43 27 0:52 / /srv/twice rw - nfs box:/y rw
44 27 0:53 / /srv/twice rw - tmpfs tmpfs rw";

    fn name(directory: &str) -> (String, bool) {
        let found = of_with(Path::new(directory), MOUNTS);
        (found.name, found.network)
    }

    #[test]
    fn the_deepest_mount_names_the_file_system() {
        assert_eq!(name("/no/such/place"), ("ext4".to_owned(), false));
        assert_eq!(name("/srv/my share/crm"), ("nfs4".to_owned(), true));
        assert_eq!(name("/srv/my sharebox"), ("ext4".to_owned(), false));
        assert_eq!(name("/home/ann/remote"), ("fuse.sshfs".to_owned(), true));
        assert_eq!(name("/srv/twice/x"), ("tmpfs".to_owned(), false));
    }

    #[test]
    fn a_number_tells_where_the_mounts_cannot_be_read() {
        for (number, name) in NETWORK_NUMBERS {
            let found = FileSystem::of(Some(number), None);
            assert_eq!(found, FileSystem { name: name.to_owned(), network: true });
        }
        assert!(!FileSystem::of(Some(0xef53), None).network, "ext4");
        assert!(FileSystem::of(Some(0xef53), Some("9p")).network);
    }

    #[test]
    fn a_network_file_system_is_refused_unless_its_user_says_so() {
        let path = Path::new("/srv/my share/crm.db");
        let found = of_with(Path::new("/srv/my share"), MOUNTS);
        let refused = found.refuse(path, false).expect_err("nfs4").to_string();
        assert!(refused.contains("network file system (nfs4)"), "{refused}");
        assert!(refused.contains("accepted work could be lost"), "{refused}");
        assert!(refused.ends_with("the file was not changed"), "{refused}");
        found.refuse(path, true).expect("allowed");
    }

    // fault: mounted-file-is-taken
    #[test]
    fn r11_a_file_mounted_without_its_directory_is_refused() {
        let lone = refuse_lone_mount(Path::new("/app/queue.db"), MOUNTS).expect_err("refused");
        assert!(lone.to_string().contains("mount the directory"), "{lone}");
        refuse_lone_mount(Path::new("/app/other.db"), MOUNTS).expect("on the root's mount");
    }
}
