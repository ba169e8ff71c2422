// SPDX-License-Identifier: MIT
//! A house of actors on current_thread: thermostat, lamps and doors with bounded mailboxes; most
//! mailboxes are empty most of the time, and the siren's is never used.
//!
//! corpus: clean
//! never: deadlock, lost-wakeup, starvation, leak, never-run

use std::time::Duration;

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::time::sleep;

async fn lamp(mut inbox: Receiver<bool>) {
    let mut _is_on = false;
    while let Some(on) = inbox.recv().awaiting(Reason::ChannelRecv).await {
        _is_on = on;
    }
}

async fn door(lamps: Vec<Sender<bool>>, number: u64) {
    for round in 0..20 + number {
        sleep(Duration::from_millis(30 + 9 * number)).awaiting(Reason::Timer).await;
        for lamp in &lamps {
            let _ = lamp.send(round % 2 == 0).awaiting(Reason::ChannelSend).await;
        }
    }
    std::future::pending::<()>().awaiting(Reason::User).await;
}

async fn house() {
    let mut doors = Vec::new();
    for room in 0..4u64 {
        let mut senders = Vec::new();
        for k in 0..3 {
            let (to, inbox) = channel(2);
            tokio::spawn(lamp(inbox).traced_as(&format!("lamp {room}-{k}")));
            senders.push(to);
        }
        doors.push(tokio::spawn(door(senders, room).traced_as(&format!("door {room}"))));
    }
    let (_siren_button, inbox) = channel(1);
    tokio::spawn(lamp(inbox).traced_as("siren"));
    sleep(Duration::from_millis(2200)).await;
    for door in doors {
        door.abort();
    }
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() {
    corotracer::init_tracer();
    house().await;
    sleep(Duration::from_millis(50)).await;
}
