// SPDX-License-Identifier: MIT
//! A server with twelve keep-alive connections.  All of them were active, and all but one are silent
//! when the program ends: clients that keep a connection open and ask nothing.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread};
use std::os::unix::io::AsRawFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

async fn serve_connection(mut stream: TcpStream) {
    let fd = stream.as_raw_fd() as u64;
    let mut request = [0; 256];
    loop {
        let n = match stream.read(&mut request).awaiting_on(Reason::IoRead, fd).await {
            Ok(n) if n > 0 => n,
            _ => return,
        };
        sleep(ms(1 + n as u64 % 3)).awaiting(Reason::Timer).await;
        if stream.write_all(b"200 OK\n").awaiting_on(Reason::IoWrite, fd).await.is_err() {
            return;
        }
    }
}

async fn accept_connections(listener: TcpListener) {
    let fd = listener.as_raw_fd() as u64;
    let mut number = 0;
    while let Ok((stream, _)) = listener.accept().awaiting_on(Reason::Accept, fd).await {
        tokio::spawn(serve_connection(stream).traced_as(&format!("conn-{number}")));
        number += 1;
    }
}

/// A client outside of the trace: it asks some times and keeps the connection.
async fn ask_and_keep(port: u16, requests: usize) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let mut answer = [0; 64];
    for _ in 0..requests {
        stream.write_all(b"GET /\n").await.unwrap();
        assert!(stream.read(&mut answer).await.unwrap() > 0);
        sleep(ms(4)).await;
    }
    stream
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(accept_connections(listener).traced_as("acceptor"));
        let clients: Vec<_> = (0..11).map(|n| tokio::spawn(ask_and_keep(port, 5 + n * 3))).collect();
        tokio::spawn(ask_and_keep(port, usize::MAX));
        let mut kept = Vec::new();
        for client in clients {
            kept.push(client.await.unwrap());
        }
        sleep(ms(1300)).await;
        println!("{} connections", kept.len());
        std::process::exit(0);
    });
}
