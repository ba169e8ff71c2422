// SPDX-License-Identifier: MIT
//! A service sends events to billing; at shutdown it drops its senders and joins billing, but a clone
//! of the sender lives on in the registry of plugins.  Billing waits for the next event for ever.
//!
//! corpus: bug
//! class: stalled|lost-wakeup
//! at: @events
//! victims: billing
//! also: main, registry
//! never: deadlock, leak

use std::time::Duration;

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use tokio::sync::mpsc;
use tokio::time::sleep;

async fn billing(mut events: mpsc::Receiver<u64>) -> u64 {
    let mut sum = 0;
    loop {
        let event = events.recv().awaiting(Reason::ChannelRecv).await; // @events
        match event {
            Some(n) => sum += n,
            None => return sum,
        }
    }
}

async fn service(events: mpsc::Sender<u64>, number: u64) {
    for i in 0..40 {
        sleep(Duration::from_millis(8 + number)).awaiting(Reason::Timer).await;
        if events.send(i).awaiting(Reason::ChannelSend).await.is_err() {
            return;
        }
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub async fn main() {
    corotracer::init_tracer();
    let (events, inbox) = mpsc::channel(16);
    let registry: Vec<mpsc::Sender<u64>> = vec![events.clone()]; // the bug
    let bill = tokio::spawn(billing(inbox).traced_as("billing"));
    let services: Vec<_> =
        (0..4).map(|i| tokio::spawn(service(events.clone(), i).traced_as(&format!("service {i}")))).collect();
    drop(events);
    for s in services {
        let _ = s.await;
    }
    let _ = tokio::time::timeout(Duration::from_millis(1500), bill).await;
    drop(registry);
    std::process::exit(0);
}
