// SPDX-License-Identifier: MIT
//! A task for each packet; each one needs the single uplink for three milliseconds, and a packet comes
//! each millisecond.
//!
//! corpus: bug
//! class: leak
//! victims: packet *
//! never: deadlock, abandoned-lock

use std::sync::Arc;
use std::time::Duration;

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use tokio::sync::Semaphore;
use tokio::time::{interval, sleep, MissedTickBehavior};

async fn packet(uplink: Arc<Semaphore>) {
    let permit = uplink.acquire().awaiting_on(Reason::Semaphore, Arc::as_ptr(&uplink) as u64).await;
    sleep(Duration::from_millis(3)).awaiting(Reason::Timer).await;
    drop(permit);
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() {
    corotracer::init_tracer();
    let uplink = Arc::new(Semaphore::new(1));
    let mut tick = interval(Duration::from_millis(1));
    // A stopped program does not catch up.
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for i in 0..2000 {
        tick.tick().await;
        tokio::spawn(packet(uplink.clone()).traced_as(&format!("packet {i}")));
    }
    std::process::exit(0);
}
