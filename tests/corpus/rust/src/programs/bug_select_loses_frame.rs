// SPDX-License-Identifier: MIT
//! A connection reads frames with read_exact() in a select! with a heartbeat.  The heartbeat drops
//! read_exact() in the middle of a frame, and the bytes it had read are lost: reader and writer
//! wait for each other.
//!
//! corpus: bug
//! class: lost-wakeup|stalled|deadlock
//! at: @stuck
//! victims: frames-slow
//! also: writer-slow
//! never: closed-under-waiter, blocking, busy-yield

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{current_thread, ms, run_time, spawn_echoes};
use std::os::unix::io::AsRawFd;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio::time::sleep;

async fn read_frames(mut stream: UnixStream, heartbeat: Arc<Notify>) {
    let fd = stream.as_raw_fd() as u64;
    let mut frame = [0; 32];
    loop {
        tokio::select! {
            read = stream.read_exact(&mut frame).awaiting_on(Reason::IoRead, fd) => { // @stuck
                if read.is_err() || stream.write_all(b"+").await.is_err() {
                    return;
                }
            }
            _ = heartbeat.notified() => {}
        }
    }
}

async fn write_frames(mut stream: UnixStream, slow: bool, heartbeat: Arc<Notify>) {
    let fd = stream.as_raw_fd() as u64;
    for number in 0.. {
        let frame = [number as u8; 32];
        let cut = if slow && number == 25 { 16 } else { 32 };
        stream.write_all(&frame[..cut]).awaiting_on(Reason::IoWrite, fd).await.unwrap();
        if cut < 32 {
            // The network is slow: the heartbeat comes between the halves of the frame.
            sleep(ms(15)).awaiting(Reason::Timer).await;
            heartbeat.notify_one();
            sleep(ms(15)).awaiting(Reason::Timer).await;
            stream.write_all(&frame[cut..]).awaiting_on(Reason::IoWrite, fd).await.unwrap();
        }
        let mut ack = [0; 1];
        if stream.read_exact(&mut ack).awaiting_on(Reason::IoRead, fd).await.is_err() {
            return;
        }
        sleep(ms(6)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    current_thread().block_on(async {
        spawn_echoes(4).await;
        for name in ["slow", "a", "b", "c", "d"] {
            let (here, there) = UnixStream::pair().unwrap();
            let heartbeat = Arc::new(Notify::new());
            tokio::spawn(read_frames(here, heartbeat.clone()).traced_as(&format!("frames-{name}")));
            let writer = write_frames(there, name == "slow", heartbeat);
            tokio::spawn(writer.traced_as(&format!("writer-{name}")));
        }
        sleep(run_time(1700)).await;
        std::process::exit(0);
    });
}
