// SPDX-License-Identifier: MIT
//! reason - why a coroutine is suspended.

use crate::wire::*;

/// Why a future is suspended.  Every trace uses the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Reason {
    /// No reason was given.
    Unknown = REASON_UNKNOWN as u8,
    /// Data to read.
    IoRead = REASON_IO_READ as u8,
    /// Room to write.
    IoWrite = REASON_IO_WRITE as u8,
    /// A connection to accept.
    Accept = REASON_ACCEPT as u8,
    /// A connection to be established.
    Connect = REASON_CONNECT as u8,
    /// A point in time.
    Timer = REASON_TIMER as u8,
    /// A lock.
    Mutex = REASON_MUTEX as u8,
    /// A permit of a semaphore.
    Semaphore = REASON_SEMAPHORE as u8,
    /// Room in a channel.
    ChannelSend = REASON_CHANNEL_SEND as u8,
    /// A message in a channel.
    ChannelRecv = REASON_CHANNEL_RECV as u8,
    /// The end of another task.
    Join = REASON_JOIN as u8,
    /// Nothing: the future yields to others.
    Yield = REASON_YIELD as u8,
    /// A signal.
    Signal = REASON_SIGNAL as u8,
    /// A reason that the program defines.
    User = REASON_USER as u8,
}

// A reason that is added to the wire format must be added here, too.
const _: () = assert!(Reason::User as u32 + 1 == REASONS);
