// SPDX-License-Identifier: MIT
//! thread - the state of one thread: its id, its lane, its clock, and the coroutine that it runs.

use crate::lane;
use crate::session::{session, Session};
use crate::sys;
use crate::wire::{life_state, Chunk, Lane, Record, REC_HAS_MORE, REC_SUSPEND};
use std::cell::Cell;
use std::os::raw::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

pub(crate) const STASH: usize = 32;

/// The site, reason and resource of the next suspension on this thread, as far as known: small,
/// because each poll copies it.
#[derive(Clone, Copy)]
pub(crate) struct Note {
    what: u32, // as in a record; REC_HAS_MORE: there is a resource
    resource: u64,
}

impl Note {
    pub(crate) const NONE: Note = Note { what: 0, resource: 0 };

    #[inline]
    pub(crate) fn new(site: u32, reason: u32, resource: Option<u64>) -> Note {
        let more = if resource.is_some() { REC_HAS_MORE } else { 0 };
        Note { what: life_state(more, reason, site), resource: resource.unwrap_or(0) }
    }

    /// What a record of the suspension says.
    #[inline(always)]
    pub(crate) fn suspension(self) -> u32 {
        self.what | REC_SUSPEND
    }

    #[inline(always)]
    pub(crate) fn resource(self) -> Option<u64> {
        (self.what & REC_HAS_MORE != 0).then_some(self.resource)
    }
}

/// Thread-local state.  The other fields are valid only if the ticket matches the session.
pub(crate) struct Thread {
    /// ~generation of the session that this thread has joined.
    pub(crate) ticket: Cell<u64>,
    // The lane; these are null if there is none.
    pub(crate) at: Cell<*mut Record>,    // the next record
    pub(crate) limit: Cell<*mut Record>, // the end of what may be written inline
    pub(crate) head_bias: Cell<u64>,     // `at` plus this is the lane's head
    pub(crate) lane: Cell<*const Lane>,
    pub(crate) end: Cell<*mut Record>, // of the chunk
    pub(crate) chunk: Cell<*const Chunk>,
    pub(crate) tid: Cell<u64>,
    /// The cycle counter is not usable: records carry the clock.
    pub(crate) counts_ns: Cell<bool>,
    /// Never write inline: the counter is not usable, or every event needs a fence.
    pub(crate) always_slow: Cell<bool>,
    // Numbers of free lives, of coroutines that ended on this thread, for reuse.
    pub(crate) nr_stash: Cell<usize>,
    pub(crate) stash: [Cell<u32>; STASH],
    // While the lane is full.
    pub(crate) gap_ticks: Cell<u64>,
    pub(crate) gap_transitions: Cell<u64>,
    pub(crate) gap_marks: Cell<u64>,
    pub(crate) gave_up: Cell<bool>, // a wait timed out: lose events until a chunk is returned
    pub(crate) gave_up_at: Cell<u32>,
    pub(crate) clock: Clock,
    /// The id of the coroutine that runs on this thread; 0 if it is not traced.
    pub(crate) current: Cell<u64>,
    pub(crate) note: Cell<Note>,
}

/// The clock, for writers of stations.
pub(crate) struct Clock {
    pub(crate) anchor_ticks: Cell<u64>,
    pub(crate) window_ticks: Cell<u64>, // 0: read the clock every time
    pub(crate) anchor_ns: Cell<u64>,
    pub(crate) mult: Cell<u64>, // ns = ticks * mult >> 32
    // If the thread measures the rate itself: the start point, and the rate of the last interval.
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
        #[allow(clippy::declare_interior_mutable_const)] // each use needs its own cell
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

    /// Has this thread joined the session?  Joins it if possible.
    #[inline(always)]
    pub(crate) fn ready(&self, s: &Session) -> bool {
        self.ticket.get() == !s.generation.load(Ordering::Relaxed) || self.join(s)
    }

    /// Was `ticket` that of a session with another region?  Ids from then mean other coroutines now.
    pub(crate) fn is_of_earlier_region(&self, ticket: u64, s: &Session) -> bool {
        !ticket < s.info().first
    }

    /// The first event of a thread under this session.  False without a session.
    #[cold]
    pub(crate) fn join(&self, s: &Session) -> bool {
        // (ctp-F) pairs with the release store in attach::session_publish().
        let generation = s.generation.load(Ordering::Acquire);
        if generation == 0 {
            return false;
        }
        let info = s.info();
        self.tid.set(sys::thread_id());
        self.clock.forget();
        self.counts_ns.set(!info.counter_usable);
        self.always_slow.set(!info.counter_usable || s.needs_fence.load(Ordering::Relaxed) != 0);
        self.nr_stash.set(0); // in a forked child these are the parent's
        lane::forget(self);
        if self.is_of_earlier_region(self.ticket.get(), s) {
            self.current.set(0);
        }
        if info.has_key {
            sys::key_set(info.thread_key, (self as *const Thread).cast());
        }
        self.ticket.set(!generation);
        true
    }
}

// It has no destructor, so that other destructors of the thread can still use it.
thread_local! {
    static THREAD: Thread = const { Thread::new() };
}

#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Thread) -> R) -> R {
    THREAD.with(f)
}

/// The thread ends: release its lane.  Runs after all destructors of `std`, and again if a later
/// destructor wrote an event.
pub(crate) unsafe extern "C" fn leave_by_key(thread: *mut c_void) {
    if let Some(s) = session() {
        lane::leave(&*thread.cast::<Thread>(), s);
    }
}
