// SPDX-License-Identifier: MIT
//! poll_trace - the transitions of one future, for code that owns the poll loop.

use crate::memory::Mark;
use crate::place::Place;
use crate::probe::Probe;
use crate::session::session;
use crate::thread::{self, Note, Thread};
use crate::waker::Slot;
use crate::wire::{Life, END_CANCELLED, REASON_JOIN};
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The transitions of one future, reported by the code that polls it.
///
/// A runtime that has its own task type puts one of these into each task:
///
/// ```
/// use corotracer::PollTrace;
/// use std::future::Future;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
///
/// fn poll_task<F: Future>(mut task: Pin<&mut F>, trace: &mut PollTrace, cx: &mut Context<'_>) -> Poll<F::Output> {
///     trace.on_resume(); // writes nothing before the first suspension
///     match task.as_mut().poll(cx) {
///         Poll::Pending => {
///             trace.on_pending(task.as_mut());
///             Poll::Pending
///         }
///         Poll::Ready(output) => {
///             trace.on_ready();
///             Poll::Ready(output)
///         }
///     }
/// }
/// ```
///
/// or calls [`poll_with`](PollTrace::poll_with), which does the same and more: it also records
/// which coroutine wakes the future, and makes the future the parent of what it spawns.
///
/// It is `Send` but not `Sync`: one thread at a time runs a future.
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<corotracer::PollTrace>();
/// ```
///
/// If it is dropped before [`on_ready`](PollTrace::on_ready), the trace records a cancelled future.
/// Without a collector each call is a load and a branch.
pub struct PollTrace {
    probe: Probe,
    slot: Slot,
    /// The future is suspended: the next poll is a resume.
    pending: bool,
    /// The future returned or panicked: later calls record nothing.
    finished: bool,
    memory: Mark,
}

impl PollTrace {
    /// Create a coroutine; the caller's location is its creation site, and its parent is the traced
    /// future that is being polled on this thread.
    #[track_caller]
    pub fn new() -> PollTrace {
        PollTrace::born("", Place::here(), "")
    }

    /// As [`new`](PollTrace::new), with a name.  The first 408 bytes of the name are kept.
    #[track_caller]
    pub fn named(name: &str) -> PollTrace {
        PollTrace::born(name, Place::here(), "")
    }

    pub(crate) fn born(name: &str, place: Place, function: &'static str) -> PollTrace {
        let probe = Probe::begin(name, place, function);
        let memory = Mark::created(name, probe.id(), place, function);
        PollTrace { probe, slot: Slot::EMPTY, pending: false, finished: false, memory }
    }

    /// Is the future traced?  Not without a collector, nor when the region has no room left, nor
    /// after [`mark_dead`](PollTrace::mark_dead).
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.probe.is_traced()
    }

    /// The id of the future in the trace; 0 while it is not traced.
    pub fn id(&self) -> u64 {
        self.probe.id()
    }

    /// Call before each poll.  Records an event only if the future was suspended: not for the first
    /// poll.
    #[inline]
    pub fn on_resume(&mut self) {
        if !self.probe.is_open() {
            self.pending = false;
            self.memory.resumed(|| 0);
            return;
        }
        self.memory.paused();
        thread::with(|t| {
            t.note.set(Note::NONE);
            if self.pending && !self.finished {
                self.pending = false;
                self.probe.resume(t);
            }
        });
        self.memory.resumed(|| self.probe.id());
    }

    /// Call after a poll that returned `Pending`.  The address of the pinned future identifies it.
    #[inline]
    pub fn on_pending<F: ?Sized>(&mut self, future: Pin<&mut F>) {
        self.on_pending_addr(&*future as *const F as *const () as u64);
    }

    /// As [`on_pending`](PollTrace::on_pending), with an address of your choice, such as a program
    /// counter.
    #[inline]
    pub fn on_pending_addr(&mut self, addr: u64) {
        self.memory.suspended(|| self.probe.id());
        if !self.probe.is_open() || self.finished {
            self.pending = true; // it may be adopted when it is resumed
            return;
        }
        self.pending = true;
        thread::with(|t| {
            let note = t.note.replace(Note::NONE);
            self.probe.suspend(t, addr, note);
        });
    }

    /// Call after a poll that returned `Ready`.
    pub fn on_ready(&mut self) {
        self.finish(0);
    }

    /// The future is destroyed, in whatever state; it is not traced afterwards.
    pub fn mark_dead(&mut self) {
        self.memory.destroyed();
        if self.probe.is_open() {
            self.finished = true;
            self.probe.end(0);
        }
    }

    /// The future is about to be dropped: the wakers that it drops with it are not lost.
    pub(crate) fn retire(&self) {
        self.slot.retire();
    }

    fn finish(&mut self, flags: u32) {
        self.memory.ended();
        if self.probe.is_open() && !self.finished {
            self.finished = true;
            self.probe.done(flags);
        }
    }

    /// One poll, from resume to suspension or end: `poll` is called with a context whose waker
    /// records wakes.  `addr` is the address of the future.
    ///
    /// If `poll` panics, the trace records a cancelled future, and the panic continues.
    #[inline]
    pub fn poll_with<T>(
        &mut self,
        cx: &mut Context<'_>,
        addr: u64,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        if !self.probe.is_open() || self.finished {
            return self.poll_untraced(cx, poll);
        }
        let run = Run::enter(self);
        let polled = if run.trace.life().is_null() {
            poll(cx) // the station protocol has no wake event
        } else {
            let waker = run.trace.slot.lend(cx.waker(), run.trace.life(), run.begun.id, run.begun.outer != 0);
            if run.trace.probe.is_adopted {
                run.trace.slot.doubt();
            }
            poll(&mut Context::from_waker(&waker))
        };
        run.came_to(polled.is_ready(), addr);
        polled
    }
}

impl PollTrace {
    /// A poll that writes no event.
    #[inline(always)]
    fn poll_untraced<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let outer = self.memory.outer();
        self.memory.resumed(|| 0);
        let polled = poll(cx);
        self.polled_untraced(outer, polled.is_pending());
        polled
    }

    #[inline(always)]
    fn polled_untraced(&mut self, outer: u16, is_pending: bool) {
        self.pending = is_pending; // as in on_pending_addr()
        if is_pending {
            self.memory.suspended(|| 0);
        } else {
            self.memory.ended();
        }
        self.memory.outer_next(outer, is_pending);
    }

    pub(crate) fn life(&self) -> *const Life {
        self.probe.life()
    }

    /// The first half of poll_with().
    pub(crate) fn begin(&mut self) -> BegunPoll {
        if !self.probe.is_open() || self.finished {
            let begun = BegunPoll { is_traced: false, outer_memory: self.memory.outer(), ..BegunPoll::NONE };
            self.memory.resumed(|| 0);
            return begun;
        }
        ManuallyDrop::new(Run::enter(self)).begun
    }

    /// The second half.
    pub(crate) fn end(&mut self, begun: BegunPoll, is_ready: bool, addr: u64) {
        if begun.is_traced {
            Run { trace: self, begun }.came_to(is_ready, addr);
        } else {
            self.polled_untraced(begun.outer_memory, !is_ready);
        }
    }
}

/// A poll in progress: what [`end_poll`](PollTrace::end_poll) needs from
/// [`begin_poll`](PollTrace::begin_poll).
#[derive(Clone, Copy)]
#[must_use = "pass it to end_poll()"]
pub struct BegunPoll {
    is_traced: bool,
    id: u64,
    /// The traced future that was running on this thread before this poll, and its pending note.
    outer: u64,
    outer_note: Note,
    outer_memory: u16,
    ticket: u64,
}

impl BegunPoll {
    const NONE: BegunPoll =
        BegunPoll { is_traced: false, id: 0, outer: 0, outer_note: Note::NONE, outer_memory: 0, ticket: 0 };
}

impl fmt::Debug for BegunPoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BegunPoll").field("id", &self.id).finish()
    }
}

/// A poll in progress on this thread.  Dropped: it panicked.
struct Run<'a> {
    trace: &'a mut PollTrace,
    begun: BegunPoll,
}

impl<'a> Run<'a> {
    /// As PollTrace::on_resume(), of a future that is traced and has not ended.
    fn enter(trace: &'a mut PollTrace) -> Run<'a> {
        thread::with(|t| {
            let outer_memory = trace.memory.outer();
            trace.memory.paused();
            let outer_note = t.note.replace(Note::NONE);
            let was_pending = std::mem::replace(&mut trace.pending, false);
            if !(was_pending && trace.probe.resume(t)) {
                trace.probe.prepare(t);
            }
            let id = trace.id();
            trace.memory.resumed(|| id);
            let outer = t.current.replace(id);
            let ticket = t.ticket.get();
            Run { trace, begun: BegunPoll { is_traced: true, id, outer, outer_note, outer_memory, ticket } }
        })
    }

    /// Record the result of the poll.
    fn came_to(self, ready: bool, addr: u64) {
        let mut run = ManuallyDrop::new(self);
        if ready {
            run.trace.on_ready();
        } else {
            thread::with(|t| run.suspended(t, addr));
        }
        thread::with(|t| run.leave(t));
    }

    /// As PollTrace::on_pending_addr(), and in addition what only poll_with() knows.
    #[inline(always)]
    fn suspended(&mut self, t: &Thread, addr: u64) {
        let trace = &mut *self.trace;
        trace.memory.suspended(|| trace.probe.id());
        trace.pending = true; // it may be adopted when it is resumed
        if trace.probe.is_open() && !trace.finished {
            trace.probe.suspend(t, addr, t.note.get());
        }
        trace.slot.check();
        // If the outer future suspends, too, it waits for this one.
        self.begun.outer_note = Note::new(trace.probe.site, REASON_JOIN, Some(trace.probe.id()));
    }

    /// The outer future continues on this thread.
    #[inline(always)]
    fn leave(&mut self, t: &Thread) {
        let begun = &self.begun;
        self.trace.memory.outer_next(begun.outer_memory, self.trace.pending);
        let stale = t.ticket.get() != begun.ticket
            && session().map_or(true, |s| t.is_of_earlier_region(begun.ticket, s));
        t.current.set(if stale { 0 } else { begun.outer });
        t.note.set(begun.outer_note);
    }
}

impl Drop for Run<'_> {
    #[cold]
    fn drop(&mut self) {
        self.trace.finish(END_CANCELLED);
        thread::with(|t| self.leave(t));
    }
}

// A panic elsewhere does not affect it.
impl UnwindSafe for PollTrace {}
impl RefUnwindSafe for PollTrace {}

impl Default for PollTrace {
    #[track_caller]
    fn default() -> PollTrace {
        PollTrace::new()
    }
}

impl Drop for PollTrace {
    fn drop(&mut self) {
        self.memory.destroyed();
        if self.probe.is_open() {
            self.probe.end(if self.finished { 0 } else { END_CANCELLED });
        }
    }
}

impl fmt::Debug for PollTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollTrace").field("id", &self.id()).field("pending", &self.pending).finish()
    }
}
