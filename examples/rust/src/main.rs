// SPDX-License-Identifier: MIT
//! tokio-server - a small HTTP server on Tokio whose tasks are traced.
//!
//! ```text
//! corotracer run -o trace.jsonl -- tokio-server 0 &     # port 0: any; it says which
//! ab -n 2000 -c 20 -k http://127.0.0.1:PORT/
//! curl http://127.0.0.1:PORT/quit
//! corotracer info trace.jsonl
//! ```
//!
//! Four kinds of tasks: one accepts, one per connection serves, one counts (the others ask it
//! through a channel), one ticks.  Tracing is `.traced_as(name)` where a task is spawned, and
//! `.awaiting_on(why, what)` on an await that should have a reason and a resource in the trace.

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use std::io;
use std::os::unix::io::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, Notify};
use tokio::time::sleep;

/// A request of a connection to the counting task: the next number.
type Ask = oneshot::Sender<u64>;

struct Server {
    counter: mpsc::Sender<Ask>,
    quit: Notify,
    accepted: AtomicU64,
    connected: AtomicU64,
    served: AtomicU64,
    ticks: AtomicU64,
}

/// The path of the next request; None: the client has closed the connection.
async fn read_request(stream: &mut TcpStream, pending: &mut Vec<u8>) -> io::Result<Option<String>> {
    let fd = stream.as_raw_fd() as u64;
    loop {
        if let Some(end) = pending.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&pending[..end]).into_owned();
            pending.drain(..end + 4);
            return Ok(Some(head.split(' ').nth(1).unwrap_or("/").to_string()));
        }
        if pending.len() > 64 * 1024 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a request without end"));
        }
        let mut part = [0; 4096];
        match stream.read(&mut part).awaiting_on(Reason::IoRead, fd).await? {
            0 => return Ok(None),
            n => pending.extend_from_slice(&part[..n]),
        }
    }
}

async fn next_number(server: &Server) -> u64 {
    let (ask, answer) = oneshot::channel();
    if server.counter.send(ask).awaiting(Reason::ChannelSend).await.is_err() {
        return 0;
    }
    answer.awaiting(Reason::ChannelRecv).await.unwrap_or(0)
}

async fn serve(mut stream: TcpStream, server: Arc<Server>) -> io::Result<()> {
    let fd = stream.as_raw_fd() as u64;
    let mut pending = Vec::new();
    while let Some(path) = read_request(&mut stream, &mut pending).await? {
        let number = next_number(&server).await;
        let connected = server.connected.load(Ordering::Relaxed);
        let body = format!("you are number {number}, {connected} connected\n");
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: keep-alive\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).awaiting_on(Reason::IoWrite, fd).await?;
        server.served.fetch_add(1, Ordering::Relaxed);
        if path == "/quit" {
            server.quit.notify_one();
        }
    }
    Ok(())
}

async fn accept(listener: TcpListener, server: Arc<Server>) {
    let fd = listener.as_raw_fd() as u64;
    loop {
        let stream = match listener.accept().awaiting_on(Reason::Accept, fd).await {
            Ok((stream, _)) => stream,
            Err(_) => continue, // an error of one connection, not of the listener
        };
        server.accepted.fetch_add(1, Ordering::Relaxed);
        server.connected.fetch_add(1, Ordering::Relaxed);
        let server = server.clone();
        let connection = async move {
            // A client that disconnects early does not affect the others.
            let _ = serve(stream, server.clone()).await;
            server.connected.fetch_sub(1, Ordering::Relaxed);
        };
        tokio::spawn(connection.traced_as("connection"));
    }
}

async fn count(mut asked: mpsc::Receiver<Ask>) {
    let mut number = 0;
    while let Some(ask) = asked.recv().awaiting(Reason::ChannelRecv).await {
        number += 1;
        let _ = ask.send(number);
    }
}

async fn tick(server: Arc<Server>) {
    loop {
        sleep(Duration::from_millis(10)).awaiting(Reason::Timer).await;
        server.ticks.fetch_add(1, Ordering::Relaxed);
    }
}

async fn run(port: u16) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on {}", listener.local_addr()?);
    let (counter, asked) = mpsc::channel(16);
    let server = Arc::new(Server {
        counter,
        quit: Notify::new(),
        accepted: AtomicU64::new(0),
        connected: AtomicU64::new(0),
        served: AtomicU64::new(0),
        ticks: AtomicU64::new(0),
    });
    tokio::spawn(count(asked).traced_as("counter"));
    tokio::spawn(tick(server.clone()).traced_as("ticker"));
    tokio::spawn(accept(listener, server.clone()).traced_as("acceptor"));
    server.quit.notified().await;
    println!(
        "accepted {} served {} ticks {}",
        server.accepted.load(Ordering::Relaxed),
        server.served.load(Ordering::Relaxed),
        server.ticks.load(Ordering::Relaxed)
    );
    Ok(())
}

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).and_then(|p| p.parse().ok()).unwrap_or(0);
    init_tracer();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(run(port))?;
    // Connections that are still open stay open until the process ends, and the trace shows them.
    std::mem::forget(runtime);
    Ok(())
}
