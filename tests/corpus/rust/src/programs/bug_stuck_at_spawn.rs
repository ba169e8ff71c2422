// SPDX-License-Identifier: MIT
//! 500 sessions wait for the end of the start-up; notify_one() wakes one of them.  The program has
//! the minimum of tracing: no names, no reasons.  All belong to one group.
//!
//! corpus: bug
//! class: lost-wakeup|stalled|leak
//! at: @stuck|@spawned
//! count: 499
//! never: deadlock, closed-under-waiter, blocking, starvation

use corotracer::{init_tracer, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, run_time, spawn_tickers};
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::time::sleep;

async fn run_session(number: u64, started: Arc<Notify>) {
    started.notified().await; // @stuck
    for _ in 0..10 {
        sleep(ms(5 + number % 10)).await;
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_tickers(10);
        let started = Arc::new(Notify::new());
        for number in 0..500 {
            tokio::spawn(run_session(number, started.clone()).traced()); // @spawned
        }
        sleep(ms(300)).await;
        started.notify_one(); // the bug: it should be notify_waiters()
        sleep(run_time(1200)).await;
    });
    std::mem::forget(runtime);
}
