// SPDX-License-Identifier: MIT
//! Five workers meet at a barrier after each round. One of them gives up after an error: the other
//! four wait for it. No reasons are recorded.
//!
//! corpus: bug
//! class: lost-wakeup|stalled|long-suspended
//! victims: worker 0, worker 1, worker 3, worker 4
//! never: deadlock, leak, starvation

use std::sync::Arc;
use std::time::Duration;

use corotracer::TraceFutureExt;
use tokio::sync::Barrier;
use tokio::time::sleep;

async fn worker(number: u64, barrier: Arc<Barrier>) {
    for round in 0..60 {
        sleep(Duration::from_millis(6 + (number * 7 + round) % 9)).await;
        if number == 2 && round == 40 {
            return; // the error
        }
        barrier.wait().await;
    }
}

async fn progress() {
    loop {
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub async fn main() {
    corotracer::init_tracer();
    let barrier = Arc::new(Barrier::new(5));
    tokio::spawn(progress().traced_as("progress"));
    for i in 0..5 {
        tokio::spawn(worker(i, barrier.clone()).traced_as(&format!("worker {i}")));
    }
    sleep(Duration::from_millis(2600)).await;
    std::process::exit(0);
}
