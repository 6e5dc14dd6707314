//! A value and the path that leads to it, so that each refusal names its place.

use serde_json::Value;

use super::Refusal;

/// The longest id that is taken: longer than any that the API documents.
const MAX_ID: usize = 256;

pub struct Node<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Node<'a> {
    pub fn root(value: &'a Value) -> Self {
        Self { value, path: String::new() }
    }

    pub fn value(&self) -> &'a Value {
        self.value
    }

    pub fn refuse(&self, why: impl Into<String>) -> Refusal {
        let at = if self.path.is_empty() { "body" } else { &self.path };
        Refusal { at: at.to_owned(), why: why.into() }
    }

    /// A member of this object. The API leaves out what it has not, and so `null` is absent.
    pub fn get(&self, key: &str) -> Result<Option<Node<'a>>, Refusal> {
        let Value::Object(members) = self.value else {
            return Err(self.mismatch("an object"));
        };
        let member = members.get(key).filter(|value| !value.is_null());
        Ok(member.map(|value| Node { value, path: self.step(key) }))
    }

    /// A member that must be there.
    pub fn need(&self, key: &str) -> Result<Node<'a>, Refusal> {
        let missing = || Refusal { at: self.step(key), why: "missing".to_owned() };
        self.get(key)?.ok_or_else(missing)
    }

    /// The items of a member that may be absent.
    pub fn list(&self, key: &str) -> Result<Vec<Node<'a>>, Refusal> {
        self.get(key)?.map_or(Ok(Vec::new()), |node| node.items())
    }

    pub fn items(&self) -> Result<Vec<Node<'a>>, Refusal> {
        let Value::Array(items) = self.value else {
            return Err(self.mismatch("an array"));
        };
        let node = |(n, value)| Node { value, path: format!("{}[{n}]", self.path) };
        Ok(items.iter().enumerate().map(node).collect())
    }

    pub fn text(&self) -> Result<&'a str, Refusal> {
        self.value.as_str().ok_or_else(|| self.mismatch("a string"))
    }

    /// The text of a member that may be absent.
    pub fn text_of(&self, key: &str) -> Result<Option<&'a str>, Refusal> {
        self.get(key)?.map(|node| node.text()).transpose()
    }

    /// A string that can serve as an id: one word, neither empty nor without end.
    pub fn id(&self) -> Result<&'a str, Refusal> {
        let id = self.text()?;
        if id.is_empty() || id.len() > MAX_ID {
            return Err(self.refuse(format!("expected 1 to {MAX_ID} bytes, found {}", id.len())));
        }
        if id.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(self.refuse(format!("an id has no blanks, found \"{}\"", clip(id))));
        }
        Ok(id)
    }

    /// A whole number, written as one or as a string of digits (the API does both).
    pub fn number(&self) -> Result<i64, Refusal> {
        let number = match self.value {
            Value::String(digits) => digits.parse().ok(),
            other => other.as_i64(),
        };
        number.ok_or_else(|| self.mismatch("a whole number"))
    }

    fn step(&self, key: &str) -> String {
        let dot = if self.path.is_empty() { "" } else { "." };
        format!("{}{dot}{key}", self.path)
    }

    fn mismatch(&self, expected: &str) -> Refusal {
        let found = match self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => format!("\"{}\"", clip(text)),
            Value::Array(_) => "an array".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        self.refuse(format!("expected {expected}, found {found}"))
    }
}

/// Foreign text made fit for one line of a message to people.
pub fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        clipped.push_str("...");
    }
    clipped
}
