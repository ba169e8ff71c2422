// SPDX-License-Identifier: MIT
//! A watch channel is updated with send_if_modified(), and the closure returns false though it has
//! changed the value: the receivers are not woken.  The tasks give no reasons.
//!
//! corpus: bug
//! class: lost-wakeup|stalled
//! at: @stuck|@spawned
//! victims: shard-0, shard-1, shard-2, shard-3
//! never: deadlock, closed-under-waiter, blocking, leak

use corotracer::{init_tracer, TraceFutureExt};
use corotracer_corpus::{current_thread, ms, run_time, spawn_orders};
use tokio::sync::watch;
use tokio::time::sleep;

#[derive(Default)]
struct Topology {
    epoch: u64,
    nodes: Vec<u64>,
}

async fn follow_topology(mut topology: watch::Receiver<Topology>) {
    while topology.borrow_and_update().epoch < 20 {
        topology.changed().await.unwrap(); // @stuck
        sleep(ms(1)).await;
    }
}

async fn change_topology(topology: watch::Sender<Topology>) {
    for epoch in 1..=20 {
        sleep(ms(20)).await;
        topology.send_if_modified(|t| {
            t.epoch = epoch;
            if t.nodes.len() < 10 {
                t.nodes.push(epoch);
                return true;
            }
            false // the bug: the epoch has changed
        });
    }
    sleep(ms(60_000)).await;
}

pub fn main() {
    init_tracer();
    current_thread().block_on(async {
        spawn_orders(2, 8);
        let (sender, topology) = watch::channel(Topology::default());
        for shard in 0..4 {
            let follow = follow_topology(topology.clone());
            tokio::spawn(follow.traced_as(&format!("shard-{shard}"))); // @spawned
        }
        tokio::spawn(change_topology(sender).traced_as("operator"));
        sleep(run_time(1500)).await;
        std::process::exit(0);
    });
}
