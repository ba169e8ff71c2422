// SPDX-License-Identifier: MIT
//! later - futures that are created while another thread is still attaching to the collector.
//!
//! Attaching takes about 100 us, and longer on an overloaded machine.  Other threads wait no longer
//! than attach_await() does: after that their futures begin untraced, and are traced later.  Their
//! events before the session is published are counted, in the probe and here.  The first event
//! after that creates the coroutine in the trace and reports the earlier transitions as lost.
//!
//! The counts are added to the region as soon as the session is published: events to `homeless` and
//! `homeless_marks`, which every collector reads; coroutines to `later`, which is decremented for
//! each coroutine that is traced after all.

use crate::order;
use crate::session::{Session, ATTACH_BUSY};
use crate::wire::Station;
use std::sync::atomic::Ordering;

/// Only its address is used: the station pointer of a probe that is to be traced later.
static LATER: u8 = 0;

pub(crate) fn station() -> *const Station {
    (&LATER as *const u8).cast()
}

impl Session {
    /// Is a thread still attaching to the collector?
    pub(crate) fn is_attaching(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ATTACH_BUSY && self.generation.load(Ordering::Relaxed) == 0
    }

    /// Add the counts to the region.  The session must be published.
    pub(crate) fn later_deliver(&self) {
        let transitions = self.untraced.swap(0, Ordering::Relaxed);
        let marks = self.untraced_marks.swap(0, Ordering::Relaxed);
        let coroutines = self.later.swap(0, Ordering::Relaxed);

        // The station protocol has no field for these counts.
        if self.info().lanes.is_null() || transitions | marks | coroutines == 0 {
            return;
        }
        let lanes = self.lanes();
        lanes.homeless.fetch_add(transitions, Ordering::Relaxed);
        lanes.homeless_marks.fetch_add(marks, Ordering::Relaxed);
        lanes.untraced.fetch_add(transitions, Ordering::Relaxed);
        lanes.later.fetch_add(coroutines, Ordering::Relaxed);
    }

    /// Count events that could not be written because the session is not published yet.
    #[cold]
    pub(crate) fn later_count(&self, transitions: u64, marks: u64, coroutines: u64) {
        self.untraced.fetch_add(transitions, Ordering::Relaxed);
        self.untraced_marks.fetch_add(marks, Ordering::Relaxed);
        self.later.fetch_add(coroutines, Ordering::Relaxed);
        // (ctp-O) pairs with the fence in attach::session_publish(): either the thread that attaches sees
        // the counts, or this thread sees the session.
        order::fence_full();
        // (ctp-F) pairs with the release store in attach::session_publish().
        if self.generation.load(Ordering::Acquire) != 0 {
            self.later_deliver();
        }
    }

    /// Count an event that belongs to no future, or to one that is not traced yet.
    pub(crate) fn later_mark(&self) {
        if self.is_attaching() || self.generation.load(Ordering::Relaxed) != 0 {
            self.later_count(0, 1, 0);
        }
    }
}
