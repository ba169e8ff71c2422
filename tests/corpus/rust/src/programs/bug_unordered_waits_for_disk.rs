// SPDX-License-Identifier: MIT
//! A downloader keeps its requests in a FuturesUnordered and awaits a slow disk between two results:
//! the requests are ready, and nothing polls them meanwhile.
//!
//! corpus: bug
//! class: starvation|unfair-order
//! victims: page *
//! never: lost-wakeup, deadlock

use std::time::Duration;

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::sleep;

async fn page(number: u64) -> u64 {
    for _ in 0..6 {
        sleep(Duration::from_millis(3 + number % 5)).awaiting(Reason::Timer).await;
    }
    number
}

async fn crawler() {
    let mut pages = FuturesUnordered::new();
    for i in 0..10 {
        pages.push(page(i).traced_as(&format!("page {i}")));
    }
    let mut next = 10;
    while let Some(_done) = pages.next().await {
        sleep(Duration::from_millis(180)).awaiting(Reason::Timer).await; // the disk; the bug: in this loop
        if next < 16 {
            pages.push(page(next).traced_as(&format!("page {next}")));
            next += 1;
        }
    }
}

async fn window() {
    loop {
        sleep(Duration::from_millis(5)).awaiting(Reason::Timer).await;
    }
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() {
    corotracer::init_tracer();
    tokio::spawn(window().traced_as("window"));
    let extra = std::env::var("CORPUS_EXTRA_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(0);
    let crawler = tokio::spawn(crawler().traced_as("crawler"));
    let _ = tokio::time::timeout(Duration::from_millis(20000 + extra), crawler).await;
    std::process::exit(0);
}
