// SPDX-License-Identifier: MIT
//! request - the request block: how a tool asks a running program to attach.
//!
//! `include/corotracer/request.h` describes the block, the note through which the tool finds it, and
//! the order that the tool writes; `request_slow.h` describes attach, detach and adoption.  This is
//! the same in Rust.

use crate::attach;
use crate::order;
use crate::session::{ext_header, session, Session, ATTACH_DONE, ATTACH_LEFT, PROCESS};
use crate::sys;
use crate::wire::DETACH_GONE;
use std::cell::UnsafeCell;
use std::mem::size_of;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

const REQUEST_MAGIC: u64 = 0x3130_5145_5250_5443; // "CTPREQ01" in memory
const ANCHOR_MAGIC: u64 = 0x3143_4e41_5250_5443; // "CTPRANC1" in memory
const REQUEST_VERSION: u32 = 1;
const SHM_SIZE: usize = 1024;
const SOCK_SIZE: usize = 112;
const STATE_IDLE: u32 = 0;
const STATE_ATTACHED: u32 = 1;

/// Values of the lowest byte of `Request::why`: see request.h.
const WHY_NO_COROUTINE: u32 = 1;
const WHY_ATTACHED: u32 = 2;
pub(crate) const WHY_NO_ENVIRONMENT: u32 = 3;
pub(crate) const WHY_SECURE: u32 = 4;
pub(crate) const WHY_NOT_OPENED: u32 = 5;
pub(crate) const WHY_NOT_REGION: u32 = 6;
pub(crate) const WHY_VERSION: u32 = 7;
pub(crate) const WHY_NOT_MAPPED: u32 = 8;

/// What the tool writes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Order {
    number: u64,
    pub(crate) stations: u32,
    reserved: u32,
    shm: [u8; SHM_SIZE],
    sock: [u8; SOCK_SIZE],
    check: u64,
}

impl Order {
    const NONE: Order =
        Order { number: 0, stations: 0, reserved: 0, shm: [0; SHM_SIZE], sock: [0; SOCK_SIZE], check: 0 };

    /// FNV-1a over the order without its check.
    fn sum(&self) -> u64 {
        let numbers = [self.number.to_ne_bytes()];
        let words = [self.stations.to_ne_bytes(), self.reserved.to_ne_bytes()];
        let bytes = numbers.iter().flatten().chain(words.iter().flatten()).chain(&self.shm).chain(&self.sock);
        bytes.fold(0xcbf2_9ce4_8422_2325, |sum, b| (sum ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3))
    }

    pub(crate) fn shm_path(&self) -> &[u8] {
        text(&self.shm)
    }

    pub(crate) fn sock_path(&self) -> &[u8] {
        text(&self.sock)
    }
}

fn text(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len())]
}

#[repr(C)]
pub(crate) struct Request {
    magic: u64,
    version: u32,
    size: u32,
    gate: AtomicU32,
    state: AtomicU32,
    pid: AtomicU32,
    result: AtomicI32,
    handled: AtomicU64,
    region: AtomicU64,
    taker: AtomicU32,
    by_order: AtomicU32,
    sites: AtomicU32,
    why: AtomicU32,
    first: AtomicU64,
    reserved: [u64; 2],
    order: UnsafeCell<Order>,
}

// SAFETY: atomics, and `order`, which only the tool writes; a torn copy fails its check.
unsafe impl Sync for Request {}

pub(crate) static REQUEST: Request = Request {
    magic: REQUEST_MAGIC,
    version: REQUEST_VERSION,
    size: size_of::<Request>() as u32,
    gate: AtomicU32::new(0),
    state: AtomicU32::new(STATE_IDLE),
    pid: AtomicU32::new(0),
    result: AtomicI32::new(0),
    handled: AtomicU64::new(0),
    region: AtomicU64::new(0),
    taker: AtomicU32::new(0),
    by_order: AtomicU32::new(0),
    sites: AtomicU32::new(1),
    why: AtomicU32::new(WHY_NO_COROUTINE),
    first: AtomicU64::new(0),
    reserved: [0; 2],
    order: UnsafeCell::new(Order::NONE),
};

#[repr(C)]
struct Anchor {
    magic: u64,
    request: &'static Request,
}

/// The note leads to this.  Its name is in the note, and is hidden there.
#[used]
#[export_name = "corotracer_anchor_rust_0_1"]
static ANCHOR: Anchor = Anchor { magic: ANCHOR_MAGIC, request: &REQUEST };

/// Emit the ELF note: see CTP_REQUEST_NOTE in request.h.
#[inline(always)]
pub(crate) fn note() {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux", not(miri)))]
    // SAFETY: no instructions, only a section.
    unsafe {
        std::arch::asm!(
            ".hidden corotracer_anchor_rust_0_1",
            ".pushsection .note.corotracer,\"a?\",%note",
            ".balign 4",
            ".4byte 11, 8, 1",
            ".asciz \"corotracer\"",
            ".balign 4",
            ".8byte corotracer_anchor_rust_0_1 - .",
            ".popsection",
            options(nomem, nostack, preserves_flags)
        );
    }
}

// ---- the gate ---------------------------------------------------------------------

/// May an event have something to do?  Without the tool: one load.
#[inline(always)]
pub(crate) fn gate_is_open() -> bool {
    REQUEST.gate.load(Ordering::Relaxed) != 0
}

pub(crate) fn gate_open() {
    REQUEST.gate.store(1, Ordering::Relaxed);
}

fn order_number() -> u64 {
    // SAFETY: aligned; the tool may write it at any time.
    unsafe { ptr::addr_of!((*REQUEST.order.get()).number).read_volatile() }
}

/// Nothing to do at an event, unless an order has come meanwhile.
pub(crate) fn gate_close() {
    REQUEST.gate.store(0, Ordering::Relaxed);
    // (ctp-Q) pairs with the fence in the tool's request_write_order(): either this thread sees the
    // order, or the tool opens the gate after this thread has closed it.
    order::fence_full();
    if order_number() != REQUEST.handled.load(Ordering::Relaxed) {
        gate_open();
    }
}

// ---- orders -----------------------------------------------------------------------

/// A copy of the order; None if it is incomplete: the tool is writing it.
fn order_read() -> Option<Order> {
    // SAFETY: plain bytes; the copy is used only if its check is right.
    let order = unsafe { REQUEST.order.get().read_volatile() };
    let ends = order.shm[SHM_SIZE - 1] == 0 && order.sock[SOCK_SIZE - 1] == 0;
    (order.number != 0 && ends && order.check == order.sum()).then_some(order)
}

/// The order that attached the parent process, if this is a child that has not attached yet.
pub(crate) fn order_inherited() -> Option<Order> {
    if REQUEST.state.load(Ordering::Relaxed) != STATE_ATTACHED
        || REQUEST.by_order.load(Ordering::Relaxed) == 0
        || REQUEST.pid.load(Ordering::Relaxed) == std::process::id()
    {
        return None;
    }
    order_read().filter(|o| o.number == REQUEST.handled.load(Ordering::Relaxed))
}

/// The tag of the current region's site numbers, and the generation of the first session with it.
pub(crate) fn region_tag() -> (u32, u64) {
    (REQUEST.sites.load(Ordering::Relaxed), REQUEST.first.load(Ordering::Relaxed))
}

/// Say why the process is not attached, with an errno or 0.
pub(crate) fn why_set(why: u32, error: i32) {
    REQUEST.why.store(why | (error as u32) << 8, Ordering::Relaxed);
}

pub(crate) fn why() -> u32 {
    REQUEST.why.load(Ordering::Relaxed)
}

/// The session is published: say so to tools.
pub(crate) fn publish(s: &Session) {
    let info = s.info();
    why_set(WHY_ATTACHED, 0);
    REQUEST.by_order.store(u32::from(info.by_order), Ordering::Relaxed);
    REQUEST.region.store(info.header as u64, Ordering::Relaxed);
    REQUEST.pid.store(info.owner as u32, Ordering::Relaxed);
    REQUEST.state.store(STATE_ATTACHED, Ordering::Relaxed);
    gate_open();
}

/// Take the order if there is a new one.  Called by the one thread that is the taker.
fn order_take() -> Option<&'static Session> {
    let order = order_read()?; // else the gate stays open: look again at the next event
    let mut attached = None;
    if order.number != REQUEST.handled.load(Ordering::Relaxed) {
        let next = REQUEST.sites.load(Ordering::Relaxed) % 65535 + 1;
        let was = REQUEST.sites.swap(next, Ordering::Relaxed);
        let first = PROCESS.generations.load(Ordering::Relaxed) + 1;
        let first_was = REQUEST.first.swap(first, Ordering::Relaxed);
        match attach::attach_by_order(&order) {
            Ok(s) => {
                REQUEST.result.store(0, Ordering::Relaxed);
                attached = Some(s);
            }
            Err(why) => {
                REQUEST.sites.store(was, Ordering::Relaxed);
                REQUEST.first.store(first_was, Ordering::Relaxed);
                REQUEST.result.store(why, Ordering::Relaxed);
            }
        }
        REQUEST.handled.store(order.number, Ordering::Relaxed);
    }
    if attached.is_none() {
        gate_close();
    }
    attached
}

/// The gate is open and the program is not attached.  Returns the session if this thread attaches
/// the program or finds it attached.
#[cold]
pub(crate) fn serve() -> Option<&'static Session> {
    let _errno = sys::KeepErrno::new();
    let this = std::process::id();
    let taker = REQUEST.taker.load(Ordering::Relaxed);
    // A child may have inherited its parent's taker.  (ctp-F) pairs with the release below: a thread
    // that takes the next order sees what the last one did.
    if taker == this
        || REQUEST.taker.compare_exchange(taker, this, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        return None;
    }
    let s = match session() {
        Some(s) if s.generation.load(Ordering::Relaxed) != 0 => Some(s),
        _ => order_take(),
    };
    // (ctp-F) pairs with the acquire above.
    REQUEST.taker.store(0, Ordering::Release);
    s
}

// ---- detach -----------------------------------------------------------------------

impl Session {
    /// End the session if the collector asks for it.  True if the session has ended.
    pub(crate) fn has_left(&self) -> bool {
        let info = self.info();
        if info.features == 0 {
            return false;
        }
        let asked = ext_header(self.header()).detach.load(Ordering::Relaxed);
        if asked == 0 {
            return false;
        }
        let ours =
            self.state.compare_exchange(ATTACH_DONE, ATTACH_LEFT, Ordering::Relaxed, Ordering::Relaxed);
        if ours.is_err() {
            return true;
        }
        self.generation.store(0, Ordering::Relaxed);
        let never: *const AtomicU32 = &self.never_sleeping;
        self.sleeping.store(never as *mut AtomicU32, Ordering::Relaxed);
        self.sock_shutdown();
        REQUEST.region.store(0, Ordering::Relaxed);
        REQUEST.state.store(STATE_IDLE, Ordering::Relaxed);
        if asked == DETACH_GONE {
            attach::disown(true);
        }
        gate_close();
        true
    }
}
