// SPDX-License-Identifier: MIT
//! Five tasks in a ring, each with its own lock, take the lock of their right neighbour, too.
//!
//! corpus: bug
//! class: deadlock
//! at: @stuck
//! victims: node-0, node-1, node-2, node-3, node-4
//! never: lost-wakeup, closed-under-waiter, blocking, starvation

use corotracer::{acquired, init_tracer, released, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, current_thread, ms, run_time, spawn_tickers};
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::time::sleep;

async fn rebalance_node(number: usize, shards: Arc<Vec<Mutex<u64>>>) {
    for round in 0.. {
        let (left, right) = (&shards[number], &shards[(number + 1) % shards.len()]);
        let mut own = left.lock().awaiting_on(Reason::Mutex, address_of(left)).await;
        acquired(address_of(left));
        if round >= 20 {
            // After some rounds the own shard is large enough that reading it suspends.
            sleep(ms(2)).awaiting(Reason::Timer).await;
        }
        let mut next = right.lock().awaiting_on(Reason::Mutex, address_of(right)).await; // @stuck
        acquired(address_of(right));
        *next += *own / 2;
        *own /= 2;
        released(address_of(right));
        drop(next);
        released(address_of(left));
        drop(own);
        sleep(ms(8)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    current_thread().block_on(async {
        spawn_tickers(8);
        let shards = Arc::new((0..5).map(|n| Mutex::new(n * 100)).collect::<Vec<_>>());
        for number in 0..5 {
            let node = rebalance_node(number, shards.clone());
            tokio::spawn(node.traced_as(&format!("node-{number}")));
        }
        sleep(run_time(1500)).await;
        std::process::exit(0);
    });
}
