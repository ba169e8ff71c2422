// SPDX-License-Identifier: MIT
//! Parts that several programs of the corpus use: runtimes, and the healthy traffic of a service.

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use std::os::unix::io::AsRawFd;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The length of the run: `n`, and the time for which the runner says that it will stop the program.
pub fn run_time(n: u64) -> Duration {
    let extra = std::env::var("CORPUS_EXTRA_MS").ok().and_then(|text| text.parse::<u64>().ok());
    ms(n + extra.unwrap_or(0))
}

/// The number of a lock or channel in the trace: its address.
pub fn address_of<T>(thing: &T) -> u64 {
    thing as *const T as u64
}

pub fn multi_thread(threads: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap()
}

pub fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

// ---- orders: clients ask workers through channels -----------------------------------------

type Order = (u64, oneshot::Sender<u64>);

async fn work_on_orders(mut orders: mpsc::Receiver<Order>) {
    while let Some((number, reply)) = orders.recv().awaiting(Reason::ChannelRecv).await {
        sleep(ms(1 + number % 4)).awaiting(Reason::Timer).await;
        let _ = reply.send(number * 2);
    }
}

async fn place_orders(client: u64, workers: Vec<mpsc::Sender<Order>>) {
    for number in client.. {
        let (reply, answer) = oneshot::channel();
        let worker = &workers[number as usize % workers.len()];
        if worker.send((number, reply)).awaiting(Reason::ChannelSend).await.is_err() {
            return;
        }
        if answer.awaiting(Reason::ChannelRecv).await.is_err() {
            return;
        }
        sleep(ms(3 + (client * 7 + number) % 11)).awaiting(Reason::Timer).await;
    }
}

/// Start workers and clients that place orders until the runtime ends.
pub fn spawn_orders(nr_workers: usize, nr_clients: u64) {
    let mut workers = Vec::new();
    for i in 0..nr_workers {
        let (worker, orders) = mpsc::channel(4);
        workers.push(worker);
        tokio::spawn(work_on_orders(orders).traced_as(&format!("worker-{i}")));
    }
    for i in 0..nr_clients {
        tokio::spawn(place_orders(i, workers.clone()).traced_as(&format!("client-{i}")));
    }
}

// ---- echoes: connections over loopback ------------------------------------------------------

async fn echo_lines(mut stream: TcpStream) {
    let fd = stream.as_raw_fd() as u64;
    let mut line = [0; 64];
    while let Ok(n) = stream.read(&mut line).awaiting_on(Reason::IoRead, fd).await {
        if n == 0 || stream.write_all(&line[..n]).awaiting_on(Reason::IoWrite, fd).await.is_err() {
            return;
        }
    }
}

async fn accept_echoes(listener: TcpListener) {
    let fd = listener.as_raw_fd() as u64;
    let mut number = 0;
    while let Ok((stream, _)) = listener.accept().awaiting_on(Reason::Accept, fd).await {
        tokio::spawn(echo_lines(stream).traced_as(&format!("echo-{number}")));
        number += 1;
    }
}

async fn talk_to_echo(port: u16, pause: Duration) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).awaiting(Reason::Connect).await.unwrap();
    let fd = stream.as_raw_fd() as u64;
    let mut line = [0; 64];
    loop {
        if stream.write_all(b"hello").awaiting_on(Reason::IoWrite, fd).await.is_err() {
            return;
        }
        match stream.read(&mut line).awaiting_on(Reason::IoRead, fd).await {
            Ok(n) if n > 0 => sleep(pause).awaiting(Reason::Timer).await,
            _ => return,
        }
    }
}

/// Start a server on loopback and clients that talk to it until the runtime ends.
pub async fn spawn_echoes(nr_clients: u64) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(accept_echoes(listener).traced_as("acceptor"));
    for i in 0..nr_clients {
        tokio::spawn(talk_to_echo(port, ms(5 + i % 9)).traced_as(&format!("peer-{i}")));
    }
}

// ---- tickers ----------------------------------------------------------------------------------

async fn tick_forever(period: Duration) {
    loop {
        sleep(period).awaiting(Reason::Timer).await;
    }
}

/// Start periodic tasks that run until the runtime ends.
pub fn spawn_tickers(nr: u64) {
    for i in 0..nr {
        tokio::spawn(tick_forever(ms(7 + i % 13)).traced_as(&format!("ticker-{i}")));
    }
}
