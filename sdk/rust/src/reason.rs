// SPDX-License-Identifier: MIT
//! reason - why a coroutine waits.

use crate::wire::*;

/// Why a future waits.  The same words in every trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Reason {
    /// Not told.
    Unknown = REASON_UNKNOWN as u8,
    /// For something to read.
    IoRead = REASON_IO_READ as u8,
    /// For room to write.
    IoWrite = REASON_IO_WRITE as u8,
    /// For a connection to accept.
    Accept = REASON_ACCEPT as u8,
    /// For a connection to be made.
    Connect = REASON_CONNECT as u8,
    /// For a time.
    Timer = REASON_TIMER as u8,
    /// For a lock.
    Mutex = REASON_MUTEX as u8,
    /// For a permit.
    Semaphore = REASON_SEMAPHORE as u8,
    /// For room in a channel.
    ChannelSend = REASON_CHANNEL_SEND as u8,
    /// For something in a channel.
    ChannelRecv = REASON_CHANNEL_RECV as u8,
    /// For another task.
    Join = REASON_JOIN as u8,
    /// For nothing: it lets others go first.
    Yield = REASON_YIELD as u8,
    /// For a signal.
    Signal = REASON_SIGNAL as u8,
    /// For something of the program's own.
    User = REASON_USER as u8,
}

// A reason that the wire gets needs a word here.
const _: () = assert!(Reason::User as u32 + 1 == REASONS);
