// SPDX-License-Identifier: MIT
//! session - the state that a process shares with its collector, and the rules to access it.
//!
//! The session is in a page that the kernel wipes in a forked child: there the generation is 0, no
//! thread's ticket matches, and nothing is written.  The thread that attaches fills the session in
//! and publishes it by its generation.  The session is never unmapped while the process runs, so no
//! thread can use memory that is not mapped.

use crate::inherit::Inherited;
use crate::lane::Spare;
use crate::order;
use crate::pool::Arena;
use crate::sys;
use crate::wire::{ExtHeader, ExtLanes, Header, Station, EXT_HEADER_OFFSET, EXT_LANES_OFFSET};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Values of `Session::state`.
pub(crate) const ATTACH_NEVER: u32 = 0; // also: in a child, after the fork wiped the page
pub(crate) const ATTACH_BUSY: u32 = 1; // a thread is attaching
pub(crate) const ATTACH_DONE: u32 = 2;
pub(crate) const ATTACH_FAILED: u32 = 3; // no collector, or an unsupported one
pub(crate) const ATTACH_LEFT: u32 = 4; // detached, or not yet the session of the process

/// Written once, before the generation is published; then read-only.  All zero is a valid value.
#[derive(Clone, Copy)]
pub(crate) struct Info {
    pub(crate) header: *const Header,
    pub(crate) lanes: *const ExtLanes, // null: use stations
    pub(crate) nr_stations: u32,
    pub(crate) features: u32,
    pub(crate) counter_usable: bool,
    pub(crate) clock_published: bool,
    pub(crate) base_ticks: u64, // the pair from which the counter's rate is measured
    pub(crate) base_ns: u64,
    pub(crate) pair_ticks: u64, // the shortest time to read clock and counter together
    pub(crate) lane_pool: Arena,
    pub(crate) chunk_pool: Arena,
    pub(crate) life_pool: Arena,
    pub(crate) site_pool: Arena,
    pub(crate) lane_chunks: u32,
    pub(crate) on_full: u32,
    pub(crate) block_ms: u32,
    pub(crate) seen_chunks: *const std::sync::atomic::AtomicU8, // by number: pages are mapped here
    pub(crate) spares: *const Spare, // lanes of threads that have ended: see lane.rs
    pub(crate) nr_spares: usize,
    pub(crate) shm_dev: u64,
    pub(crate) shm_ino: u64,
    pub(crate) shm_path: *const Vec<u8>, // leaked: the environment may change later
    pub(crate) sock_path: *const Vec<u8>,
    pub(crate) thread_key: u32,
    pub(crate) has_key: bool,
    pub(crate) by_order: bool, // attached by a request: see request.rs
    pub(crate) owner: u64,     // pid: marks the coroutines of this process
    pub(crate) first: u64,     // generation of the first session with this region
    pub(crate) site_tag: u32,  // upper half of the cached numbers of this region's sites
    // Descriptors that the collector left open in this process.
    pub(crate) region_fd: Inherited,
    pub(crate) door: Inherited,
}

/// One per process.  All zero: not attached, or wiped by a fork.
pub(crate) struct Session {
    pub(crate) generation: AtomicU64,
    /// The flag that the collector sets before it sleeps.
    pub(crate) sleeping: AtomicPtr<AtomicU32>,
    pub(crate) state: AtomicU32,
    /// Always 0; `sleeping` points to it when no wake-up can be sent.
    pub(crate) never_sleeping: AtomicU32,
    pub(crate) sock: AtomicI32,
    pub(crate) renewing: AtomicU32,
    pub(crate) renewals: AtomicU32,
    /// The identity of the socket: the program may close it and reuse the descriptor number.
    pub(crate) sock_dev: AtomicU64,
    pub(crate) sock_ino: AtomicU64,
    /// When the kernel last refused memory for a pool.
    pub(crate) refused_ns: AtomicU64,
    /// 1: the collector does not issue membarriers for this process, or not yet.
    pub(crate) needs_fence: AtomicU32,
    // While the state is ATTACH_BUSY: see later.rs.
    pub(crate) busy_ns: AtomicU64,        // start time
    pub(crate) untraced: AtomicU64,       // transitions that could not be written, to deliver
    pub(crate) untraced_marks: AtomicU64, // other events that could not be written, to deliver
    pub(crate) later: AtomicU64,          // coroutines that were created meanwhile
    pub(crate) info: UnsafeCell<Info>,
}

// SAFETY: atomics, and `info`, which one thread writes before the generation is published.
unsafe impl Sync for Session {}

impl Session {
    /// The caller has seen a nonzero generation, or runs after a thread that has.
    #[inline(always)]
    pub(crate) fn info(&self) -> &Info {
        // SAFETY: not written any more; all zero, if a fork wiped the page, is valid.
        unsafe { &*self.info.get() }
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: a published session has a region, which stays mapped.
        unsafe { &*self.info().header }
    }

    pub(crate) fn station(&self, index: u32) -> *const Station {
        // SAFETY: the caller checked index < nr_stations, and the file has at least that many
        // stations.
        unsafe { self.info().header.add(1).cast::<Station>().add(index as usize) }
    }

    pub(crate) fn lanes(&self) -> &ExtLanes {
        debug_assert!(!self.info().lanes.is_null());
        // SAFETY: the callers checked that the collector offers lanes.
        unsafe { &*self.info().lanes }
    }
}

/// The extension header of the region; valid only if its magic matches.
pub(crate) fn ext_header(header: &Header) -> &ExtHeader {
    // SAFETY: inside the header's reserved bytes, aligned, and made of atomics only.
    unsafe { &*(header as *const Header).cast::<u8>().add(EXT_HEADER_OFFSET).cast() }
}

pub(crate) fn ext_lanes(header: &Header) -> &ExtLanes {
    // SAFETY: as above.
    unsafe { &*(header as *const Header).cast::<u8>().add(EXT_LANES_OFFSET).cast() }
}

/// State that a forked child inherits.
pub(crate) struct Process {
    pub(crate) session: AtomicPtr<Session>, // null until the first attach
    pub(crate) generations: AtomicU64,      // sessions so far, including those of the parents
    pub(crate) map: AtomicPtr<u8>,          // the latest mapping of the region
    pub(crate) map_size: AtomicU64,
    pub(crate) seen_chunks: AtomicPtr<u8>,
    pub(crate) seen_size: AtomicU64,
    pub(crate) has_key: AtomicU32,
    pub(crate) thread_key: AtomicU32,
    pub(crate) sock: AtomicI32,
    pub(crate) sock_dev: AtomicU64,
    pub(crate) sock_ino: AtomicU64,
}

pub(crate) static PROCESS: Process = Process {
    session: AtomicPtr::new(ptr::null_mut()),
    generations: AtomicU64::new(0),
    map: AtomicPtr::new(ptr::null_mut()),
    map_size: AtomicU64::new(0),
    seen_chunks: AtomicPtr::new(ptr::null_mut()),
    seen_size: AtomicU64::new(0),
    has_key: AtomicU32::new(0),
    thread_key: AtomicU32::new(0),
    sock: AtomicI32::new(-1),
    sock_dev: AtomicU64::new(0),
    sock_ino: AtomicU64::new(0),
};

/// The session page of the process, if there is one.  For callers that have a probe: the thread
/// that created the probe has seen the page, and the hand-over of the probe orders the two.
#[inline(always)]
pub(crate) fn session() -> Option<&'static Session> {
    // SAFETY: the page is never unmapped, and valid all zero.
    unsafe { PROCESS.session.load(Ordering::Relaxed).as_ref() }
}

/// As session(), for callers that have no probe.
pub(crate) fn session_acquire() -> Option<&'static Session> {
    // (ctp-F) pairs with the release in attach::session_get(): a thread that sees the page sees it
    // zeroed.
    // SAFETY: as above.
    unsafe { PROCESS.session.load(Ordering::Acquire).as_ref() }
}

// ---- waking the collector -----------------------------------------------------------

impl Session {
    #[inline(always)]
    pub(crate) fn collector_sleeps(&self) -> bool {
        // SAFETY: points into the region, or to never_sleeping; null only in a child whose page
        // a fork has just wiped.
        unsafe {
            self.sleeping.load(Ordering::Relaxed).as_ref().map_or(false, |f| f.load(Ordering::Relaxed) != 0)
        }
    }

    #[inline]
    pub(crate) fn wake_if_asleep(&self) {
        // (ctp-C) pairs with the barrier in the collector's sleep_announce().  The store of the event
        // and the later load of the flag must not be reordered.  The collector's membarrier orders
        // them in every running thread, only when it goes to sleep.  Without membarrier each event
        // needs a fence.
        if self.needs_fence.load(Ordering::Relaxed) != 0 {
            order::fence_full();
        }
        if self.collector_sleeps() {
            self.wake();
        }
    }

    /// The collector sleeps: the thread that clears the flag sends the wake-up byte.
    #[cold]
    pub(crate) fn wake(&self) {
        let _errno = sys::KeepErrno::new();
        if self.has_left() {
            return;
        }
        // SAFETY: as in collector_sleeps().
        // (ctp-F) pairs with the release store in attach::wakeups_choose(): the socket is visible, too.
        let sleeping = match unsafe { self.sleeping.load(Ordering::Acquire).as_ref() } {
            Some(flag) => flag,
            None => return,
        };
        let mut usable = Renewed::Yes;
        if !self.sock_is_ours() {
            usable = self.sock_renew();
        }
        if let Renewed::Yes = usable {
            let cleared = sleeping.compare_exchange(1, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            if cleared && !sys::send_byte(self.sock.load(Ordering::Relaxed), crate::wire::WAKE_BYTE) {
                // The byte was not sent: set the flag again for another thread.
                let _ = sleeping.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
                usable = Renewed::Never;
            }
        }
        // A session by request still has to see that it is asked to detach.
        if let (Renewed::Never, false) = (usable, self.info().by_order) {
            let never: *const AtomicU32 = &self.never_sleeping;
            self.sleeping.store(never as *mut AtomicU32, Ordering::Relaxed);
        }
    }

    /// A program may close descriptors that it did not open, and reuse their numbers.
    fn sock_is_ours(&self) -> bool {
        sock_is(
            self.sock.load(Ordering::Relaxed),
            self.sock_dev.load(Ordering::Relaxed),
            self.sock_ino.load(Ordering::Relaxed),
        )
    }

    /// The program closed the socket, as daemons do.  One thread connects again, at most 4 times in
    /// all.
    fn sock_renew(&self) -> Renewed {
        if self.renewing.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return Renewed::ByAnother;
        }
        let mut renewed = Renewed::Never;
        if self.renewals.fetch_add(1, Ordering::Relaxed) < 4 {
            if let Ok(fd) = self.sock_open() {
                // A thread that reads a mix of old and new values sees a mismatch and does not use
                // it.
                self.sock_remember(fd);
                renewed = Renewed::Yes;
            }
        }
        self.renewing.store(0, Ordering::Relaxed);
        renewed
    }

    /// The connection, through the inherited door or by the path.
    pub(crate) fn sock_open(&self) -> Result<i32, i32> {
        // SAFETY: leaked when the session was filled in.
        let path = unsafe { self.info().sock_path.as_ref() };
        match self.info().door.connect() {
            Some(fd) => Ok(fd),
            None => path.map_or(Err(0), |p| sys::connect_unix(p)),
        }
    }

    /// End the connection.  It is closed at the next attach: another thread may be about to send,
    /// and the number could be reused.
    pub(crate) fn sock_shutdown(&self) {
        if self.sock_is_ours() {
            sys::shutdown_fd(self.sock.load(Ordering::Relaxed));
        }
    }

    pub(crate) fn sock_remember(&self, fd: i32) {
        if let Some(id) = sys::identify_fd(fd) {
            self.sock_dev.store(id.dev, Ordering::Relaxed);
            self.sock_ino.store(id.ino, Ordering::Relaxed);
        }
        self.sock.store(fd, Ordering::Relaxed);
    }
}

enum Renewed {
    Yes,
    Never,
    ByAnother,
}

pub(crate) fn sock_is(fd: i32, dev: u64, ino: u64) -> bool {
    sys::identify_fd(fd).map_or(false, |id| id.is_socket && id.dev == dev && id.ino == ino)
}
