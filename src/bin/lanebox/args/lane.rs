//! A lane as people name it: by its name, or as a table shows it.

use std::convert::Infallible;
use std::str::FromStr;

use lanebox::people::Filter;

/// Which lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneArg {
    Name(String),
    Number(String),
}

impl FromStr for LaneArg {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<LaneArg, Infallible> {
        // What is shown of a name is masked, so its number says which lane it is.
        let is_number = |no: &str| no.parse().is_ok_and(|no: i64| no >= 0);
        Ok(match text.rsplit_once('~') {
            Some((shown, no))
                if is_number(no) && (shown.contains('…') || shown == "(forgotten)") =>
            {
                LaneArg::Number(no.to_owned())
            }
            _ => LaneArg::Name(text.to_owned()),
        })
    }
}

impl LaneArg {
    /// Narrows a list to this lane, if there is one.
    pub fn narrow(lane: Option<&LaneArg>, filter: Filter) -> Filter {
        match lane {
            None => filter,
            Some(LaneArg::Name(name)) => filter.lane(name),
            Some(LaneArg::Number(no)) => filter.lane_no(no),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_named_or_copied_from_a_table() {
        let lane = |text: &str| text.parse::<LaneArg>().expect("never fails");
        for shown in ["+49…78~12", "echo/a…@….com~12", "…~12", "(forgotten)~12"] {
            assert_eq!(lane(shown), LaneArg::Number("12".to_owned()), "{shown}");
        }
        for name in ["+4915112345678", "12", "~12", "ann~12", "+49…78", "+49…78~", "…~-1", ""]
        {
            assert_eq!(lane(name), LaneArg::Name(name.to_owned()), "{name}");
        }
    }
}
