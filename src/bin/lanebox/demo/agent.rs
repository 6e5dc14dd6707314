//! The stand-in for the AI: slow, and never twice the same words. That is what `ctx.step` is for.

use std::time::Duration;

use super::clock;

const OPENINGS: [&str; 6] =
    ["Hello!", "Thanks for writing.", "Good to hear from you.", "Hi there.", "Of course.", "Sure."];
const ANSWERS: [&str; 5] = [
    "We open at nine tomorrow.",
    "Your order is on its way.",
    "I have put you on the list.",
    "A colleague will call you back today.",
    "That is in stock.",
];

/// One or two bubbles, different at every call, after some thought.
pub fn think(text: Option<&str>) -> Vec<String> {
    clock::pause(Duration::from_millis(fastrand::u64(10..60)));
    let told = if text.is_some() { "" } else { " (thanks for the picture)" };
    let first =
        format!("{}{told} [{:08x}]", fastrand::choice(OPENINGS).unwrap_or(""), fastrand::u32(..));
    let second = format!("{} [{:08x}]", fastrand::choice(ANSWERS).unwrap_or(""), fastrand::u32(..));
    if fastrand::bool() { vec![first, second] } else { vec![format!("{first} {second}")] }
}
