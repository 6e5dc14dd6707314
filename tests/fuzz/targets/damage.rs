//! Any damage: bytes say what is overwritten, cut off and put beside a sound file. It is refused,
//! or it opens, and then the doctor, the lists and a publish answer or say what is wrong.

#![no_main]

use lanebox::people::Filter;
use lanebox::{Error, Lanebox, NewEvent};
use lanebox_fuzz::{Bytes, FIXTURE, place, put};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let (_dir, path) = place();
    let beside = |end: &str| path.with_file_name(format!("crm.db{end}"));
    match bytes.byte() % 8 {
        0 => put(&beside("-wal"), bytes.piece()),
        1 => put(&beside("-journal"), bytes.piece()),
        _ => {}
    }
    put(&path, &damaged(&mut bytes));
    match Lanebox::builder(&path).must_exist().open() {
        Ok(lanebox) => visit(&lanebox),
        Err(error) => says_what_to_do(&error),
    }
});

fn damaged(bytes: &mut Bytes<'_>) -> Vec<u8> {
    let mut file = FIXTURE.to_vec();
    while !bytes.is_empty() {
        // Most of what decides stands in the heads of the first pages.
        let end = if bytes.byte() % 4 == 0 { file.len() } else { file.len().min(16 << 12) };
        let at = bytes.below(end.max(1));
        match bytes.byte() % 8 {
            0 => file.truncate(at),
            1 => file.extend_from_slice(bytes.piece()),
            2 => file.iter_mut().skip(at).take(4_096).for_each(|byte| *byte = 0),
            3 => {
                let page = at & !4_095;
                file.iter_mut().skip(page).zip(bytes.piece()).for_each(|(byte, new)| *byte = *new);
            }
            _ => file.iter_mut().skip(at).zip(bytes.piece()).for_each(|(byte, new)| *byte = *new),
        }
    }
    file
}

fn visit(lanebox: &Lanebox) {
    let all = Filter::new().limit(200);
    let ill = heard(lanebox.doctor()).is_none_or(|found| !found.sound);
    heard(lanebox.jobs(&all));
    heard(lanebox.lanes(&all));
    heard(lanebox.sends(&all));
    heard(lanebox.notices(&all));
    heard(lanebox.consumers());
    heard(lanebox.stats());
    let events = heard(lanebox.events(&all)).map(|page| page.rows).unwrap_or_default();
    for id in events.iter().filter_map(|event| event.id).take(3) {
        heard(lanebox.trace(&id.to_string()));
    }
    let event = NewEvent::new("acme", "message.received").subject("+49151");
    let published = lanebox.publish(event);
    match published {
        Ok(published) => {
            let found = lanebox.event(published.id());
            assert!(ill || found.is_ok(), "it was acknowledged: {found:?}");
        }
        Err(Error::Sqlite(error)) => assert!(ill, "{error}"),
        Err(error) => says_what_to_do(&error),
    }
}

fn heard<T>(answer: Result<T, Error>) -> Option<T> {
    answer.inspect_err(says_what_to_do).ok()
}

fn says_what_to_do(error: &Error) {
    let vague = matches!(error, Error::Defect { .. } | Error::Sqlite(_));
    assert!(!vague && error.to_string().len() > 20, "{error:?}");
}
