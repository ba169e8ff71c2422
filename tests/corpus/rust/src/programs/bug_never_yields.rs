// SPDX-License-Identifier: MIT
//! A task spins until a flag is set by a task of the same thread, and never yields.
//!
//! corpus: bug
//! class: never-yielded|blocking
//! at: @stuck|@after|@spawned
//! victims: spinner
//! never: deadlock, closed-under-waiter, leak, busy-yield
//! signal: TERM 2.2

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{current_thread, ms, spawn_echoes};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use tokio::time::sleep;

async fn load_in_background(loaded: Arc<AtomicBool>) {
    sleep(ms(600)).awaiting(Reason::Timer).await;
    loaded.store(true, Ordering::Release);
}

async fn await_loaded(loaded: Arc<AtomicBool>) {
    sleep(ms(400)).awaiting(Reason::Timer).await; // @after
    while !loaded.load(Ordering::Acquire) {
        std::hint::spin_loop(); // @stuck
    }
}

pub fn main() {
    init_tracer();
    current_thread().block_on(async {
        spawn_echoes(5).await;
        let loaded = Arc::new(AtomicBool::new(false));
        tokio::spawn(load_in_background(loaded.clone()).traced_as("loader"));
        tokio::spawn(await_loaded(loaded).traced_as("spinner")).await.unwrap(); // @spawned
    });
}
