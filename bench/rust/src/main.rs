// SPDX-License-Identifier: MIT
//! bench-rust - the cost of one event of the Rust SDK and of the C SDK, in one process.
//!
//! Both write to lanes of one region without a collector, from one thread, in short runs that take
//! turns; full chunks are returned to the pool in between, as a collector does.  The best run of
//! each is printed, less the cost of the empty loop.

use corotracer::{PollTrace, TracedFuture};
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// The same number as in the C loops of rust_loops.c.
const EVENTS_A_RUN: u32 = 1000;

extern "C" {
    fn bench_rust_begin() -> i32;
    fn bench_rust_give_back();
    fn bench_rust_nothing();
    fn bench_rust_clock();
    fn bench_rust_ticks();
    fn bench_rust_c_events();
}

struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

/// Never ready.
struct Never;

impl Future for Never {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

/// Never ready; wakes itself through a clone of its waker.
struct Wakes;

impl Future for Wakes {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        cx.waker().clone().wake();
        Poll::Pending
    }
}

struct Subject {
    key: &'static str,
    /// The number of events, or polls, per run.
    per: u32,
    run: Box<dyn FnMut()>,
    best_ns: f64,
}

fn subject(key: &'static str, per: u32, run: impl FnMut() + 'static) -> Subject {
    Subject { key, per, run: Box::new(run), best_ns: f64::MAX }
}

/// A run of polls.
fn polls<F: Future<Output = ()> + 'static>(mut future: Pin<Box<F>>) -> impl FnMut() {
    let waker = Waker::from(Arc::new(Nobody));
    move || {
        let mut cx = Context::from_waker(&waker);
        for _ in 0..EVENTS_A_RUN {
            let _ = black_box(black_box(&mut future).as_mut().poll(&mut cx));
        }
    }
}

fn untraced<F: Future>(future: F) -> TracedFuture<F> {
    let mut traced = TracedFuture::new(future);
    traced.trace_mut().mark_dead();
    traced
}

fn subjects() -> Vec<Subject> {
    let mut trace = PollTrace::new();
    let rust_events = move || {
        for _ in 0..EVENTS_A_RUN / 2 {
            black_box(&mut trace).on_pending_addr(black_box(0x1234));
            black_box(&mut trace).on_resume();
        }
    };
    // SAFETY: plain loops over their own state, on this thread.
    unsafe {
        vec![
            subject("loop", EVENTS_A_RUN, || bench_rust_nothing()),
            subject("clock", EVENTS_A_RUN, || bench_rust_clock()),
            subject("ticks", EVENTS_A_RUN, || bench_rust_ticks()),
            subject("c", EVENTS_A_RUN, || bench_rust_c_events()),
            subject("rust", EVENTS_A_RUN, rust_events),
            subject("poll_plain", EVENTS_A_RUN, polls(Box::pin(Never))),
            subject("poll_untraced", EVENTS_A_RUN, polls(Box::pin(untraced(Never)))),
            subject("poll", EVENTS_A_RUN, polls(Box::pin(TracedFuture::new(Never)))),
            subject("wake_plain", EVENTS_A_RUN, polls(Box::pin(Wakes))),
            subject("wake", EVENTS_A_RUN, polls(Box::pin(TracedFuture::new(Wakes)))),
        ]
    }
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(2.0);
    // SAFETY: called once, before any other thread exists.
    if unsafe { bench_rust_begin() } != 0 {
        eprintln!("bench-rust: cannot make a region, or not traced in it");
        std::process::exit(1);
    }
    let mut subjects = subjects();
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    while Instant::now() < end {
        for s in &mut subjects {
            let start = Instant::now();
            (s.run)();
            let ns = start.elapsed().as_nanos() as f64 / f64::from(s.per);
            s.best_ns = s.best_ns.min(ns);
            // SAFETY: no thread writes to the lanes meanwhile.
            unsafe { bench_rust_give_back() };
        }
    }
    let bare = subjects[0].best_ns;
    for s in &subjects[1..] {
        println!("rust.{}_ns {:.3}", s.key, s.best_ns - bare);
    }
}
