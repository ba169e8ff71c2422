// SPDX-License-Identifier: MIT
//! What the test programs share: a ledger of what each future really did.
//!
//! The ledger counts inside the traced future, independent of the SDK, so that a test can compare
//! the trace with it. A program ends by printing it as one JSON object.

pub mod api_1_0;
pub mod corpus;

use corotracer::TracedFuture;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// The record of one future.
pub struct Row {
    name: String,
    id: AtomicU64,
    polls: AtomicU64,
    pendings: AtomicU64,
    state: AtomicU64,
}

const ALIVE: u64 = 0;
const RETURNED: u64 = 1;
const DROPPED: u64 = 2;
const PANICKED: u64 = 3;
const STATES: [&str; 4] = ["alive", "returned", "dropped", "panicked"];

static LEDGER: Mutex<Vec<Arc<Row>>> = Mutex::new(Vec::new());

fn enter(name: &str) -> Arc<Row> {
    let row = Arc::new(Row {
        name: name.to_string(),
        id: AtomicU64::new(0),
        polls: AtomicU64::new(0),
        pendings: AtomicU64::new(0),
        state: AtomicU64::new(ALIVE),
    });
    LEDGER.lock().unwrap().push(row.clone());
    row
}

/// A future that keeps its row.
pub struct Counted<F> {
    future: F,
    row: Arc<Row>,
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned with this struct and not moved.
        let (future, row) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), &this.row)
        };
        row.polls.fetch_add(1, Ordering::Relaxed);
        row.state.store(PANICKED, Ordering::Relaxed); // unless poll() returns
        let polled = future.poll(cx);
        row.state.store(if polled.is_ready() { RETURNED } else { ALIVE }, Ordering::Relaxed);
        if polled.is_pending() {
            row.pendings.fetch_add(1, Ordering::Relaxed);
        }
        polled
    }
}

impl<F> Drop for Counted<F> {
    fn drop(&mut self) {
        let _ = self.row.state.compare_exchange(ALIVE, DROPPED, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Trace a future, and keep its row.
#[track_caller]
pub fn watch<F: Future>(name: &str, future: F) -> TracedFuture<Counted<F>> {
    let row = enter(name);
    let traced = TracedFuture::named(name, Counted { future, row: row.clone() });
    row.id.store(traced.trace().id(), Ordering::Relaxed);
    traced
}

/// The same for programs that report the transitions themselves.
pub fn counted<F: Future>(name: &str, id: u64, future: F) -> Counted<F> {
    let row = enter(name);
    row.id.store(id, Ordering::Relaxed);
    Counted { future, row }
}

/// Have all futures with this prefix been pending? Lets a test wait on a slow machine.
pub fn all_pending(prefix: &str) -> bool {
    let ledger = LEDGER.lock().unwrap();
    let mut those = ledger.iter().filter(|row| row.name.starts_with(prefix));
    those.all(|row| row.pendings.load(Ordering::Relaxed) > 0)
}

/// Prints the ledger and further counts of the program (`"key":value` each) on stdout.
pub fn report(more: &[(&str, u64)]) {
    let mut out = format!("{{\"enabled\":{}", corotracer::tracer_enabled());
    for (key, value) in more {
        out += &format!(",\"{key}\":{value}");
    }
    out += ",\"coroutines\":[";
    for (i, row) in LEDGER.lock().unwrap().iter().enumerate() {
        out += &format!(
            "{}{{\"name\":\"{}\",\"id\":{},\"polls\":{},\"pendings\":{},\"state\":\"{}\"}}",
            if i > 0 { "," } else { "" },
            row.name,
            row.id.load(Ordering::Relaxed),
            row.polls.load(Ordering::Relaxed),
            row.pendings.load(Ordering::Relaxed),
            STATES[row.state.load(Ordering::Relaxed) as usize],
        );
    }
    println!("{out}]}}");
}

/// Suspends once, after it has woken itself: woken before suspended, on any executor.
#[derive(Default)]
pub struct WakeFirst(bool);

impl Future for WakeFirst {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
