// SPDX-License-Identifier: MIT
//! A server on smol's executor with two threads: connections come, ask and leave; some stay.
//!
//! corpus: clean

use async_executor::Executor;
use async_io::{Async, Timer};
use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::ms;
use futures_lite::future::{block_on, pending};
use futures_lite::io::{AsyncReadExt, AsyncWriteExt};
use std::net::{TcpListener, TcpStream};
use std::os::unix::io::AsRawFd;
use std::sync::Arc;

type Pool = Arc<Executor<'static>>;

async fn answer_asks(mut stream: Async<TcpStream>) {
    let fd = stream.as_raw_fd() as u64;
    let mut ask = [0; 64];
    while let Ok(n) = stream.read(&mut ask).awaiting_on(Reason::IoRead, fd).await {
        if n == 0 || stream.write_all(&ask[..n]).awaiting_on(Reason::IoWrite, fd).await.is_err() {
            return;
        }
    }
}

async fn accept_asks(listener: Async<TcpListener>, pool: Pool) {
    let fd = listener.as_raw_fd() as u64;
    while let Ok((stream, _)) = listener.accept().awaiting_on(Reason::Accept, fd).await {
        pool.spawn(answer_asks(stream).traced_as("answer")).detach();
    }
}

async fn ask_server(port: u16, number: u64) {
    let stays = number % 3 == 0;
    let mut stream = Async::<TcpStream>::connect(([127, 0, 0, 1], port)).await.unwrap();
    let mut answer = [0; 64];
    for _ in 0..20 {
        stream.write_all(b"ask").await.unwrap();
        assert!(stream.read(&mut answer).awaiting(Reason::IoRead).await.unwrap() > 0);
        Timer::after(ms(4 + number % 7)).awaiting(Reason::Timer).await;
    }
    if stays {
        pending::<()>().awaiting(Reason::User).await;
    }
}

pub fn main() {
    init_tracer();
    let pool: Pool = Arc::new(Executor::new());
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
    let port = listener.get_ref().local_addr().unwrap().port();
    pool.spawn(accept_asks(listener, pool.clone()).traced_as("acceptor")).detach();
    let second = pool.clone();
    std::thread::spawn(move || block_on(second.run(pending::<()>())));
    block_on(pool.run(async {
        for number in 0..30 {
            pool.spawn(ask_server(port, number)).detach(); // clients are not traced
            Timer::after(ms(20)).await;
        }
        Timer::after(ms(700)).await;
    }));
    std::process::exit(0);
}
