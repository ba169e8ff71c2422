// SPDX-License-Identifier: MIT
//! Users arrive all the time, log in, and are silent; no user leaves during the run.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_tickers};
use std::os::unix::io::AsRawFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

async fn serve_user(mut stream: TcpStream) {
    let fd = stream.as_raw_fd() as u64;
    let mut line = [0; 128];
    while let Ok(n) = stream.read(&mut line).awaiting_on(Reason::IoRead, fd).await {
        if n == 0 || stream.write_all(b"welcome\n").awaiting_on(Reason::IoWrite, fd).await.is_err() {
            return;
        }
    }
}

async fn accept_users(listener: TcpListener) {
    let fd = listener.as_raw_fd() as u64;
    while let Ok((stream, _)) = listener.accept().awaiting_on(Reason::Accept, fd).await {
        tokio::spawn(serve_user(stream).traced_as("user"));
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_tickers(4);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(accept_users(listener).traced_as("acceptor"));
        let mut users = Vec::new();
        for _ in 0..120 {
            let mut user = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            user.write_all(b"login\n").await.unwrap();
            user.read_exact(&mut [0; 8]).await.unwrap();
            users.push(user);
            sleep(ms(11)).await;
        }
        sleep(ms(200)).await;
        std::process::exit(0);
    });
}
