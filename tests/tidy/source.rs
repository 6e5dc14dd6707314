//! A source file, taken apart as far as the rules need: code, comments, literals, tests.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use crate::ROOT;

/// One file. The views keep every byte's place: what does not belong to a view is blank there.
pub struct Source {
    /// From the root of the package, with forward slashes.
    pub path: String,
    pub text: String,
    pub code: String,
    pub comments: String,
    /// Where strings and characters stand, quotes included.
    pub literals: Vec<Range<usize>>,
    /// Where test code stands.
    tests: Vec<Range<usize>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Source {
        let (mut code, mut comments, mut literals) = (String::new(), String::new(), Vec::new());
        let mut at = 0;
        while at < text.len() {
            let (kind, length) = token(&text[at..], text[..at].ends_with(is_word));
            let piece = &text[at..at + length];
            code.push_str(&seen(piece, kind == Kind::Code));
            comments.push_str(&seen(piece, kind == Kind::Comment));
            if kind == Kind::Literal {
                literals.push(at..at + length);
            }
            at += length;
        }
        let tests = match path.starts_with("tests/") {
            true => whole(),
            false => test_items(&code).collect(),
        };
        let (path, text) = (path.to_owned(), text.to_owned());
        Source { path, text, code, comments, literals, tests }
    }

    /// Whether the byte stands in test code.
    pub fn is_test(&self, at: usize) -> bool {
        self.tests.iter().any(|tests| tests.contains(&at))
    }

    /// The places where the code says this, not as a part of a longer word.
    pub fn says<'s>(&'s self, what: &'s str) -> impl Iterator<Item = usize> + 's {
        let part = |at: usize| {
            let (before, after) = (&self.code[..at], &self.code[at + what.len()..]);
            (what.starts_with(is_word) && before.ends_with(is_word))
                || (what.ends_with(is_word) && after.starts_with(is_word))
        };
        self.code.match_indices(what).map(|(at, _)| at).filter(move |&at| !part(at))
    }

    /// The text of the literal at or after a place, if only blanks stand between.
    pub fn literal_at(&self, at: usize) -> Option<&str> {
        let literal = self.literals.iter().find(|literal| literal.start >= at)?;
        self.text[at..literal.start].trim().is_empty().then(|| &self.text[literal.clone()])
    }

    /// The texts of strings outside test code, without their quotes.
    pub fn texts(&self) -> impl Iterator<Item = (usize, &str)> {
        let texts = self.literals.iter().filter(|literal| !self.is_test(literal.start));
        texts.map(|at| (at.start, self.text[at.clone()].trim_matches(['r', '#', '"']).trim()))
    }

    pub fn line_of(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    /// A finding that an editor can jump to.
    pub fn finding(&self, at: usize, why: &str) -> String {
        format!("{}:{}: {why}", self.path, self.line_of(at))
    }
}

/// Every Rust file of the package.
pub static TREE: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let mut found = Vec::new();
    for folder in ["src", "tests", "benches", "examples"] {
        files(&Path::new(ROOT).join(folder), &mut found);
    }
    assert!(found.len() > 50, "only {} files under {ROOT}", found.len());
    let tests: Vec<String> = found.iter().flat_map(test_files).collect();
    for source in &mut found {
        let inside = |path: &String| source.path.strip_prefix(path).is_some_and(is_module_end);
        if tests.iter().any(inside) {
            source.tests = whole();
        }
    }
    found
});

/// All of a file is test code.
fn whole() -> Vec<Range<usize>> {
    std::iter::once(0..usize::MAX).collect()
}

/// Where items stand that are compiled for tests only.
fn test_items(code: &str) -> impl Iterator<Item = Range<usize>> {
    code.match_indices("#[cfg(test)]").map(|(at, _)| {
        let item = &code[at..];
        let end = block_end(item).or_else(|| item.find(';')).unwrap_or(item.len());
        at..at + end
    })
}

/// Modules in files of their own that the source declares for tests only, as `src/store/tests`.
fn test_files(source: &Source) -> Vec<String> {
    let folder = source.path.trim_end_matches(".rs");
    let folder =
        ["/mod", "/lib", "/main"].iter().find_map(|end| folder.strip_suffix(end)).unwrap_or(folder);
    let items = test_items(&source.code).map(|item| &source.code[item]);
    let names = items.filter(|item| !item.contains('{')).filter_map(|item| item.split_once("mod "));
    names.map(|(_, name)| format!("{folder}/{}", name.trim())).collect()
}

/// Whether a path that went on like this is the module's file, or stands in its folder.
fn is_module_end(rest: &str) -> bool {
    rest == ".rs" || rest.starts_with('/')
}

/// Where the block of the item ends that the code begins with; `None` if it has none.
pub fn block_end(code: &str) -> Option<usize> {
    let (mut brackets, mut braces) = (0, 0);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if brackets == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' if braces == 1 => return Some(at),
            '}' => braces -= 1,
            _ => {}
        }
    }
    None
}

fn files(folder: &Path, found: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the package") {
        let path = entry.expect("an entry of the folder").path();
        if path.is_dir() {
            // A package apart builds in its own folder.
            if !path.ends_with("target") {
                files(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(ROOT).expect("below the root").to_string_lossy();
            let text = std::fs::read_to_string(&path).expect("a source in UTF-8");
            found.push(Source::new(&name.replace('\\', "/"), &text));
        }
    }
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn seen(piece: &str, visible: bool) -> String {
    match visible {
        true => piece.to_owned(),
        false => piece.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect(),
    }
}

/// What the text begins with, and how long that is.
fn token(text: &str, after_word: bool) -> (Kind, usize) {
    let first = text.chars().next().map_or(0, char::len_utf8);
    if text.starts_with("//") {
        (Kind::Comment, text.find('\n').unwrap_or(text.len()))
    } else if text.starts_with("/*") {
        (Kind::Comment, block_comment(text))
    } else if let Some(length) = raw_string(text).filter(|_| !after_word) {
        (Kind::Literal, length)
    } else if text.starts_with('"') {
        (Kind::Literal, closed(text, '"'))
    } else if text.starts_with('\'') {
        character(text).map_or((Kind::Code, first), |length| (Kind::Literal, length))
    } else {
        (Kind::Code, first)
    }
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        match rest.get(..2) {
            Some("/*") => (depth, at) = (depth + 1, at + 2),
            Some("*/") if depth == 1 => return at + 2,
            Some("*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    text.len()
}

fn raw_string(text: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| text.starts_with(prefix))?;
    let marks = text[prefix.len()..].bytes().take_while(|&b| b == b'#').count();
    let open = prefix.len() + marks;
    let inside = text[open..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(marks));
    Some(open + 1 + inside.find(&close)? + close.len())
}

fn closed(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal; `None` if the quote begins a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut after = text.char_indices().skip(1);
    match after.next()?.1 {
        '\\' => Some(closed(text, '\'')),
        _ => after.next().filter(|&(_, c)| c == '\'').map(|(at, _)| at + 1),
    }
}

#[test]
fn code_comments_and_literals_are_told_apart() {
    let text = [
        r#"let a = "// no \" comment"; // a "comment""#,
        r##"let b = r#"raw " {"#; let c: &'static str = for_r;"##,
        r#"let d = ['{', '\'']; /* x /* "y" */ "z" */ end"#,
    ];
    let source = Source::new("src/a.rs", &text.join("\n"));
    let literals: Vec<&str> = source.literals.iter().map(|at| &source.text[at.clone()]).collect();
    assert_eq!(literals, [r#""// no \" comment""#, r##"r#"raw " {"#"##, "'{'", r"'\''"]);
    assert!(!source.code.contains(['"', '{', '/']), "{}", source.code);
    assert!(source.code.contains("&'static str = for_r;") && source.code.contains(" end"));
    assert!(source.comments.contains(r#"// a "comment""#) && source.comments.contains(r#""z" */"#));
    assert_eq!([source.code.len(), source.comments.len()], [source.text.len(); 2]);
    assert_eq!(source.line_of(source.text.len()), 3);
}

#[test]
fn test_code_is_told_by_its_declarations() {
    let text = "fn a() {}\n#[cfg(test)]\npub(crate) mod scratch;\n#[cfg(test)]\nfn b() { c() }\n\
                fn d() {}\n#[cfg(test)]\nmod tests {\n    fn e() { f(); }\n}\nfn g() {}\n";
    let source = Source::new("src/store/mod.rs", text);
    let is_test = |name| source.says(name).all(|at| source.is_test(at));
    assert_eq!(["a", "c", "d", "f", "g"].map(is_test), [false, true, false, true, false]);
    assert_eq!(test_files(&source), ["src/store/scratch"]);
    let hook = Source::new("src/hook.rs", "#[cfg(test)]\nmod tests;");
    assert_eq!(test_files(&hook), ["src/hook/tests"]);
    assert!(TREE.iter().any(|file| file.path.starts_with("src/") && file.is_test(0)));
}
