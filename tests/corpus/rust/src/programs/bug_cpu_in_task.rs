// SPDX-License-Identifier: MIT
//! A request handler computes a key with many rounds of a hash inside its task, without tracing any
//! await: the other tasks of its thread wait.
//!
//! corpus: bug
//! class: blocking
//! at: @stuck|@spawned
//! victims: login
//! never: deadlock, closed-under-waiter, lost-wakeup, leak

use corotracer::{init_tracer, TraceFutureExt};
use corotracer_corpus::{current_thread, ms, spawn_echoes, spawn_tickers};
use std::time::Instant;
use tokio::time::sleep;

/// Rounds of a hash until about 200 ms of work are done.
fn derive_key(seed: u64) -> u64 {
    let begin = Instant::now();
    let mut key = seed;
    while begin.elapsed() < ms(200) {
        for _ in 0..10_000 {
            key = (key ^ (key >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9); // @stuck
        }
    }
    key
}

async fn handle_logins() {
    let mut keys = 0;
    for user in 0..4 {
        sleep(ms(120)).await;
        keys ^= derive_key(user);
    }
    println!("{keys:x}");
}

pub fn main() {
    init_tracer();
    let runtime = current_thread();
    runtime.block_on(async {
        spawn_echoes(6).await;
        spawn_tickers(6);
        tokio::spawn(handle_logins().traced_as("login")).await.unwrap(); // @spawned
        sleep(ms(100)).await;
    });
    std::process::exit(0);
}
