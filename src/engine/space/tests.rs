//! Who waited for room on the disk is woken when there is some again.

use super::SpaceWatch;
use crate::engine::reaper::tests::engine;
use crate::env::Room;
use crate::store::ledger::tests::world::World;

const GIB: u64 = 1 << 30;

// fault: room-wakes-nobody
#[test]
fn e117_when_the_disk_has_room_again_somebody_looks_for_what_waited() {
    let w = World::new();
    let engine = engine(&w);
    let mut watch = SpaceWatch::default();
    let mut rings = |free: u64| {
        engine.desk.lock().rung = false;
        w.store.pretend_room(Some(Room { free, total: 100 * GIB }));
        watch.step(&engine).expect("a look");
        engine.desk.lock().rung
    };
    assert!(!rings(GIB), "there was room all the time");
    assert!(!rings(GIB / 64));
    assert!(rings(GIB));
    assert!(!rings(GIB), "once");
}
