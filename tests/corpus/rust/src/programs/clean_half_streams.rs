// SPDX-License-Identifier: MIT
//! Streams of which only the first results are taken: the futures that are still in the buffer are
//! dropped with the stream.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_orders};
use futures_util::stream::{self, StreamExt};
use tokio::time::sleep;

async fn probe_host(host: u64) -> u64 {
    sleep(ms(2 + host * 5 % 23)).awaiting(Reason::Timer).await;
    host
}

async fn first_hosts(round: u64) -> u64 {
    let probes = stream::iter(0..40)
        .map(|host| probe_host(host + round).traced_as("probe"))
        .buffer_unordered(8)
        .take(10);
    probes.fold(0, |sum, host| async move { sum + host }).await
}

async fn search_hosts(rounds: u64) {
    for round in 0..rounds {
        assert!(first_hosts(round).await > 0);
        sleep(ms(5)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_orders(2, 4);
        let searches: Vec<_> =
            (0..4).map(|n| tokio::spawn(search_hosts(20 + n).traced_as(&format!("search-{n}")))).collect();
        for search in searches {
            search.await.unwrap();
        }
    });
    runtime.shutdown_timeout(ms(200));
}
