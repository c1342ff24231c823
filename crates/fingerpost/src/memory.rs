//! Memory that is given back to the system.
//!
//! A zone of a million records is one block of 30 MB, and reading it takes as much again for a
//! moment. The GNU allocator takes large blocks from the system and returns them as they are freed,
//! but after it has seen one go it keeps blocks of that size for later, up to 32 MiB: an `up` that
//! has read such a file three times would hold three times the memory that it uses. Where that
//! limit is set by the program it stays where it is. Other allocators return large blocks anyway.

/// Blocks from this size on go back to the system when they are freed.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 1 << 20;

/// Makes the allocator return large blocks to the system, from now on. To be called first.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code)]
pub fn return_large_blocks() {
    // SAFETY: it sets a number of the allocator, under the allocator's own lock.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
}

/// Makes the allocator return large blocks to the system, from now on. To be called first.
#[cfg(not(target_env = "gnu"))]
pub fn return_large_blocks() {}
