//! The engines of one handle. What one of them commits is no change that the file shows to the
//! others: they are told by their bells.

use std::sync::{Arc, Weak};

use parking_lot::RwLock;

use crate::engine::Engine;

#[derive(Default)]
pub(crate) struct Peers(RwLock<Vec<Weak<Engine>>>);

impl Peers {
    pub(crate) fn join(&self, engine: &Arc<Engine>) {
        let mut engines = self.0.write();
        engines.retain(|engine| engine.strong_count() > 0);
        engines.push(Arc::downgrade(engine));
    }

    /// Something was committed: everybody looks.
    pub(crate) fn ring(&self) {
        self.0.read().iter().filter_map(Weak::upgrade).for_each(|engine| engine.ring());
    }

    /// This engine committed something that another one may wait for: a lane or a slot is free.
    pub(crate) fn ring_others(&self, than: &Engine) {
        let engines = self.0.read();
        if engines.len() < 2 {
            return;
        }
        let others = engines.iter().filter_map(Weak::upgrade);
        others.filter(|engine| !std::ptr::eq(&**engine, than)).for_each(|engine| engine.ring());
    }
}
