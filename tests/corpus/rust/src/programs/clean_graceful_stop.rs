// SPDX-License-Identifier: MIT
//! A service that handles SIGTERM: it stops accepting, lets the requests in progress end, and leaves.
//!
//! corpus: clean
//! signal: TERM 0.9

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread};
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

async fn finish_request(number: u64) {
    for step in 0..5 {
        sleep(ms(4 + (number + step) % 9)).awaiting(Reason::Timer).await;
    }
}

async fn take_requests(mut stop: watch::Receiver<bool>, alive: mpsc::Sender<()>) {
    for number in 0.. {
        tokio::select! {
            _ = stop.changed() => return,
            _ = sleep(ms(6)) => {}
        }
        let alive = alive.clone();
        let request = async move {
            finish_request(number).await;
            drop(alive);
        };
        tokio::spawn(request.traced_as(&format!("request-{number}")));
    }
}

async fn await_sigterm() {
    let mut term = signal(SignalKind::terminate()).unwrap();
    // A run without the signal ends, too.
    let _ = timeout(ms(2200), term.recv().awaiting(Reason::Signal)).await;
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        let (stop, stopping) = watch::channel(false);
        let (alive, mut all_done) = mpsc::channel(1);
        tokio::spawn(take_requests(stopping, alive).traced_as("intake"));
        tokio::spawn(await_sigterm().traced_as("signals")).await.unwrap();
        stop.send(true).unwrap();
        assert!(all_done.recv().await.is_none());
    });
}
