//! A payload as a flat map of strings, which is what a message template can use.

use std::collections::BTreeMap;

use serde_json::Value;

/// Nested names are joined by dots. Null and empty containers are empty strings: a template that
/// names them finds a key.
pub(super) fn flatten(payload: &Value) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    match payload {
        Value::Object(members) => {
            for (name, value) in members {
                put(&mut fields, name.clone(), value);
            }
        }
        // A unit struct: an event that says all by its name.
        Value::Null => {}
        other => put(&mut fields, "value".to_owned(), other),
    }
    fields
}

fn put(fields: &mut BTreeMap<String, String>, key: String, value: &Value) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                put(fields, format!("{key}.{name}"), value);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                put(fields, format!("{key}.{index}"), value);
            }
        }
        Value::Null | Value::Object(_) | Value::Array(_) => {
            fields.insert(key, String::new());
        }
        Value::String(text) => {
            fields.insert(key, text.clone());
        }
        Value::Bool(_) | Value::Number(_) => {
            fields.insert(key, value.to_string());
        }
    }
}
