//! The planted faults: each is named by a test, each scenario has a test that was seen to fail, and
//! the page of them is what they are.

#[path = "../rig/faults/named.rs"]
#[allow(dead_code, reason = "the rig runs what is only named here")]
mod named;
#[path = "../rig/faults/plant.rs"]
mod plant;
#[path = "../rig/faults/read.rs"]
mod read;
#[path = "../rig/faults/table.rs"]
mod table;

use std::collections::BTreeSet;

use crate::none;

#[test]
fn each_fault_is_named_by_a_test_and_each_named_one_is_there() {
    let (faults, tests) = (read::faults(), named::named());
    let there: BTreeSet<&str> = faults.iter().map(|fault| fault.name.as_str()).collect();
    let named: BTreeSet<&str> =
        tests.iter().flat_map(|test| test.faults.iter().map(String::as_str)).collect();
    let unnamed = there.difference(&named).map(|name| format!("no test names the fault {name}"));
    let unknown = named.difference(&there).map(|name| format!("there is no fault {name}"));
    none(unnamed.chain(unknown).collect());
}

#[test]
fn each_fault_has_its_place_in_the_source() {
    if let Err(why) = plant::all(&read::faults()) {
        panic!("{why}");
    }
}

#[test]
fn each_scenario_has_a_test_that_names_a_fault() {
    let tests = named::named();
    let all: BTreeSet<&String> = tests.iter().flat_map(|test| &test.scenarios).collect();
    let proved = tests.iter().filter(|test| !test.faults.is_empty());
    let proved: BTreeSet<&String> = proved.flat_map(|test| &test.scenarios).collect();
    assert!(all.len() > 150, "only {} scenarios have a test", all.len());
    none(all.difference(&proved).map(|id| format!("no test of {id} names a fault")).collect());
}

#[test]
fn the_page_shows_them() {
    let page = std::fs::read_to_string(format!("{}/{}", crate::ROOT, table::PAGE));
    let written = table::page(&read::faults(), &named::named());
    assert!(page.expect("the page") == written, "it is out of date: cargo rig page");
}
