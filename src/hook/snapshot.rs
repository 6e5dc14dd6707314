//! A short list that many read and few change: a reader keeps the list that it took.

use std::sync::Arc;

use parking_lot::RwLock;

/// No foreign code runs under the lock, not even a destructor: it could come back for the lock.
pub(super) struct Snapshot<T> {
    list: RwLock<Arc<[Arc<T>]>>,
}

impl<T> Default for Snapshot<T> {
    fn default() -> Self {
        Snapshot { list: RwLock::new(Arc::new([])) }
    }
}

impl<T> Snapshot<T> {
    /// The list as it is now; later changes do not touch it.
    pub(super) fn take(&self) -> Arc<[Arc<T>]> {
        Arc::clone(&self.list.read())
    }

    /// Inserts behind all entries that go before the new one; the list must be sorted that way.
    pub(super) fn insert(&self, new: T, goes_before: impl Fn(&T, &T) -> bool) {
        let new = Arc::new(new);
        let mut list = self.list.write();
        let place = list.partition_point(|there| goes_before(there, &new));
        let (front, back) = list.split_at(place);
        *list = front.iter().chain([&new]).chain(back).cloned().collect();
    }

    /// Removes the entries that match; `false` if there are none.
    pub(super) fn remove(&self, matches: impl Fn(&T) -> bool) -> bool {
        let mut list = self.list.write();
        if !list.iter().any(|entry| matches(entry)) {
            return false;
        }
        let rest = list.iter().filter(|entry| !matches(entry)).cloned().collect();
        let old = std::mem::replace(&mut *list, rest);
        drop(list);
        drop(old);
        true
    }
}
