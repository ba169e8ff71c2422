// SPDX-License-Identifier: MIT
//! outside_poll - for code that is called before and after each poll, and does not poll itself: the
//! hooks of a runtime, a layer of another tracing system.

use crate::life;
use crate::memory;
use crate::place::Place;
use crate::poll_trace::{BegunPoll, PollTrace};
use crate::reason::Reason;
use crate::session::session;
use crate::site;
use crate::thread::{self, Note};

impl PollTrace {
    /// Create a coroutine that was spawned at `place`.  `type_name` is that of its future, or empty.
    pub fn spawned_at(name: &str, type_name: &'static str, place: Place) -> PollTrace {
        PollTrace::born(name, place, type_name)
    }

    /// Call before a poll.  Until [`end_poll`](PollTrace::end_poll), on the same thread, this is the
    /// future that runs: the parent of what is spawned, and the one that wakes others.
    pub fn begin_poll(&mut self) -> BegunPoll {
        self.begin()
    }

    /// Call after the poll that [`begin_poll`](PollTrace::begin_poll) announced.  `addr` identifies
    /// the future, `is_ready` says that it has ended.
    pub fn end_poll(&mut self, begun: BegunPoll, is_ready: bool, addr: u64) {
        self.end(begun, is_ready, addr);
    }

    /// The future is woken by what runs on this thread.  Not needed with
    /// [`poll_with`](PollTrace::poll_with), which wraps the waker.
    pub fn on_wake(&self) {
        // SAFETY: points into the region, which stays mapped.
        if let (Some(l), Some(s)) = (unsafe { self.life().as_ref() }, session()) {
            thread::with(|t| life::wake(l, self.id(), t, s, t.current.get(), 0, 0));
        }
    }
}

/// The traced future that runs on this thread will be suspended at `place` for this reason, if this
/// poll suspends it: [`awaiting`](crate::AwaitExt::awaiting), for code that sees an await from outside.
/// `type_name` is that of what is awaited, or empty.
pub fn note_await(place: Place, type_name: &'static str, reason: Reason, resource: Option<u64>) {
    memory::note(place, type_name);
    thread::with(|t| {
        if let (true, Some(s)) = (t.current.get() != 0, session()) {
            let site = if t.ready(s) { site::number(s, place, type_name) } else { 0 };
            t.note.set(Note::new(site, reason as u32, resource));
        }
    });
}
