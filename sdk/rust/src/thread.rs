// SPDX-License-Identifier: MIT
//! thread - what a thread of the program has of its own: its id, its lane, its clock, and which
//! coroutine it is just running.

use crate::lane;
use crate::session::{session, Session};
use crate::sys;
use crate::wire::{Chunk, Lane, Record};
use std::cell::Cell;
use std::os::raw::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

pub(crate) const STASH: usize = 32;

/// Where, why and on what the coroutine that runs here is about to wait, as far as it was told.
#[derive(Clone, Copy)]
pub(crate) struct Note {
    pub(crate) site: u32,
    pub(crate) reason: u32,
    pub(crate) resource: Option<u64>,
}

impl Note {
    pub(crate) const NONE: Note = Note { site: 0, reason: 0, resource: None };
}

/// Thread-local.  The session's ticket first: no other field says anything without it.
pub(crate) struct Thread {
    /// ~generation of the session this thread joined.
    pub(crate) ticket: Cell<u64>,
    // The lane; none while these are null.
    pub(crate) at: Cell<*mut Record>,    // the next record
    pub(crate) limit: Cell<*mut Record>, // the end of what may be written inline
    pub(crate) head_bias: Cell<u64>,     // `at` plus this is the lane's head
    pub(crate) lane: Cell<*const Lane>,
    pub(crate) end: Cell<*mut Record>, // of the chunk
    pub(crate) chunk: Cell<*const Chunk>,
    pub(crate) tid: Cell<u64>,
    /// The cycle counter is no use here, records carry the clock.
    pub(crate) counts_ns: Cell<bool>,
    /// For that reason, or because a fence is needed.
    pub(crate) always_slow: Cell<bool>,
    // Lives given back here: numbers.
    pub(crate) nr_stash: Cell<usize>,
    pub(crate) stash: [Cell<u32>; STASH],
    // While the lane is full.
    pub(crate) gap_ticks: Cell<u64>,
    pub(crate) gap_transitions: Cell<u64>,
    pub(crate) gap_marks: Cell<u64>,
    pub(crate) gave_up: Cell<bool>, // waited in vain; not again before something was read
    pub(crate) gave_up_at: Cell<u32>,
    pub(crate) clock: Clock,
    /// The coroutine that runs here; 0: none that is traced.
    pub(crate) current: Cell<u64>,
    pub(crate) note: Cell<Note>,
}

/// The clock, for those who write into stations.
pub(crate) struct Clock {
    pub(crate) anchor_ticks: Cell<u64>,
    pub(crate) window_ticks: Cell<u64>, // 0: ask the clock every time
    pub(crate) anchor_ns: Cell<u64>,
    pub(crate) mult: Cell<u64>, // ns = ticks * mult >> 32
    // While it measures by itself: from where, and what the last stretch came to.
    pub(crate) mark_ticks: Cell<u64>,
    pub(crate) mark_ns: Cell<u64>,
    pub(crate) mark_mult: Cell<u64>,
}

impl Clock {
    const fn new() -> Clock {
        Clock {
            anchor_ticks: Cell::new(0),
            window_ticks: Cell::new(0),
            anchor_ns: Cell::new(0),
            mult: Cell::new(0),
            mark_ticks: Cell::new(0),
            mark_ns: Cell::new(0),
            mark_mult: Cell::new(0),
        }
    }

    fn forget(&self) {
        let Clock { anchor_ticks, window_ticks, anchor_ns, mult, mark_ticks, mark_ns, mark_mult } = self;
        for cell in [anchor_ticks, window_ticks, anchor_ns, mult, mark_ticks, mark_ns, mark_mult] {
            cell.set(0);
        }
    }
}

impl Thread {
    pub(crate) const fn new() -> Thread {
        #[allow(clippy::declare_interior_mutable_const)] // each use is a cell of its own, as it should
        const EMPTY: Cell<u32> = Cell::new(0);
        Thread {
            ticket: Cell::new(0),
            at: Cell::new(ptr::null_mut()),
            limit: Cell::new(ptr::null_mut()),
            head_bias: Cell::new(0),
            lane: Cell::new(ptr::null()),
            end: Cell::new(ptr::null_mut()),
            chunk: Cell::new(ptr::null()),
            tid: Cell::new(0),
            counts_ns: Cell::new(false),
            always_slow: Cell::new(false),
            nr_stash: Cell::new(0),
            stash: [EMPTY; STASH],
            gap_ticks: Cell::new(0),
            gap_transitions: Cell::new(0),
            gap_marks: Cell::new(0),
            gave_up: Cell::new(false),
            gave_up_at: Cell::new(0),
            clock: Clock::new(),
            current: Cell::new(0),
            note: Cell::new(Note::NONE),
        }
    }

    /// Is this thread known to the session, or can it be made so?
    #[inline(always)]
    pub(crate) fn ready(&self, s: &Session) -> bool {
        self.ticket.get() == !s.generation.load(Ordering::Relaxed) || self.join(s)
    }

    /// First event of a thread under this session.  False: there is no session (any more).
    #[cold]
    pub(crate) fn join(&self, s: &Session) -> bool {
        // (F) pairs with the release store in attach::attach_now().
        let generation = s.generation.load(Ordering::Acquire);
        if generation == 0 {
            return false;
        }
        let info = s.info();
        self.tid.set(sys::gettid());
        self.clock.forget();
        self.counts_ns.set(!info.counter_usable);
        self.always_slow.set(!info.counter_usable || s.needs_fence.load(Ordering::Relaxed) != 0);
        self.nr_stash.set(0); // in a child: the parent's
        lane::forget(self);
        if info.has_key {
            sys::key_set(info.thread_key, (self as *const Thread).cast());
        }
        self.ticket.set(!generation);
        true
    }
}

// No destructor, so that it is there for whatever other destructors of the thread do.
thread_local! {
    static THREAD: Thread = const { Thread::new() };
}

#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Thread) -> R) -> R {
    THREAD.with(f)
}

/// The thread ends: give back what it has.  Runs after all destructors of `std`, and once more
/// should a later one have written again.
pub(crate) unsafe extern "C" fn leave_by_key(thread: *mut c_void) {
    if let Some(s) = session() {
        lane::leave(&*thread.cast::<Thread>(), s);
    }
}
