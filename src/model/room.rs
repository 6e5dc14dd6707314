//! How much room a disk has, and what may still be done with it.

#[cfg(test)]
mod tests;

/// What a handle does while the disk is as full as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoomMode {
    /// Everything.
    #[default]
    Plenty,
    /// The free room is below the low-water mark: no job is claimed and no event dispatched.
    /// Facts and jobs are still accepted; what runs goes on and is recorded.
    Low,
    /// The disk is full: new facts and jobs are refused as well. What runs is still recorded, in
    /// the room that the ballast file gave back.
    Full,
}

impl RoomMode {
    /// The word for it: `plenty`, `low` or `full`.
    pub fn as_str(self) -> &'static str {
        match self {
            RoomMode::Plenty => "plenty",
            RoomMode::Low => "low",
            RoomMode::Full => "full",
        }
    }
}

/// Where one mode ends and another begins, in bytes of free room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    /// What the ballast file reserves.
    pub(crate) ballast: u64,
    /// Below this and without a ballast file, what is left is kept for outcomes.
    pub(crate) full: u64,
    /// Below this nothing new is begun.
    pub(crate) low: u64,
    /// From here on everything is as usual again. Well above the mark, or a disk that hovers there
    /// would begin and stop all the time.
    pub(crate) plenty: u64,
}

const MIB: u64 = 1 << 20;

impl Marks {
    /// A twentieth of the file system, but never more than a write-ahead log of its usual size
    /// takes, and never less than a few commits do.
    pub(crate) fn of(total: u64) -> Marks {
        let low = (total / 20).clamp(4 * MIB, 64 * MIB);
        Marks { ballast: low / 4, full: low / 2, low, plenty: 2 * low }
    }
}

/// The mode that follows. `ballast`: the file is there. `failed`: a write found no room a moment
/// ago, whatever the file system says of itself (a quota, say).
pub(crate) fn judge(
    before: RoomMode,
    free: u64,
    marks: &Marks,
    ballast: bool,
    failed: bool,
) -> RoomMode {
    match before {
        _ if failed => RoomMode::Full,
        _ if free >= marks.plenty => RoomMode::Plenty,
        RoomMode::Full => RoomMode::Full,
        _ if free < marks.full && !ballast => RoomMode::Full,
        _ if free < marks.low => RoomMode::Low,
        other => other,
    }
}
