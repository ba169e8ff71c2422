// SPDX-License-Identifier: MIT
//! Every 300 ms a burst of 300 short tasks, and silence in between.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, ms, multi_thread};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::time::sleep;

async fn handle_event(number: u64, limit: Arc<Semaphore>) {
    let permits = address_of(&*limit);
    let permit = limit.acquire().awaiting_on(Reason::Semaphore, permits).await;
    sleep(ms(1 + number % 3)).awaiting(Reason::Timer).await;
    drop(permit);
}

async fn receive_bursts() {
    let limit = Arc::new(Semaphore::new(40));
    for _ in 0..5 {
        let events: Vec<_> =
            (0..300).map(|n| tokio::spawn(handle_event(n, limit.clone()).traced_as("event"))).collect();
        for event in events {
            event.awaiting(Reason::Join).await.unwrap();
        }
        sleep(ms(300)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async { tokio::spawn(receive_bursts().traced_as("receiver")).await }).unwrap();
}
