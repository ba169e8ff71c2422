// SPDX-License-Identifier: MIT
//! Thirty keep-alive connections, most of them silent after two requests; Ctrl-C is not pressed, the
//! process just exits.
//!
//! corpus: clean
//! never: deadlock, leak, closed-under-waiter, starvation

use std::time::Duration;

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

async fn serve(mut socket: TcpStream) {
    let mut buffer = [0u8; 256];
    loop {
        match socket.read(&mut buffer).awaiting(Reason::IoRead).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if socket.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.is_err() {
            return;
        }
    }
}

async fn accept(listener: TcpListener) {
    let mut number = 0;
    while let Ok((socket, _)) = listener.accept().awaiting(Reason::Accept).await {
        tokio::spawn(serve(socket).traced_as(&format!("connection {number}")));
        number += 1;
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub async fn main() {
    corotracer::init_tracer();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(accept(listener).traced_as("accept"));
    let mut clients = Vec::new();
    for i in 0..30 {
        let mut client = TcpStream::connect(address).await.unwrap();
        let mut answer = [0u8; 64];
        for _ in 0..1 + i % 3 {
            client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            let _ = client.read(&mut answer).await.unwrap();
        }
        clients.push(client);
        sleep(Duration::from_millis(12)).await;
    }
    for round in 0..20 {
        let client = &mut clients[round % 5];
        let mut answer = [0u8; 64];
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let _ = client.read(&mut answer).await.unwrap();
        sleep(Duration::from_millis(70)).await;
    }
    std::process::exit(0);
}
