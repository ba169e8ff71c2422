// SPDX-License-Identifier: MIT
//! A ring of two locks in a program that only traces what it spawns: no reasons, no locks.
//! One of them has a rhythm that breaks; the other hardly ever waited before, and stops with it.
//!
//! corpus: bug
//! class: lost-wakeup|stalled|deadlock
//! at: @stuck|@spawned
//! victims: merge, compact
//! never: closed-under-waiter, blocking

use corotracer::{init_tracer, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, run_time, spawn_orders};
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::time::sleep;

#[derive(Default)]
struct Store {
    index: Mutex<Vec<u64>>,
    segments: Mutex<Vec<u64>>,
}

async fn merge_segments(store: Arc<Store>) {
    for n in 0.. {
        let mut index = store.index.lock().await;
        sleep(ms(2)).await;
        let mut segments = store.segments.lock().await; // @stuck
        segments.push(n);
        index.push(n);
        drop((index, segments));
        sleep(ms(5)).await;
    }
}

async fn compact_store(store: Arc<Store>) {
    sleep(ms(250)).await;
    loop {
        let mut segments = store.segments.lock().await;
        sleep(ms(4)).await;
        let mut index = store.index.lock().await; // @stuck
        segments.clear();
        index.clear();
        drop((index, segments));
        sleep(ms(6)).await;
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_orders(2, 8);
        let store = Arc::new(Store::default());
        tokio::spawn(merge_segments(store.clone()).traced_as("merge")); // @spawned
        tokio::spawn(compact_store(store).traced_as("compact")); // @spawned
        sleep(run_time(1600)).await;
    });
    std::mem::forget(runtime);
}
