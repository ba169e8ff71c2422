// SPDX-License-Identifier: MIT
//! Two actors send each other messages through bounded channels, and each message causes more than
//! one answer.  Both channels are full, and both actors wait for room.
//!
//! corpus: bug
//! class: deadlock|stalled|lost-wakeup
//! at: @stuck
//! victims: planner, router
//! never: closed-under-waiter, blocking

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, run_time, spawn_orders};
use tokio::sync::mpsc;
use tokio::time::sleep;

async fn relay_messages(mut inbox: mpsc::Receiver<u64>, peer: mpsc::Sender<u64>) {
    loop {
        let message = match inbox.recv().awaiting(Reason::ChannelRecv).await {
            Some(message) => message,
            None => return,
        };
        sleep(ms(1 + message % 3)).awaiting(Reason::Timer).await;
        let answers = if message % 5 == 0 { 2 } else { 1 };
        for n in 0..answers {
            let sent = peer.send(message + 1 + n).awaiting(Reason::ChannelSend).await; // @stuck
            if sent.is_err() {
                return;
            }
        }
    }
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_orders(2, 8);
        let (planner, for_planner) = mpsc::channel(8);
        let (router, for_router) = mpsc::channel(8);
        planner.send(1).await.unwrap();
        tokio::spawn(relay_messages(for_planner, router).traced_as("planner"));
        tokio::spawn(relay_messages(for_router, planner).traced_as("router"));
        sleep(run_time(1800)).await;
        std::process::exit(0);
    });
}
