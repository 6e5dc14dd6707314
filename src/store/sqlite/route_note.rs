//! What a process's lock file says: the route that it is in. One line of fixed length, replaced by
//! one write, so that it is whole whenever the process dies. It need not survive a power cut: a
//! reboot is nobody's route's fault.

use std::fs::File;
use std::io;

use crate::model::id::{ConsumerNo, EventSeq};
use crate::store::bus::{InRoute, Way};

/// Longer than any note: three numbers of 20 characters and a word.
const LENGTH: usize = 80;

/// Replaces the note.
pub(super) fn write(file: &File, at: Option<&InRoute>) -> io::Result<()> {
    let note = at.map_or_else(|| "none".to_owned(), line);
    write_at_start(file, format!("{note:<width$}\n", width = LENGTH - 1).as_bytes())
}

/// Reads the note of a process that is gone. What cannot be read accuses nobody.
pub(super) fn read(file: &File) -> Option<InRoute> {
    let mut note = [0; LENGTH];
    read_at_start(file, &mut note).ok()?;
    parse(std::str::from_utf8(&note).ok()?)
}

fn line(at: &InRoute) -> String {
    let way = match at.way {
        Way::Range => "range",
        Way::Alone => "alone",
        Way::Again => "again",
    };
    format!("{way} {} {} {}", at.consumer, at.generation, at.event)
}

fn parse(note: &str) -> Option<InRoute> {
    let mut words = note.split_whitespace();
    let way = match words.next()? {
        "range" => Way::Range,
        "alone" => Way::Alone,
        "again" => Way::Again,
        _ => return None,
    };
    let mut number = || words.next()?.parse::<i64>().ok();
    Some(InRoute {
        way,
        consumer: ConsumerNo(number()?),
        generation: number()?,
        event: EventSeq(number()?),
    })
}

#[cfg(unix)]
fn write_at_start(file: &File, note: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, note, 0)
}

#[cfg(unix)]
fn read_at_start(file: &File, note: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, note, 0)
}

#[cfg(not(unix))]
fn write_at_start(mut file: &File, note: &[u8]) -> io::Result<()> {
    use io::{Seek, Write};
    file.rewind()?;
    file.write_all(note)
}

#[cfg(not(unix))]
fn read_at_start(mut file: &File, note: &mut [u8]) -> io::Result<()> {
    use io::{Read, Seek};
    file.rewind()?;
    file.read_exact(note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_note_is_read_as_it_was_written_and_none_accuses_nobody() {
        let file = tempfile::tempfile().expect("a file");
        for way in [Way::Range, Way::Alone, Way::Again] {
            let most = i64::MAX;
            let (consumer, event) = (ConsumerNo(most), EventSeq(most));
            let at = InRoute { way, consumer, generation: most, event };
            write(&file, Some(&at)).expect("written");
            assert_eq!(read(&file), Some(at));
            write(&file, None).expect("written");
            assert_eq!(read(&file), None);
        }
        assert_eq!(file.metadata().expect("its size").len(), LENGTH as u64);
    }

    proptest! {
        #[test]
        fn whatever_stands_in_the_file_is_read_without_a_panic(text in "\\PC{0,90}") {
            let _ = parse(&text);
        }
    }
}
