// SPDX-License-Identifier: MIT
//! CPU work where it belongs (spawn_blocking), a slow start, requests with FuturesUnordered that is
//! polled all the time.
//!
//! corpus: clean
//! never: deadlock, lost-wakeup, starvation, never-yielded, leak

use std::time::{Duration, Instant};

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::sleep;

fn compute(ms: u64) -> u64 {
    let start = Instant::now();
    let mut n = 1u64;
    while start.elapsed() < Duration::from_millis(ms) {
        n = n.wrapping_mul(6364136223846793005).wrapping_add(1);
    }
    n
}

async fn index(number: u64) -> u64 {
    tokio::task::spawn_blocking(move || compute(60 + number)).await.unwrap()
}

async fn piece(number: u64) -> u64 {
    sleep(Duration::from_millis(4 + number % 9)).awaiting(Reason::Timer).await;
    number
}

async fn gather() -> u64 {
    let mut sum = 0;
    for round in 0..20 {
        let mut pieces: FuturesUnordered<_> =
            (0..8).map(|i| piece(round * 8 + i).traced_as(&format!("piece {i}"))).collect();
        while let Some(n) = pieces.next().await {
            sum += n;
        }
    }
    sum
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub async fn main() {
    corotracer::init_tracer();
    assert!(compute(300) != 0); // reads its tables
    let mut all = Vec::new();
    for i in 0..6 {
        all.push(tokio::spawn(index(i).traced_as(&format!("index {i}"))));
    }
    all.push(tokio::spawn(gather().traced_as("gather")));
    for task in all {
        let _ = task.await;
    }
}
