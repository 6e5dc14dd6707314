//! Which test names which fault, and which scenarios it shows.

use std::collections::BTreeSet;
use std::path::Path;

use super::read::{ROOT, files_in};

/// A test that says under which faults it fails.
pub(crate) struct Named {
    /// Its file, from the root of the package.
    pub(crate) file: String,
    pub(crate) name: String,
    pub(crate) faults: Vec<String>,
    /// `E12`, `J3`, `R40`: in its name, or in the comment above it.
    pub(crate) scenarios: BTreeSet<String>,
}

/// Every test of the package that names a fault or a scenario.
pub(crate) fn named() -> Vec<Named> {
    let mut found = Vec::new();
    let files = files_in(Path::new(ROOT), &["src", "tests"]);
    for file in files.iter().filter(|file| file.ends_with(".rs")) {
        let text = std::fs::read_to_string(Path::new(ROOT).join(file)).expect("text");
        found.extend(in_file(file, &text));
    }
    found
}

/// The tests of a file: comments, then attributes, then `fn`.
fn in_file(file: &str, text: &str) -> Vec<Named> {
    let (mut found, mut above, mut is_test) = (Vec::new(), Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("// ") {
            above.push(comment);
            continue;
        }
        if line.starts_with('#') {
            is_test |= line.contains("test");
            continue;
        }
        if let (true, Some(rest)) = (is_test, line.strip_prefix("fn ")) {
            let name: String =
                rest.chars().take_while(|c| *c == '_' || c.is_alphanumeric()).collect();
            let faults = above.iter().filter_map(|line| line.strip_prefix("fault: "));
            let faults = faults.flat_map(|names| names.split(", ")).map(str::to_owned).collect();
            let words = above.iter().flat_map(|line| line.split(|c: char| !c.is_alphanumeric()));
            let scenarios = words.map(str::to_owned).chain(name.split('_').map(str::to_uppercase));
            let scenarios = scenarios.filter(|word| is_scenario(word)).collect();
            found.push(Named { file: file.to_owned(), name, faults, scenarios });
        }
        above.clear();
        is_test = false;
    }
    found.retain(|test| !test.faults.is_empty() || !test.scenarios.is_empty());
    found
}

fn is_scenario(word: &str) -> bool {
    let Some(number) = word.strip_prefix(['E', 'J', 'R']) else { return false };
    !number.is_empty() && number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit())
}

impl Named {
    /// The test target that it is in.
    pub(crate) fn target(&self) -> &str {
        let mut parts = self.file.split('/');
        match (parts.next(), parts.next()) {
            (Some("src"), Some("bin")) => "bin",
            (Some("tests"), Some("sim" | "interleave")) | (Some("src"), _) => "lib",
            (_, folder) => folder.expect("a folder"),
        }
    }

    /// Whether this is the full name of the test in its target.
    pub(crate) fn is(&self, full: &str) -> bool {
        let file =
            self.file.trim_end_matches(".rs").trim_end_matches("/main").trim_end_matches("/mod");
        let module = match self.target() {
            "bin" => file.strip_prefix("src/bin/lanebox"),
            "lib" => file.strip_prefix("src").or_else(|| file.strip_prefix("tests")),
            target => file.strip_prefix("tests/").and_then(|file| file.strip_prefix(target)),
        };
        let module = module.unwrap_or_default().trim_start_matches('/').replace('/', "::");
        full.strip_prefix(&module).is_some_and(|rest| {
            rest.trim_start_matches("::").rsplit("::").next() == Some(self.name.as_str())
        })
    }
}
