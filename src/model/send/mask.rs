//! How a recipient looks wherever people look: enough to recognise one, not enough to write to one.

/// Longest last part of a domain that is shown.
const MOST_OF_A_DOMAIN: usize = 6;

/// The mask of a phone number, an address or a handle: how people see a contact.
///
/// ```
/// assert_eq!(lanebox::people::mask("+4915112345678"), "+49…78");
/// ```
pub fn mask(recipient: &str) -> String {
    let clean: Vec<char> = recipient.trim().chars().filter(|c| !c.is_control()).collect();
    let text: String = clean.iter().collect();
    match text.rsplit_once('@') {
        Some((name, domain)) if !name.is_empty() && !domain.is_empty() => {
            let last = domain.rsplit_once('.').map_or("", |(_, last)| last);
            match last.chars().count() {
                1..=MOST_OF_A_DOMAIN => format!("{}…@….{last}", first(name)),
                _ => format!("{}…@…", first(name)),
            }
        }
        // Ends of something short would give most of it away.
        _ if clean.len() < 8 => "…".to_owned(),
        _ => {
            let head: String = clean[..3].iter().collect();
            let tail: String = clean[clean.len() - 2..].iter().collect();
            format!("{head}…{tail}")
        }
    }
}

fn first(text: &str) -> String {
    text.chars().take(1).collect()
}

#[cfg(test)]
mod tests {
    use super::mask;
    use proptest::prelude::*;

    #[test]
    fn people_recognise_it_and_nobody_can_write_to_it() {
        assert_eq!(mask("+4915123456789"), "+49…89");
        assert_eq!(mask("ann.smith@example.com"), "a…@….com");
        assert_eq!(mask("@handle"), "…");
        assert_eq!(mask("@a_long_handle"), "@a_…le");
        assert_eq!(mask(""), "…");
        assert_eq!(mask("محمد@مثال.إختبار"), "م…@….إختبار");
        assert_eq!(mask("root@localhost"), "r…@…");
    }

    proptest! {
        #[test]
        fn no_mask_contains_its_recipient(recipient in "[a-z0-9+@.]{2,40}") {
            prop_assert!(!mask(&recipient).contains(&recipient));
        }

        #[test]
        fn no_mask_has_a_control_character(recipient in ".*") {
            prop_assert!(!mask(&recipient).chars().any(char::is_control));
        }
    }
}
