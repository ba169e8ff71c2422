// SPDX-License-Identifier: MIT
//! session - what a process knows of its collector, and who may know it.
//!
//! The session lies in a page that the kernel wipes in a forked child: there the generation is 0,
//! no thread's ticket fits, and nothing is written.  It is filled in by the thread that attaches,
//! published by its generation, and never taken down while the process lives, so that no thread
//! ever uses memory that is no longer mapped.

use crate::lane::Spare;
use crate::order;
use crate::pool::Arena;
use crate::sys;
use crate::wire::{ExtHeader, ExtLanes, Header, Station, EXT_HEADER_OFFSET, EXT_LANES_OFFSET};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// What `Session::state` says.
pub(crate) const ATTACH_NEVER: u32 = 0; // also: in a child, after the fork wiped the page
pub(crate) const ATTACH_BUSY: u32 = 1; // some thread is at it
pub(crate) const ATTACH_DONE: u32 = 2;
pub(crate) const ATTACH_FAILED: u32 = 3; // no collector, or none that we understand

/// Filled in once, before the generation is published; then only read.  All zero is a valid value.
#[derive(Clone, Copy)]
pub(crate) struct Info {
    pub(crate) header: *const Header,
    pub(crate) lanes: *const ExtLanes, // null: stations it is
    pub(crate) nr_stations: u32,
    pub(crate) features: u32,
    pub(crate) counter_usable: bool,
    pub(crate) clock_published: bool,
    pub(crate) base_ticks: u64, // where the counter's rate is measured from
    pub(crate) base_ns: u64,
    pub(crate) pair_ticks: u64, // how long reading clock and counter takes, undisturbed
    pub(crate) lane_pool: Arena,
    pub(crate) chunk_pool: Arena,
    pub(crate) life_pool: Arena,
    pub(crate) site_pool: Arena,
    pub(crate) lane_chunks: u32,
    pub(crate) on_full: u32,
    pub(crate) block_ms: u32,
    pub(crate) seen_chunks: *const std::sync::atomic::AtomicU8, // by number: this process has its pages
    pub(crate) spares: *const Spare, // lanes of threads that have ended: see lane.rs
    pub(crate) nr_spares: usize,
    pub(crate) shm_dev: u64,
    pub(crate) shm_ino: u64,
    pub(crate) shm_path: *const Vec<u8>, // leaked: the environment may change later
    pub(crate) sock_path: *const Vec<u8>,
    pub(crate) thread_key: u32,
    pub(crate) has_key: bool,
}

/// One per process.  All zero: not attached, or wiped by a fork.
pub(crate) struct Session {
    pub(crate) generation: AtomicU64,
    /// The flag that the collector sets before it sleeps.
    pub(crate) sleeping: AtomicPtr<AtomicU32>,
    pub(crate) state: AtomicU32,
    /// Always 0: what `sleeping` points to once waking is pointless.
    pub(crate) never_sleeping: AtomicU32,
    pub(crate) sock: AtomicI32,
    pub(crate) renewing: AtomicU32,
    pub(crate) renewals: AtomicU32,
    /// Is the descriptor still our socket?
    pub(crate) sock_dev: AtomicU64,
    pub(crate) sock_ino: AtomicU64,
    /// When the kernel last had no memory for us.
    pub(crate) refused_ns: AtomicU64,
    /// 1: the collector does not membarrier for us, or not yet.
    pub(crate) needs_fence: AtomicU32,
    // While the state is ATTACH_BUSY: see later.rs.
    pub(crate) busy_ns: AtomicU64,        // since when
    pub(crate) untraced: AtomicU64,       // transitions that could not be written, not told yet,
    pub(crate) untraced_marks: AtomicU64, // other events likewise,
    pub(crate) later: AtomicU64,          // and coroutines that began meanwhile
    pub(crate) info: UnsafeCell<Info>,
}

// SAFETY: atomics, and `info`, which is written by one thread before the generation says so.
unsafe impl Sync for Session {}

impl Session {
    /// Only for who has seen a generation, or comes after somebody who has.
    #[inline(always)]
    pub(crate) fn info(&self) -> &Info {
        // SAFETY: not written any more; and all zero, should a fork have come between, is valid.
        unsafe { &*self.info.get() }
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: a session that is published has a region, which stays mapped.
        unsafe { &*self.info().header }
    }

    pub(crate) fn station(&self, index: u32) -> *const Station {
        // SAFETY: the caller is below nr_stations, and the file was checked to have as many.
        unsafe { self.info().header.add(1).cast::<Station>().add(index as usize) }
    }

    pub(crate) fn lanes(&self) -> &ExtLanes {
        debug_assert!(!self.info().lanes.is_null());
        // SAFETY: callers have seen that it is there.
        unsafe { &*self.info().lanes }
    }
}

/// Where the collector's extension is, if it is one.
pub(crate) fn ext_header(header: &Header) -> &ExtHeader {
    // SAFETY: inside the header's reserved bytes, aligned, and made of atomics only.
    unsafe { &*(header as *const Header).cast::<u8>().add(EXT_HEADER_OFFSET).cast() }
}

pub(crate) fn ext_lanes(header: &Header) -> &ExtLanes {
    // SAFETY: as above.
    unsafe { &*(header as *const Header).cast::<u8>().add(EXT_LANES_OFFSET).cast() }
}

/// What outlives a fork.
pub(crate) struct Process {
    pub(crate) session: AtomicPtr<Session>, // null until the first attach
    pub(crate) generations: AtomicU64,      // so many sessions so far, the parents' included
    pub(crate) map: AtomicPtr<u8>,          // the region as last mapped
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

/// The process's session page, if there is one.  For who has a probe: whoever gave it one has
/// seen the page, and handed over the probe as programs do.
#[inline(always)]
pub(crate) fn session() -> Option<&'static Session> {
    // SAFETY: the page is never unmapped, and valid all zero.
    unsafe { PROCESS.session.load(Ordering::Relaxed).as_ref() }
}

/// The same for who comes from nowhere.
pub(crate) fn session_acquire() -> Option<&'static Session> {
    // (F) pairs with the release in attach::session_get(): whoever sees the page sees it empty.
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
        // (C) pairs with the barrier in the collector's sleep_announce().  A store and a later
        // load of something else must not change places: its membarrier does that for us, in
        // every running thread, just when it matters.  Where it cannot, we pay.
        if self.needs_fence.load(Ordering::Relaxed) != 0 {
            order::fence_full();
        }
        if self.collector_sleeps() {
            self.wake();
        }
    }

    /// The collector sleeps: whoever clears the flag sends the byte.
    #[cold]
    pub(crate) fn wake(&self) {
        let _errno = sys::KeepErrno::new();
        // SAFETY: as in collector_sleeps().
        // (F) pairs with the release store in attach::wakeups_choose(): the socket is there, too.
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
                // Nobody was woken by us: leave it to the next who can.
                let _ = sleeping.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
                usable = Renewed::Never;
            }
        }
        if let Renewed::Never = usable {
            let never: *const AtomicU32 = &self.never_sleeping;
            self.sleeping.store(never as *mut AtomicU32, Ordering::Relaxed);
        }
    }

    /// Programs close descriptors that they did not open, and reuse the numbers.
    fn sock_is_ours(&self) -> bool {
        sock_is(
            self.sock.load(Ordering::Relaxed),
            self.sock_dev.load(Ordering::Relaxed),
            self.sock_ino.load(Ordering::Relaxed),
        )
    }

    /// The program closed it: a daemon does, all of them.  One thread calls again, a few times in all.
    fn sock_renew(&self) -> Renewed {
        if self.renewing.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return Renewed::ByAnother;
        }
        let mut renewed = Renewed::Never;
        if self.renewals.fetch_add(1, Ordering::Relaxed) < 4 {
            // SAFETY: leaked when the session was filled in.
            let path = unsafe { self.info().sock_path.as_ref() };
            if let Some(Ok(fd)) = path.map(|p| sys::connect_unix(p)) {
                // Who reads half of this finds that it is not the socket, and leaves it.
                self.sock_remember(fd);
                renewed = Renewed::Yes;
            }
        }
        self.renewing.store(0, Ordering::Relaxed);
        renewed
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
