// SPDX-License-Identifier: MIT
//! A JoinSet with at most ten tasks at a time, joined in the order in which they end.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread};
use tokio::task::JoinSet;
use tokio::time::sleep;

async fn convert_image(number: u64) -> u64 {
    for step in 0..4 {
        sleep(ms(3 + (number * 3 + step) % 11)).awaiting(Reason::Timer).await;
    }
    number
}

async fn convert_all(images: u64) -> u64 {
    let (mut running, mut sum) = (JoinSet::new(), 0);
    for number in 0..images {
        running.spawn(convert_image(number).traced_as(&format!("image-{number}")));
        if running.len() >= 10 {
            sum += running.join_next().awaiting(Reason::Join).await.unwrap().unwrap();
        }
    }
    while let Some(done) = running.join_next().awaiting(Reason::Join).await {
        sum += done.unwrap();
    }
    sum
}

pub fn main() {
    init_tracer();
    let sum = multi_thread(2).block_on(async { tokio::spawn(convert_all(200).traced_as("converter")).await });
    assert_eq!(sum.unwrap(), (0..200).sum());
}
