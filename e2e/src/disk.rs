//! A small disk that can be filled and made read-only.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use tempfile::TempDir;

use crate::call;

/// The file that fills the disk.
const FILLING: &str = "filling";

/// A file system of its own, in memory; it goes with the value. Mounting it takes root.
pub struct Disk {
    folder: TempDir,
}

impl Disk {
    /// A disk of so many KiB.
    pub fn new(size: usize) -> Result<Disk> {
        let disk = Disk { folder: tempfile::tempdir()? };
        let options = format!("size={size}k");
        mount(&["-t", "tmpfs", "-o", &options, "tmpfs", &disk.text()])?;
        Ok(disk)
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A folder on it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Fills it to the last octet.
    pub fn fill(&self) -> Result<()> {
        let mut file = fs::File::create(self.join(FILLING))?;
        while file.write(&[0; 1024]).is_ok() {}
        Ok(())
    }

    /// Makes room again.
    pub fn empty(&self) -> Result<()> {
        Ok(fs::remove_file(self.join(FILLING))?)
    }

    /// Makes it read-only, which takes that no process has a file open for writing; or writable again.
    pub fn set_read_only(&self, read_only: bool) -> Result<()> {
        let options = if read_only { "remount,ro" } else { "remount,rw" };
        mount(&["-o", options, &self.text()])
    }

    fn text(&self) -> String {
        self.path().display().to_string()
    }
}

fn mount(arguments: &[&str]) -> Result<()> {
    let output = call("mount", "mount", arguments)?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cannot mount a file system, which needs root: {text}");
    Ok(())
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A process that is still being killed may have a file open.
        let _ = call("umount", "mount", &["--lazy", &self.text()]);
    }
}
