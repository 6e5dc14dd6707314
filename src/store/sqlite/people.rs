//! What people see and order, handed to the pool of readers or to the writer.

use super::{SqliteStore, audit};
use crate::error::Result;
use crate::store::people::{Finding, People};

impl People for SqliteStore {
    fn audit(&self) -> Result<Vec<Finding>> {
        self.read(audit::audit)
    }
}
