//! Folders of manifests that a test may change.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

/// The path of a folder below `examples/`.
pub fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

/// A temporary folder that goes with the test.
pub struct Folder {
    folder: TempDir,
}

impl Folder {
    /// An empty folder.
    pub fn new() -> Result<Folder> {
        Ok(Folder { folder: tempfile::tempdir().context("cannot make a temporary folder")? })
    }

    /// A copy of the files of an example.
    pub fn copy_of(name: &str) -> Result<Folder> {
        let folder = Folder::new()?;
        for entry in std::fs::read_dir(example(name)).with_context(|| format!("no example {name}"))? {
            let path = entry?.path();
            std::fs::copy(&path, folder.path().join(path.file_name().unwrap_or_default()))?;
        }
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file the way that editors and deployment tools do: aside, then renamed into place.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let aside = self.path().join(format!(".{name}.new"));
        std::fs::write(&aside, text)?;
        std::fs::rename(&aside, self.path().join(name)).with_context(|| format!("cannot write {name}"))
    }

    /// Replaces a piece of text that must be in the file.
    pub fn replace(&self, name: &str, from: &str, to: &str) -> Result<()> {
        let text = std::fs::read_to_string(self.path().join(name))?;
        anyhow::ensure!(text.contains(from), "{name} does not hold `{from}`");
        self.write(name, &text.replace(from, to))
    }
}
