// SPDX-License-Identifier: MIT
//! later - futures that are made while another thread still joins the collector.
//!
//! Joining takes some 100 us, and longer on a machine with too much to do.  Other threads do not
//! wait for it longer than attach_await() does: then their futures begin untraced, to be traced
//! later.  What they do before the session is published is counted, in the probe and here; their
//! first event after that begins their life, and tells their earlier transitions as lost.
//!
//! The counts go to the region as soon as there is one: events to `homeless` and `homeless_marks`,
//! where every collector looks for them; coroutines to `later`, from which those that are traced
//! after all are taken away again.

use crate::order;
use crate::session::{Session, ATTACH_BUSY};
use crate::wire::Station;
use std::sync::atomic::Ordering;

/// Only its address means something: what a probe's station is while it is to be traced later.
static LATER: u8 = 0;

pub(crate) fn station() -> *const Station {
    (&LATER as *const u8).cast()
}

impl Session {
    /// Is some thread still joining the collector?
    pub(crate) fn is_attaching(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ATTACH_BUSY && self.generation.load(Ordering::Relaxed) == 0
    }

    /// Hand the counts to the collector.  Only once the session is published.
    pub(crate) fn later_deliver(&self) {
        let transitions = self.untraced.swap(0, Ordering::Relaxed);
        let marks = self.untraced_marks.swap(0, Ordering::Relaxed);
        let coroutines = self.later.swap(0, Ordering::Relaxed);

        // A station has no place for them.
        if self.info().lanes.is_null() || transitions | marks | coroutines == 0 {
            return;
        }
        let lanes = self.lanes();
        lanes.homeless.fetch_add(transitions, Ordering::Relaxed);
        lanes.homeless_marks.fetch_add(marks, Ordering::Relaxed);
        lanes.untraced.fetch_add(transitions, Ordering::Relaxed);
        lanes.later.fetch_add(coroutines, Ordering::Relaxed);
    }

    /// Count what could not be written because there is no session yet.
    #[cold]
    pub(crate) fn later_count(&self, transitions: u64, marks: u64, coroutines: u64) {
        self.untraced.fetch_add(transitions, Ordering::Relaxed);
        self.untraced_marks.fetch_add(marks, Ordering::Relaxed);
        self.later.fetch_add(coroutines, Ordering::Relaxed);
        // (O) pairs with the fence in attach::attach_now(): the thread that attaches finds the
        // counts, or this one finds the session.
        order::fence_full();
        // (F) pairs with the release store in attach::attach_now().
        if self.generation.load(Ordering::Acquire) != 0 {
            self.later_deliver();
        }
    }

    /// An event that belongs to no future, or to one that stays untraced for now.
    pub(crate) fn later_mark(&self) {
        if self.is_attaching() || self.generation.load(Ordering::Relaxed) != 0 {
            self.later_count(0, 1, 0);
        }
    }
}
