//! Every kind of blow falls, in every mode that gets any, and the same seed deals the same.

use super::super::super::log::Blow;
use super::super::pace_ms;
use super::super::plan::*;

fn count(blows: &[Planned], what: Blow, moment: Moment) -> usize {
    blows.iter().filter(|blow| **blow == Planned { what, moment }).count()
}

#[test]
fn kills_are_dealt_in_full_and_each_act_sees_the_worst_moment() {
    for kills in 1..20 {
        for acts in 1..4 {
            let dealt = deal(kills, acts, 7);
            let all = dealt.concat();
            let of_receiver = count(&all, Blow::Kill, HALFWAY);
            assert_eq!(
                all.iter().filter(|blow| blow.what == Blow::Kill).count(),
                kills + of_receiver
            );
            assert_eq!(of_receiver, acts.min(kills));
            for blows in dealt.iter().take(kills) {
                assert!(count(blows, Blow::Kill, AFTER_ACCEPT) >= 1, "{blows:?}");
            }
            for moment in [THINKING, AFTER_ACCEPT, AFTER_RECORD] {
                assert_eq!(count(&all, Blow::Freeze, moment), 1);
            }
        }
    }
}

#[test]
fn eight_kills_over_three_acts_meet_every_moment() {
    let all = deal(8, 3, 1).concat();
    for moment in [AFTER_CLAIM, AFTER_INTENT, AFTER_ACCEPT, AFTER_RECORD] {
        assert!(count(&all, Blow::Kill, moment) >= 1, "{moment:?}");
    }
}

#[test]
fn the_receiver_is_killed_early_in_its_act() {
    for seed in 0..50 {
        let blows = deal(9, 1, seed).concat();
        assert!(blows[..2].iter().any(|blow| blow.moment == HALFWAY), "{blows:?}");
    }
}

#[test]
fn the_seed_decides_the_order_and_nothing_else() {
    assert_eq!(deal(9, 3, 5), deal(9, 3, 5));
    let orders: Vec<_> = (0..20).map(|seed| deal(9, 1, seed)).collect();
    assert!(orders.iter().any(|order| *order != orders[0]));
}

#[test]
fn no_kills_are_no_blows() {
    assert_eq!(deal(0, 3, 1), vec![Vec::new(); 3]);
    assert_eq!(deal(5, 0, 1), Vec::<Vec<Planned>>::new());
}

#[test]
fn traffic_lasts_as_long_as_the_blows_take() {
    let kill = Planned { what: Blow::Kill, moment: AFTER_CLAIM };
    assert_eq!(pace_ms(&[], 10), 0);
    assert_eq!(pace_ms(&[kill, kill], 10), 80);
    assert_eq!(pace_ms(&[kill], 0), 400);
}
