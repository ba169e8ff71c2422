// SPDX-License-Identifier: MIT
//! A collector counts results until all senders are dropped.  The struct that started the scanners
//! keeps a sender of its own, so the collector never ends.
//!
//! corpus: bug
//! class: lost-wakeup|stalled|leak
//! at: @stuck
//! victims: collector
//! never: deadlock, closed-under-waiter, blocking, busy-yield

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, run_time, spawn_echoes};
use tokio::sync::mpsc;
use tokio::time::sleep;

struct Scan {
    results: mpsc::Sender<u64>, // the bug: never dropped
    collector: tokio::task::JoinHandle<u64>,
}

async fn scan_shard(shard: u64, results: mpsc::Sender<u64>) {
    for row in 0..30 {
        sleep(ms(3 + (shard + row) % 5)).awaiting(Reason::Timer).await;
        results.send(shard * row).awaiting(Reason::ChannelSend).await.unwrap();
    }
}

async fn collect_rows(mut rows: mpsc::Receiver<u64>) -> u64 {
    let mut sum = 0;
    loop {
        let row = rows.recv().awaiting(Reason::ChannelRecv).await; // @stuck
        match row {
            Some(row) => sum += row,
            None => return sum,
        }
    }
}

impl Scan {
    fn start(shards: u64) -> Scan {
        let (results, rows) = mpsc::channel(8);
        for shard in 0..shards {
            let scanner = scan_shard(shard, results.clone());
            tokio::spawn(scanner.traced_as(&format!("scanner-{shard}")));
        }
        let collector = tokio::spawn(collect_rows(rows).traced_as("collector"));
        Scan { results, collector }
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_echoes(5).await;
        let mut scan = Scan::start(6);
        if let Ok(sum) = tokio::time::timeout(run_time(1500), &mut scan.collector).await {
            println!("sum {}", sum.unwrap());
        }
        assert!(!scan.results.is_closed());
    });
    std::mem::forget(runtime);
}
