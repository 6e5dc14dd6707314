//! Strict JSON: a key twice in one object, a NUL or deep nesting are refused, where the usual
//! reader would take the last one, keep it, or go on.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::node::clip;
use super::{MAX_BODY, Refusal};

/// The same limit that Lanebox has for payloads.
const MAX_DEPTH: usize = 64;

pub fn read(body: &[u8]) -> Result<Value, Refusal> {
    let refuse = |why: String| Refusal { at: "body".to_owned(), why };
    if body.len() > MAX_BODY {
        let why = format!("{} bytes; at most {MAX_BODY} are read", body.len());
        return Err(refuse(why));
    }
    let Json(document) = serde_json::from_slice(body).map_err(|error| refuse(error.to_string()))?;
    match first_fault(&document, 1) {
        Some(why) => Err(refuse(why)),
        None => Ok(document),
    }
}

/// Walks the document; the reader has bounded its depth, so this recursion is bounded too.
fn first_fault(value: &Value, depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return Some(format!("nested deeper than {MAX_DEPTH}"));
    }
    match value {
        Value::String(text) => nul_in("the string", text),
        Value::Array(items) => items.iter().find_map(|item| first_fault(item, depth + 1)),
        Value::Object(members) => members.iter().find_map(|(key, item)| {
            nul_in("the key", key).or_else(|| first_fault(item, depth + 1))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn nul_in(what: &str, text: &str) -> Option<String> {
    text.contains('\0').then(|| format!("{what} \"{}\" contains a NUL", clip(text)))
}

struct Json(Value);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor).map(Json)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number.map(Value::Number).ok_or_else(|| E::custom("a number without a value"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Json(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.contains_key(&key) {
                let why = format!("the key \"{}\" stands twice in one object", clip(&key));
                return Err(A::Error::custom(why));
            }
            let Json(value) = members.next_value()?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}
