// SPDX-License-Identifier: MIT
//! Requests with a timeout; every fourth takes longer, is dropped, and is tried again.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_tickers};
use tokio::time::{sleep, timeout};

async fn call_service(number: u64, attempt: u64) -> u64 {
    let delay = if number % 4 == 0 && attempt == 0 { 500 } else { 4 + number % 9 };
    sleep(ms(delay)).awaiting(Reason::Timer).await;
    number
}

async fn call_with_retry(number: u64) -> u64 {
    for attempt in 0.. {
        let call = call_service(number, attempt).traced_as("call");
        if let Ok(value) = timeout(ms(60), call).await {
            return value;
        }
    }
    unreachable!()
}

async fn call_in_turn(client: u64) -> u64 {
    let mut sum = 0;
    for number in 0..30 {
        sum += call_with_retry(client + number).await;
    }
    sum
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_tickers(4);
        let clients: Vec<_> =
            (0..8).map(|n| tokio::spawn(call_in_turn(n).traced_as(&format!("caller-{n}")))).collect();
        for client in clients {
            assert!(client.await.unwrap() > 0);
        }
    });
}
