// SPDX-License-Identifier: MIT
//! Settings change, and all 100 tasks that follow them are woken: each of them needs the change.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_tickers};
use tokio::sync::watch;
use tokio::time::sleep;

async fn apply_settings(number: u64, mut settings: watch::Receiver<u64>) {
    while settings.changed().awaiting(Reason::ChannelRecv).await.is_ok() {
        let value = *settings.borrow_and_update();
        sleep(ms(1 + (number + value) % 8)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_tickers(4);
        let (change, settings) = watch::channel(0);
        let followers: Vec<_> = (0..100)
            .map(|n| tokio::spawn(apply_settings(n, settings.clone()).traced_as(&format!("follower-{n}"))))
            .collect();
        for value in 0..25 {
            sleep(ms(40)).await;
            change.send(value).unwrap();
        }
        drop(change);
        for follower in followers {
            follower.await.unwrap();
        }
    });
    std::mem::forget(runtime);
}
