// SPDX-License-Identifier: MIT
//! A task waits for a flag with yield_now() in a loop.
//!
//! corpus: bug
//! class: busy-yield
//! victims: installer
//! never: lost-wakeup, starvation

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use tokio::task::yield_now;
use tokio::time::sleep;

async fn installer(ready: Arc<AtomicBool>) {
    while !ready.load(Ordering::Acquire) {
        yield_now().await;
    }
}

async fn downloader(ready: Arc<AtomicBool>) {
    for _ in 0..50 {
        sleep(Duration::from_millis(20)).awaiting(Reason::Timer).await;
    }
    ready.store(true, Ordering::Release);
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() {
    corotracer::init_tracer();
    let ready = Arc::new(AtomicBool::new(false));
    let a = tokio::spawn(installer(ready.clone()).traced_as("installer"));
    let b = tokio::spawn(downloader(ready).traced_as("downloader"));
    let _ = a.await;
    let _ = b.await;
}
