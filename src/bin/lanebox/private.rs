//! Directories that nobody else may read: messages are in them.

use std::fs::DirBuilder;

/// Makes directories of their owner alone.
pub fn private() -> DirBuilder {
    #[cfg(unix)]
    {
        let mut builder = DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
    }
    #[cfg(not(unix))]
    DirBuilder::new()
}
