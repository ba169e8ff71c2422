// SPDX-License-Identifier: MIT
//! Fetches run in a buffered() stream, and the body that takes the results is slow.  While the body
//! awaits, nothing polls the stream: fetches whose data is there wait for the body.
//! They are in no thread's queue: the thread must not be said to take the newest first.
//!
//! corpus: bug
//! class: starvation
//! at: @stuck
//! victims: fetch-*
//! never: deadlock, closed-under-waiter, blocking, leak

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_orders};
use futures_util::stream::{self, StreamExt};
use tokio::time::sleep;

async fn fetch_page(page: u64) -> u64 {
    for _ in 0..3 {
        sleep(ms(10)).awaiting(Reason::Timer).await; // @stuck
    }
    page
}

async fn index_pages() {
    let mut pages =
        stream::iter(0..12).map(|page| fetch_page(page).traced_as(&format!("fetch-{page}"))).buffered(4);
    while let Some(page) = pages.next().await {
        // The index is slow; the fetches in the stream are not polled meanwhile.
        sleep(ms(120 + page)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_orders(2, 8);
        tokio::spawn(index_pages().traced_as("indexer")).await.unwrap();
        std::process::exit(0);
    });
}
