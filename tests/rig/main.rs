//! Every rig by its name: `cargo rig NAME --seed S --n N`, for as long as you like. `cargo rig`
//! lists them; `cargo rig figures` runs each at the size that every test run has, or reads what a
//! run of all tests has said, and writes what it came to into `figures.txt` and the README.
//! `cargo rig faults` plants faults, and `cargo rig page` writes their page.

mod faults;
mod figures;
mod list;
mod run;
mod table;

use std::io::Write as _;
use std::process::ExitCode;

/// What the alias `cargo rig` begins its arguments with: without it this is one of the test
/// targets of a run of all, which has nothing to do here.
const CALLED: &str = "--called";

const USAGE: &str = "usage: cargo rig NAME [--seed S] [--n N], cargo rig figures [LOG], \
     or cargo rig faults [--seed S] [--n N]";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() != Some(CALLED) {
        return ExitCode::SUCCESS;
    }
    let args: Vec<String> = args.collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let good = match words.as_slice() {
        [] => say(&format!("{USAGE}\n\n{}", list::text())),
        ["figures"] => figures::write(),
        ["figures", log] => figures::take(log),
        ["page"] => faults::write_page() && figures::show(),
        ["faults", rest @ ..] => match sizes(rest) {
            Some((seed, n)) => faults::run(seed, n),
            None => !say(USAGE),
        },
        [name, rest @ ..] => match (list::find(name), sizes(rest)) {
            (Some(rig), Some((seed, n))) => run::run(rig, seed, n).is_good,
            _ => !say(&format!("{USAGE}\n\n{}", list::text())),
        },
    };
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// `--seed S` and `--n N`, in any order.
fn sizes(words: &[&str]) -> Option<(Option<u64>, Option<u64>)> {
    let (mut seed, mut n) = (None, None);
    for pair in words.chunks(2) {
        match pair {
            ["--seed", number] => seed = Some(number.parse().ok()?),
            ["--n", number] => n = Some(number.parse().ok()?),
            _ => return None,
        }
    }
    Some((seed, n))
}

fn say(text: &str) -> bool {
    writeln!(std::io::stderr(), "{text}").is_ok()
}
