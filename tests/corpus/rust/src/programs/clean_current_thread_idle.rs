// SPDX-License-Identifier: MIT
//! A daemon on one thread: it handles some commands, and then there is nothing to do until the end.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, current_thread, ms};
use std::os::unix::io::AsRawFd;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{broadcast, mpsc, Notify};
use tokio::time::sleep;

async fn read_commands(stream: UnixStream, handler: mpsc::Sender<String>) {
    let fd = stream.as_raw_fd() as u64;
    let mut lines = BufReader::new(stream).lines();
    while let Ok(Some(line)) = lines.next_line().awaiting_on(Reason::IoRead, fd).await {
        if handler.send(line).awaiting(Reason::ChannelSend).await.is_err() {
            return;
        }
    }
}

async fn handle_commands(mut commands: mpsc::Receiver<String>, events: broadcast::Sender<usize>) {
    while let Some(command) = commands.recv().awaiting(Reason::ChannelRecv).await {
        sleep(ms(command.len() as u64)).awaiting(Reason::Timer).await;
        let _ = events.send(command.len());
    }
}

async fn log_events(mut events: broadcast::Receiver<usize>) {
    while events.recv().awaiting(Reason::ChannelRecv).await.is_ok() {}
}

async fn await_shutdown(shutdown: Arc<Notify>) {
    shutdown.notified().awaiting_on(Reason::User, address_of(&*shutdown)).await;
}

pub fn main() {
    init_tracer();
    let runtime = current_thread();
    runtime.block_on(async {
        let (here, mut there) = UnixStream::pair().unwrap();
        let (handler, commands) = mpsc::channel(4);
        let (events, logged) = broadcast::channel(16);
        tokio::spawn(read_commands(here, handler).traced_as("commands"));
        tokio::spawn(handle_commands(commands, events).traced_as("handler"));
        tokio::spawn(log_events(logged).traced_as("log"));
        tokio::spawn(await_shutdown(Arc::new(Notify::new())).traced_as("shutdown"));
        for _ in 0..25 {
            there.write_all(b"status\n").await.unwrap();
            sleep(ms(12)).await;
        }
        sleep(ms(1400)).await;
        std::process::exit(0);
    });
}
