// SPDX-License-Identifier: MIT
//! future - futures that tell what they do, and awaits that tell why.

use crate::attach;
use crate::poll_trace::PollTrace;
use crate::reason::Reason;
use crate::session::session;
use crate::site;
use crate::thread::{self, Note};
use std::any::type_name;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future whose transitions are traced.  It is `Send` if the future is, and `Unpin` if it is.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct TracedFuture<F> {
    // First: what it drops ends before it does.
    future: F,
    trace: PollTrace,
}

impl<F> TracedFuture<F> {
    /// A coroutine is born: here.
    #[track_caller]
    pub fn new(future: F) -> TracedFuture<F> {
        TracedFuture { trace: PollTrace::born("", Location::caller(), type_name::<F>()), future }
    }

    /// The same with a name, of which the first 408 bytes are kept.
    #[track_caller]
    pub fn named(name: &str, future: F) -> TracedFuture<F> {
        TracedFuture { trace: PollTrace::born(name, Location::caller(), type_name::<F>()), future }
    }

    /// The future alone.  The trace ends here: it is told as cancelled, unless it has returned.
    pub fn into_inner(self) -> F {
        self.future
    }

    /// What is traced of it.
    pub fn trace(&self) -> &PollTrace {
        &self.trace
    }

    /// The same, to add to it.
    pub fn trace_mut(&mut self) -> &mut PollTrace {
        &mut self.trace
    }
}

impl<F: Future> Future for TracedFuture<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned with us and never moved (into_inner() takes what is not
        // pinned any more); `trace` is not.
        let (future, trace) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), &mut this.trace)
        };
        let addr = &*future as *const F as *const () as u64;
        trace.poll_with(cx, addr, |cx| future.poll(cx))
    }
}

/// [`TracedFuture::new`], as a function.
#[track_caller]
pub fn trace_future<F: Future>(future: F) -> TracedFuture<F> {
    TracedFuture::new(future)
}

/// [`TracedFuture::named`], as a function.
#[track_caller]
pub fn trace_future_named<F: Future>(name: &str, future: F) -> TracedFuture<F> {
    TracedFuture::named(name, future)
}

/// `.traced()` on every future.
pub trait TraceFutureExt: Future + Sized {
    /// Trace this future: it is born here.
    #[track_caller]
    fn traced(self) -> TracedFuture<Self> {
        TracedFuture::new(self)
    }

    /// The same with a name.
    #[track_caller]
    fn traced_as(self, name: &str) -> TracedFuture<Self> {
        TracedFuture::named(name, self)
    }
}

impl<F: Future> TraceFutureExt for F {}

// ---- awaits ---------------------------------------------------------------------------

/// `.awaiting(...)` on what a traced future awaits: where, why and on what it waits.
///
/// A compiled `async fn` does not say at which `.await` it stands.  This does, for the line it is
/// written on:
///
/// ```
/// use corotracer::{AwaitExt, Reason};
/// # async fn example<F: std::future::Future<Output = ()>>(read: F, fd: i32) {
/// read.awaiting_on(Reason::IoRead, fd as u64).await;
/// # }
/// ```
///
/// Outside of a traced future, and without a collector, it does nothing.
pub trait AwaitExt: Future + Sized {
    /// Should this be pending, then here, for this reason.
    #[track_caller]
    fn awaiting(self, reason: Reason) -> Awaiting<Self> {
        Awaiting { future: self, place: Location::caller(), reason, resource: None }
    }

    /// The same with what is waited for: a file descriptor, the address of a lock, a deadline.
    #[track_caller]
    fn awaiting_on(self, reason: Reason, resource: u64) -> Awaiting<Self> {
        Awaiting { future: self, place: Location::caller(), reason, resource: Some(resource) }
    }
}

impl<F: Future> AwaitExt for F {}

/// What [`AwaitExt`] makes.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Awaiting<F> {
    future: F,
    place: &'static Location<'static>,
    reason: Reason,
    resource: Option<u64>,
}

impl<F: Future> Future for Awaiting<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned with us and never moved; the rest is Unpin.
        let (future, place, reason, resource) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), this.place, this.reason, this.resource)
        };
        let polled = future.poll(cx);
        if polled.is_pending() {
            note(place, reason, resource, type_name::<F>());
        }
        polled
    }
}

/// The traced future that runs here is about to be suspended.
fn note(place: &'static Location<'static>, reason: Reason, resource: Option<u64>, function: &'static str) {
    thread::with(|t| {
        if let (true, Some(s)) = (t.current.get() != 0, session()) {
            let site = if t.ready(s) { site::number(s, place, function) } else { 0 };
            t.note.set(Note { site, reason: reason as u32, resource });
        }
    });
}

/// Join the collector that the environment names, if there is one.  Any number of times, from any
/// thread; the first traced future does it by itself in a program that did not.
///
/// Says nothing and waits for nobody.  `CTP_VERBOSE=1` tells on stderr why a program stays untraced.
pub fn init_tracer() {
    attach::attach();
}

/// Will new futures be traced, as far as there is room?
pub fn tracer_enabled() -> bool {
    crate::session::session_acquire()
        .map_or(false, |s| s.generation.load(std::sync::atomic::Ordering::Relaxed) != 0)
}

/// The number of the traced future that is being polled on this thread; 0: none.
pub fn current_id() -> u64 {
    thread::with(|t| t.current.get())
}
