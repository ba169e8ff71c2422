// SPDX-License-Identifier: MIT
//! poll_trace - the transitions of one future, for who owns the poll loop.

use crate::probe::Probe;
use crate::thread::{self, Note};
use crate::waker::Slot;
use crate::wire::{END_CANCELLED, REASON_JOIN};
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The transitions of one future, told by whoever polls it.
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
/// or calls [`poll_with`](PollTrace::poll_with), which does the same and more: it also tells who
/// wakes the future, and knows it as the parent of what it spawns.
///
/// It is `Send`, and not `Sync`: one thread at a time runs a future.
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<corotracer::PollTrace>();
/// ```
///
/// Dropped before [`on_ready`](PollTrace::on_ready), the trace says that the future was cancelled.
/// Without a collector everything here is a load and a branch.
pub struct PollTrace {
    probe: Probe,
    slot: Slot,
    /// It was suspended: the next poll is a resume.
    pending: bool,
    /// It returned, or panicked: whatever follows is not told.
    finished: bool,
}

impl PollTrace {
    /// A coroutine is born: here, as a child of the traced future that is being polled on this
    /// thread.
    #[track_caller]
    pub fn new() -> PollTrace {
        PollTrace::born("", Location::caller(), "")
    }

    /// The same with a name, of which the first 408 bytes are kept.
    #[track_caller]
    pub fn named(name: &str) -> PollTrace {
        PollTrace::born(name, Location::caller(), "")
    }

    pub(crate) fn born(name: &str, place: &'static Location<'static>, function: &'static str) -> PollTrace {
        PollTrace {
            probe: Probe::begin(name, place, function),
            slot: Slot::EMPTY,
            pending: false,
            finished: false,
        }
    }

    /// Is it traced?  Not without a collector, nor when a foreign one has no room left, nor after
    /// [`mark_dead`](PollTrace::mark_dead).
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.probe.is_traced()
    }

    /// The number by which the trace knows it; 0 while untraced.
    pub fn id(&self) -> u64 {
        self.probe.id()
    }

    /// It is about to be polled.  An event only if it was suspended before: the first poll is none.
    #[inline]
    pub fn on_resume(&mut self) {
        if !self.probe.is_traced() {
            return;
        }
        thread::with(|t| {
            t.note.set(Note::NONE);
            if self.pending && !self.finished {
                self.pending = false;
                self.probe.resume(t);
            }
        });
    }

    /// It returned `Pending`.  Where it is pinned is what identifies it.
    #[inline]
    pub fn on_pending<F: ?Sized>(&mut self, future: Pin<&mut F>) {
        self.on_pending_addr(&*future as *const F as *const () as u64);
    }

    /// The same with an address of your own, the program counter perhaps.
    #[inline]
    pub fn on_pending_addr(&mut self, addr: u64) {
        if !self.probe.is_traced() || self.finished {
            return;
        }
        self.pending = true;
        thread::with(|t| {
            let note = t.note.replace(Note::NONE);
            self.probe.suspend(t, addr, note);
        });
    }

    /// It returned `Ready`.
    pub fn on_ready(&mut self) {
        self.finish(0);
    }

    /// It is gone, whatever it was doing; untraced afterwards.
    pub fn mark_dead(&mut self) {
        if self.probe.is_traced() {
            self.finished = true;
            self.probe.end(0);
        }
    }

    fn finish(&mut self, flags: u32) {
        if self.probe.is_traced() && !self.finished {
            self.finished = true;
            self.probe.done(flags);
        }
    }

    /// One poll, from resume to suspension or end: `poll` is called with a context whose waker
    /// tells whom it wakes.  `addr` is where the future is.
    ///
    /// If `poll` panics the trace says that the future was cancelled, and the panic goes on.
    #[inline]
    pub fn poll_with<T>(
        &mut self,
        cx: &mut Context<'_>,
        addr: u64,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        if !self.probe.is_traced() || self.finished {
            return poll(cx);
        }
        let mut run = Run::enter(self);
        let polled = if run.trace.probe.life().is_null() {
            poll(cx) // a station has no place for wakes
        } else {
            let probe = &run.trace.probe;
            let waker = run.trace.slot.lend(cx.waker(), probe.life(), probe.id());
            poll(&mut Context::from_waker(&waker))
        };
        run.came_to(polled.is_ready(), addr);
        polled
    }
}

/// A poll that is under way on this thread.
struct Run<'a> {
    trace: &'a mut PollTrace,
    /// Who ran here before, and goes on afterwards; and what that one was about to say.
    outer: u64,
    outer_note: Note,
    returned: bool,
}

impl<'a> Run<'a> {
    fn enter(trace: &'a mut PollTrace) -> Run<'a> {
        thread::with(|t| {
            let outer_note = t.note.get();
            trace.on_resume();
            let outer = t.current.replace(trace.id());
            Run { trace, outer, outer_note, returned: false }
        })
    }

    /// The poll returned.
    fn came_to(&mut self, ready: bool, addr: u64) {
        self.returned = true;
        if ready {
            self.trace.on_ready();
            return;
        }
        self.trace.on_pending_addr(addr);
        // Should the outer one suspend, too, then because of this one.
        self.outer_note =
            Note { site: self.trace.probe.site, reason: REASON_JOIN, resource: Some(self.trace.probe.id()) };
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if !self.returned {
            self.trace.finish(END_CANCELLED); // it panicked
        }
        thread::with(|t| {
            t.current.set(self.outer);
            t.note.set(self.outer_note);
        });
    }
}

// A panic elsewhere leaves it as it is.
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
        if self.probe.is_traced() {
            self.probe.end(if self.finished { 0 } else { END_CANCELLED });
        }
    }
}

impl fmt::Debug for PollTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollTrace").field("id", &self.id()).field("pending", &self.pending).finish()
    }
}
