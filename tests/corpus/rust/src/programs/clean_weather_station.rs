// SPDX-License-Identifier: MIT
//! A weather station: select! loops over an interval, commands and a stop signal; a broadcast with
//! slow and fast listeners; a listener for alarms that never come; work that is joined with join!.
//!
//! corpus: clean
//! never: deadlock, leak, starvation, never-run, never-destroyed, blocking

use std::time::Duration;

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{interval, sleep};

async fn sensor(number: u64, out: broadcast::Sender<u64>, mut stop: watch::Receiver<bool>) {
    let mut tick = interval(Duration::from_millis(9 + number));
    loop {
        tokio::select! {
            _ = tick.tick() => { let _ = out.send(number); }
            _ = stop.changed() => return,
        }
    }
}

async fn listener(mut input: broadcast::Receiver<u64>, pause: u64) {
    loop {
        match input.recv().awaiting(Reason::ChannelRecv).await {
            Ok(_) => {}
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
        if pause > 0 {
            sleep(Duration::from_millis(pause)).await;
        }
    }
}

async fn alarm(mut input: mpsc::Receiver<u64>) {
    while input.recv().awaiting(Reason::ChannelRecv).await.is_some() {}
}

async fn report() {
    for _ in 0..12 {
        let _ = tokio::join!(sleep(Duration::from_millis(60)), sleep(Duration::from_millis(130)));
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub async fn main() {
    corotracer::init_tracer();
    let (stop, stopped) = watch::channel(false);
    let (out, _) = broadcast::channel(8);
    let (alarms, alarm_inbox) = mpsc::channel(4);
    let mut all = vec![tokio::spawn(alarm(alarm_inbox).traced_as("alarm"))];
    for i in 0..6 {
        all.push(tokio::spawn(listener(out.subscribe(), 15 * (i % 3)).traced_as(&format!("listener {i}"))));
    }
    for i in 0..4 {
        let sensor = sensor(i, out.clone(), stopped.clone());
        all.push(tokio::spawn(sensor.traced_as(&format!("sensor {i}"))));
    }
    drop(out);
    let report = tokio::spawn(report().traced_as("report"));
    let _ = report.await;
    let _ = stop.send(true);
    drop(alarms);
    for task in all {
        let _ = task.await;
    }
}
