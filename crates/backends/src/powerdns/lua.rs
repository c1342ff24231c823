//! Lua records from a typed tree.
