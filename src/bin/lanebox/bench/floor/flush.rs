//! Flushes per second of the disk alone: 4 KiB written and flushed, again and again, by one thread.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use super::super::clock::now;

const BLOCK: [u8; 4096] = [0x5a; 4096];

/// Blocks that are written over, one after the other, as in a log that begins anew.
const BLOCKS: usize = 256;

/// Each block makes the file longer.
pub fn append(path: &Path, flushes: usize) -> io::Result<f64> {
    let mut file = File::create(path)?;
    let begun = now();
    for _ in 0..flushes {
        file.write_all(&BLOCK)?;
        file.sync_data()?;
    }
    Ok(flushes as f64 / begun.elapsed().as_secs_f64())
}

/// Each block takes the place of one that the disk has.
pub fn overwrite(path: &Path, flushes: usize) -> io::Result<f64> {
    let mut file = File::create(path)?;
    for _ in 0..BLOCKS {
        file.write_all(&BLOCK)?;
    }
    file.sync_all()?;
    let begun = now();
    for i in 0..flushes {
        if i % BLOCKS == 0 {
            file.seek(SeekFrom::Start(0))?;
        }
        file.write_all(&BLOCK)?;
        file.sync_data()?;
    }
    Ok(flushes as f64 / begun.elapsed().as_secs_f64())
}
