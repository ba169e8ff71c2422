// SPDX-License-Identifier: MIT
//! inherit - the descriptors that the collector leaves open in a program that it launches.
//!
//! `include/corotracer/inherit.h` describes them.  The program may close a descriptor and reuse its
//! number at any time, so each use duplicates it, checks the duplicate and closes it afterwards.

use crate::sys;
use crate::wire::ENV_FDS;
use std::fs::File;
use std::os::unix::io::AsRawFd;

const HELLO_MAGIC: u64 = 0x314f_4c4c_4850_5443; // "CTPHLLO1" in memory
const HELLO_CONNECT: u32 = 1;
const HELLO_FAILED: u32 = 2;

/// One descriptor; inode 0: none.
#[derive(Clone, Copy)]
pub(crate) struct Inherited {
    fd: i32,
    dev: u64,
    ino: u64,
}

impl Inherited {
    fn is(&self, fd: i32) -> bool {
        self.ino != 0 && sys::identify_fd(fd).map_or(false, |id| id.dev == self.dev && id.ino == self.ino)
    }

    /// A duplicate, or None if the program has closed or reused the descriptor.
    pub(crate) fn open(&self) -> Option<File> {
        // Closing a duplicate of another file would release the program's locks on that file.
        if !self.is(self.fd) {
            return None;
        }
        let file = sys::duplicate(self.fd)?;
        self.is(file.as_raw_fd()).then_some(file)
    }

    /// Connect through the door, without blocking.
    pub(crate) fn connect(&self) -> Option<i32> {
        let door = self.open()?;
        let (ours, theirs) = sys::socket_pair()?;
        let sent = sys::send_with(&door, &hello(HELLO_CONNECT, 0), Some(&theirs));
        sent.then(|| sys::duplicate(ours.as_raw_fd())).flatten().map(sys::into_fd)
    }

    /// Tell the collector why this process is not traced, if it can be told.
    pub(crate) fn report(&self, why: u32) {
        if let Some(door) = self.open() {
            sys::send_with(&door, &hello(HELLO_FAILED, why), None);
        }
    }
}

/// `struct ctp_hello`.
fn hello(kind: u32, why: u32) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&HELLO_MAGIC.to_ne_bytes());
    bytes[8..12].copy_from_slice(&kind.to_ne_bytes());
    bytes[12..16].copy_from_slice(&why.to_ne_bytes());
    bytes[16..20].copy_from_slice(&std::process::id().to_ne_bytes());
    bytes
}

/// The next hexadecimal number, which a colon ends.
fn number(text: &mut &[u8]) -> Option<u64> {
    let end = text.iter().position(|c| *c == b':')?;
    let digits = std::str::from_utf8(&text[..end]).ok()?;
    *text = &text[end + 1..];
    u64::from_str_radix(digits, 16).ok()
}

fn parse(text: &mut &[u8]) -> Option<Inherited> {
    let (fd, dev, ino) = (number(text)?, number(text)?, number(text)?);
    Some(Inherited { fd: i32::try_from(fd).ok()?, dev, ino })
}

/// The region and the door, if `CTP_FDS` is for the region at `path`.
pub(crate) fn find(path: &[u8]) -> Option<(Inherited, Inherited)> {
    let value = sys::env(ENV_FDS)?;
    let mut text = &value[..];
    let both = (parse(&mut text)?, parse(&mut text)?);
    (text == path).then_some(both)
}
