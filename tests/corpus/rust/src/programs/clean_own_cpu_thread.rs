// SPDX-License-Identifier: MIT
//! Computing tasks have a thread and a runtime of their own, on which nothing else runs.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{current_thread, ms, spawn_echoes};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

type Frame = (u64, oneshot::Sender<u64>);

async fn encode_frames(mut frames: mpsc::Receiver<Frame>) {
    while let Some((number, reply)) = frames.recv().awaiting(Reason::ChannelRecv).await {
        let begin = Instant::now();
        let mut state = number | 1;
        while begin.elapsed() < ms(130) {
            for _ in 0..10_000 {
                state = (state ^ (state >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
            }
        }
        let _ = reply.send(state);
    }
}

async fn record_frames(encoder: mpsc::Sender<Frame>) {
    for number in 0..8 {
        let (reply, encoded) = oneshot::channel();
        encoder.send((number, reply)).awaiting(Reason::ChannelSend).await.unwrap();
        encoded.awaiting(Reason::ChannelRecv).await.unwrap();
        sleep(ms(20)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    let (encoder, frames) = mpsc::channel(2);
    let thread = std::thread::spawn(move || {
        current_thread().block_on(encode_frames(frames).traced_as("encoder"));
    });
    current_thread().block_on(async {
        spawn_echoes(6).await;
        tokio::spawn(record_frames(encoder).traced_as("recorder")).await.unwrap();
    });
    thread.join().unwrap();
}
