// SPDX-License-Identifier: MIT
//! Two tasks wait for a snapshot through a hand-written future that has room for one waker: the
//! waker of the second task replaces the waker of the first.  The victim is the one of the two, indexer or
//! mirror, that waits first.
//!
//! corpus: bug
//! class: lost-wakeup
//! at: @stuck
//! victims: [im]*r
//! never: deadlock, closed-under-waiter, blocking

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, run_time, spawn_orders};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::time::sleep;

#[derive(Default)]
struct Snapshot {
    version: u64,
    waker: Option<Waker>, // the bug: one waker, any number of tasks
}

struct Newer {
    snapshot: Arc<Mutex<Snapshot>>,
    seen: u64,
}

impl Future for Newer {
    type Output = u64;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
        let mut snapshot = self.snapshot.lock().unwrap();
        if snapshot.version > self.seen {
            return Poll::Ready(snapshot.version);
        }
        snapshot.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

fn publish(snapshot: &Mutex<Snapshot>) {
    let mut snapshot = snapshot.lock().unwrap();
    snapshot.version += 1;
    if let Some(waker) = snapshot.waker.take() {
        waker.wake();
    }
}

async fn follow_snapshots(snapshot: Arc<Mutex<Snapshot>>, work: u64) {
    let mut seen = 0;
    loop {
        let newer = Newer { snapshot: snapshot.clone(), seen };
        seen = newer.awaiting(Reason::User).await; // @stuck
        sleep(ms(work)).awaiting(Reason::Timer).await;
    }
}

async fn publish_snapshots(snapshot: Arc<Mutex<Snapshot>>) {
    for _ in 0..20 {
        sleep(ms(20)).awaiting(Reason::Timer).await;
        publish(&snapshot);
    }
    // A mirror is added at run time, and from now on two tasks wait.
    tokio::spawn(follow_snapshots(snapshot.clone(), 12).traced_as("mirror"));
    loop {
        sleep(ms(20)).awaiting(Reason::Timer).await;
        publish(&snapshot);
    }
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_orders(2, 10);
        let snapshot = Arc::new(Mutex::new(Snapshot::default()));
        tokio::spawn(follow_snapshots(snapshot.clone(), 2).traced_as("indexer"));
        tokio::spawn(publish_snapshots(snapshot).traced_as("publisher"));
        sleep(run_time(1600)).await;
        std::process::exit(0);
    });
}
