// SPDX-License-Identifier: MIT
//! A key-value server and its clients on Tokio, traced by one line: no task names corotracer.
//!
//! usage: whole-program layer|hooks
//!
//! The ledger has a row for each task, with the line that spawns it as the name.

use corotracer_rust_tests::{counted, report};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{oneshot, Mutex};

const CLIENTS: usize = 8;
const REQUESTS: usize = 20;

type Store = Arc<Mutex<HashMap<String, String>>>;

macro_rules! here {
    ($future:expr) => {
        counted(&line!().to_string(), 0, $future)
    };
}

async fn answer(store: &Store, request: &str) -> String {
    let mut words = request.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some("set"), Some(key), Some(value)) => {
            let mut map = store.lock().await;
            tokio::task::yield_now().await; // others find the lock held
            map.insert(key.to_string(), value.to_string());
            "stored\n".to_string()
        }
        (Some("get"), Some(key), None) => {
            store.lock().await.get(key).map_or("none\n".to_string(), |value| format!("{value}\n"))
        }
        _ => "unknown\n".to_string(),
    }
}

async fn serve(stream: TcpStream, store: Store) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    while stream.read_line(&mut request).await? > 0 {
        let reply = answer(&store, &request).await;
        stream.write_all(reply.as_bytes()).await?;
        request.clear();
    }
    Ok(())
}

async fn accept(listener: TcpListener, store: Store) {
    while let Ok((stream, _)) = listener.accept().await {
        drop(tokio::spawn(here!(serve(stream, store.clone()))));
    }
}

async fn client(port: u16, number: usize) -> io::Result<()> {
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).await?);
    for i in 0..REQUESTS {
        let mut reply = String::new();
        stream.write_all(format!("set {number}-{i} {i}\nget {number}-{i}\n").as_bytes()).await?;
        stream.read_line(&mut reply).await?;
        stream.read_line(&mut reply).await?;
        assert_eq!(reply, format!("stored\n{i}\n"));
    }
    Ok(())
}

async fn tick(nr: u32, done: oneshot::Sender<()>) {
    for _ in 0..nr {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let _ = done.send(());
}

async fn program() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let acceptor = tokio::spawn(here!(accept(listener, Store::default())));
    let (done, ticked) = oneshot::channel();
    let ticker = tokio::spawn(here!(tick(20, done)));
    let waiter = tokio::spawn(here!(ticked));
    let clients: Vec<_> = (0..CLIENTS).map(|i| tokio::spawn(here!(client(port, i)))).collect();
    for task in clients {
        task.await.expect("no panic").expect("no error");
    }
    ticker.await.expect("no panic");
    waiter.await.expect("no panic").expect("it was sent");
    acceptor.abort();
    let _ = acceptor.await;
}

#[tokio::main(worker_threads = 2)]
async fn with_layer() {
    corotracer_tokio::init();
    program().await;
}

fn with_hooks() {
    let mut builder = Builder::new_multi_thread();
    let runtime = corotracer_tokio::trace_runtime(builder.worker_threads(2).enable_all()).build();
    runtime.expect("a runtime").block_on(program());
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("layer") => with_layer(),
        Some("hooks") => with_hooks(),
        _ => panic!("usage: whole-program layer|hooks"),
    }
    report(&[]);
}
