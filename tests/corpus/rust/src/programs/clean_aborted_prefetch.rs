// SPDX-License-Identifier: MIT
//! Prefetch tasks that are aborted when the user scrolls on, timeouts that fire, a JoinSet that is shut
//! down.
//!
//! corpus: clean
//! never: deadlock, lost-wakeup, leak, destroyed-suspended, never-destroyed, never-run

use std::time::Duration;

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

async fn prefetch(ms: u64) -> u64 {
    sleep(Duration::from_millis(ms)).awaiting(Reason::Timer).await;
    ms
}

async fn scroll() {
    for i in 0..40u64 {
        let mut set = JoinSet::new();
        for k in 0..6 {
            set.spawn(prefetch(5 + 40 * k).traced_as(&format!("prefetch {i}-{k}")));
        }
        let _ = timeout(Duration::from_millis(20), async { while set.join_next().await.is_some() {} }).await;
        set.shutdown().await;
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub async fn main() {
    corotracer::init_tracer();
    let _ = tokio::spawn(scroll().traced_as("scroll")).await;
}
