// SPDX-License-Identifier: MIT
//! A task takes a std::sync::Mutex that a plain thread holds while it writes a report: the thread of
//! the runtime sleeps in the lock, and all its tasks with it.
//!
//! corpus: bug
//! class: blocking
//! at: @stuck|@after
//! victims: statistics
//! never: deadlock, closed-under-waiter, lost-wakeup, leak

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{current_thread, ms, run_time, spawn_orders, spawn_tickers};
use std::sync::{Arc, Mutex};
use tokio::time::sleep;

type Counts = Arc<Mutex<Vec<u64>>>;

fn write_reports(counts: Counts) {
    for _ in 0..3 {
        std::thread::sleep(ms(200));
        let counts = counts.lock().unwrap();
        std::thread::sleep(ms(180)); // the report is long, and written under the lock
        assert!(!counts.is_empty());
    }
}

async fn count_events(counts: Counts) {
    for event in 0.. {
        sleep(ms(12)).awaiting(Reason::Timer).await; // @after
        let mut counts = counts.lock().unwrap(); // @stuck
        counts[event % 16] += 1;
    }
}

pub fn main() {
    init_tracer();
    let counts = Counts::new(Mutex::new(vec![0; 16]));
    let for_reports = counts.clone();
    let reports = std::thread::spawn(move || write_reports(for_reports));
    let runtime = current_thread();
    runtime.block_on(async {
        spawn_orders(2, 8);
        spawn_tickers(4);
        tokio::spawn(count_events(counts).traced_as("statistics"));
        sleep(run_time(1400)).await;
    });
    reports.join().unwrap();
    std::process::exit(0);
}
