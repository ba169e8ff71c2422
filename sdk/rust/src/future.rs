// SPDX-License-Identifier: MIT
//! future - futures whose transitions are traced, and awaits that record the reason.

use crate::attach;
use crate::outside_poll::note_await;
use crate::place::Place;
use crate::poll_trace::PollTrace;
use crate::reason::Reason;
use crate::thread;
use std::any::type_name;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

/// A future whose transitions are traced.  It is `Send` if `F` is, and `Unpin` if `F` is.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct TracedFuture<F> {
    // Dropped by drop(), before `trace`: coroutines that the future owns end before this one.
    future: ManuallyDrop<F>,
    trace: PollTrace,
}

impl<F> TracedFuture<F> {
    /// Create a coroutine; the caller's location is its creation site.
    #[track_caller]
    pub fn new(future: F) -> TracedFuture<F> {
        TracedFuture::with(future, PollTrace::born("", Place::here(), type_name::<F>()))
    }

    /// As [`new`](TracedFuture::new), with a name.  The first 408 bytes of the name are kept.
    #[track_caller]
    pub fn named(name: &str, future: F) -> TracedFuture<F> {
        TracedFuture::with(future, PollTrace::born(name, Place::here(), type_name::<F>()))
    }

    fn with(future: F, trace: PollTrace) -> TracedFuture<F> {
        TracedFuture { future: ManuallyDrop::new(future), trace }
    }

    /// Return the inner future.  The trace of it ends here, as cancelled unless it has returned.
    pub fn into_inner(self) -> F {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither dropped nor used again, so each field is taken once.
        unsafe {
            drop(ptr::read(&this.trace));
            ManuallyDrop::take(&mut this.future)
        }
    }

    /// The trace of this future.
    pub fn trace(&self) -> &PollTrace {
        &self.trace
    }

    /// The trace of this future, mutable.
    pub fn trace_mut(&mut self) -> &mut PollTrace {
        &mut self.trace
    }
}

impl<F> Drop for TracedFuture<F> {
    fn drop(&mut self) {
        self.trace.retire();
        // SAFETY: dropped here, in its place, and not used again.
        unsafe { ManuallyDrop::drop(&mut self.future) };
    }
}

impl<F: Future> Future for TracedFuture<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned with `self` and never moved (into_inner() takes `self` by
        // value, so it is not pinned); `trace` is not pinned.
        let (future, trace) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut *this.future), &mut this.trace)
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
    /// Trace this future.  The caller's location is its creation site.
    #[track_caller]
    fn traced(self) -> TracedFuture<Self> {
        TracedFuture::new(self)
    }

    /// As [`traced`](TraceFutureExt::traced), with a name.
    #[track_caller]
    fn traced_as(self, name: &str) -> TracedFuture<Self> {
        TracedFuture::named(name, self)
    }
}

impl<F: Future> TraceFutureExt for F {}

// ---- awaits ---------------------------------------------------------------------------

/// `.awaiting(...)` on what a traced future awaits records the site, the reason and the resource.
///
/// A compiled `async fn` does not expose at which `.await` it is suspended.  This trait records it,
/// for the line it is written on:
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
    /// If this future is pending, record this site and `reason` for the suspension.
    #[track_caller]
    fn awaiting(self, reason: Reason) -> Awaiting<Self> {
        Awaiting { future: self, place: Location::caller(), reason, resource: None }
    }

    /// As [`awaiting`](AwaitExt::awaiting), with the resource: a file descriptor, the address of a
    /// lock, a deadline.
    #[track_caller]
    fn awaiting_on(self, reason: Reason, resource: u64) -> Awaiting<Self> {
        Awaiting { future: self, place: Location::caller(), reason, resource: Some(resource) }
    }
}

impl<F: Future> AwaitExt for F {}

/// The future that [`AwaitExt`] returns.
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
        // SAFETY: `future` is pinned with `self` and never moved; the other fields are Unpin.
        let (future, place, reason, resource) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), this.place, this.reason, this.resource)
        };
        let polled = future.poll(cx);
        if polled.is_pending() {
            note_await(place.into(), type_name::<F>(), reason, resource);
        }
        polled
    }
}

/// Attach to the collector that the environment names, if there is one.  Any thread may call it any
/// number of times; if the program does not, the first traced future does.
///
/// It prints nothing and does not wait for the collector.  With `CTP_VERBOSE=1` it prints on stderr
/// why a program stays untraced.
pub fn init_tracer() {
    attach::attach();
}

/// Is the process attached, so that new futures are traced as far as there is room?
pub fn tracer_enabled() -> bool {
    crate::session::session_acquire()
        .map_or(false, |s| s.generation.load(std::sync::atomic::Ordering::Relaxed) != 0)
}

/// The id of the traced future that is being polled on this thread; 0 if there is none.
pub fn current_id() -> u64 {
    thread::with(|t| t.current.get())
}
