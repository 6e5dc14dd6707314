//! A body as people give it: as an argument, from a file (`@file`), or from stdin (`-`).

use std::fs::File;
use std::io::Read;

use anyhow::{Context, bail};

/// Where a body comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    Text(String),
    File(String),
    Stdin,
}

impl std::str::FromStr for Body {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Body, Self::Err> {
        Ok(match (text, text.strip_prefix('@')) {
            ("-", _) => Body::Stdin,
            (_, Some(path)) => Body::File(path.to_owned()),
            _ => Body::Text(text.to_owned()),
        })
    }
}

/// The text of a body of at most `most` bytes, never cut; `{}` if none was given.
pub fn read(body: Option<&Body>, most: usize) -> anyhow::Result<String> {
    match body {
        None => Ok("{}".to_owned()),
        Some(Body::Text(text)) => Ok(text.clone()),
        Some(Body::Stdin) => bounded(std::io::stdin().lock(), most).context("the body from stdin"),
        Some(Body::File(path)) => {
            let file = File::open(path).with_context(|| format!("{path}; nothing was stored"))?;
            bounded(file, most).with_context(|| path.clone())
        }
    }
}

fn bounded(from: impl Read, most: usize) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let bound = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    from.take(bound).read_to_end(&mut bytes).context("it cannot be read; nothing was stored")?;
    if bytes.len() > most {
        bail!("it is larger than {most} bytes; it was not cut and nothing was stored");
    }
    let text = String::from_utf8(bytes).context("it is not UTF-8 text; nothing was stored")?;
    // A file or a shell's here-text ends with a line end that is not part of the body.
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_an_argument_a_file_or_stdin() {
        let body = |text: &str| text.parse::<Body>().expect("never fails");
        assert_eq!(body("-"), Body::Stdin);
        assert_eq!(body("@a.json"), Body::File("a.json".to_owned()));
        assert_eq!(body("{}"), Body::Text("{}".to_owned()));
    }

    #[test]
    fn what_is_too_large_or_no_text_is_refused_whole() {
        assert_eq!(bounded(&b"{}\r\n"[..], 4).expect("text"), "{}");
        let large = bounded(&b"12345"[..], 4).expect_err("too large");
        assert!(large.to_string().contains("larger than 4 bytes"), "{large}");
        let binary = bounded(&b"\xff\xfe"[..], 4).expect_err("no text");
        assert!(binary.to_string().contains("UTF-8"), "{binary}");
    }
}
