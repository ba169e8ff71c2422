// SPDX-License-Identifier: MIT
//! sys - empty functions for platforms without tracing; they only have to compile.

use std::fs::File;
use std::io;
use std::os::raw::c_void;

pub(crate) struct KeepErrno;

impl KeepErrno {
    pub(crate) fn new() -> KeepErrno {
        KeepErrno
    }
}

pub(crate) struct Identity {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) is_socket: bool,
}

pub(crate) fn thread_id() -> u64 {
    0
}

pub(crate) fn clock_ns() -> u64 {
    0
}

pub(crate) fn nanosleep(_ns: i64) {}

pub(crate) fn populate(_at: *mut u8, _size: usize) -> bool {
    false
}

pub(crate) fn reserve(_file: &File, _offset: u64, _len: u64) -> bool {
    false
}

pub(crate) fn open_region(_path: &[u8]) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn identify(_file: &File) -> io::Result<Identity> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn identify_fd(_fd: i32) -> Option<Identity> {
    None
}

pub(crate) fn connect_unix(_path: &[u8]) -> Result<i32, i32> {
    Err(0)
}

pub(crate) fn send_byte(_fd: i32, _byte: u8) -> bool {
    false
}

pub(crate) fn key_set(_key: u32, _value: *const c_void) {}
