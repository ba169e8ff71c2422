// SPDX-License-Identifier: MIT
//! Every request spawns a watcher of the settings and detaches it.  The settings never change again,
//! and the watchers of requests that ended long ago stay.
//!
//! corpus: bug
//! class: leak|run-away
//! at: @stuck|@spawned
//! victims: watcher
//! never: deadlock, closed-under-waiter, blocking, never-yielded

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_tickers};
use tokio::sync::watch;
use tokio::time::sleep;

async fn watch_settings(mut settings: watch::Receiver<u64>) {
    loop {
        let changed = settings.changed().awaiting(Reason::ChannelRecv).await; // @stuck
        if changed.is_err() {
            return;
        }
        println!("settings {}", *settings.borrow_and_update());
    }
}

async fn serve_request(number: u64, settings: watch::Receiver<u64>) {
    tokio::spawn(watch_settings(settings).traced_as("watcher")); // @spawned
    for step in 0..3 {
        sleep(ms(5 + (number + step) % 6)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    let (change, settings) = watch::channel(1);
    runtime.block_on(async {
        spawn_tickers(6);
        for number in 0..120 {
            tokio::spawn(serve_request(number, settings.clone()).traced_as("request"));
            sleep(ms(14)).await;
        }
        sleep(ms(100)).await;
    });
    std::mem::forget((runtime, change));
}
