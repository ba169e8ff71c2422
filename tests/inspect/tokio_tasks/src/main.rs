// SPDX-License-Identifier: MIT
//! Tasks of Tokio, and what a look must find; see the test for the words that it prints.
use std::future::Future;
use std::os::unix::io::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::poll_fn;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use tokio::sync::{mpsc, oneshot, Mutex, Notify, Semaphore};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{interval, sleep, timeout};

const LONG: Duration = Duration::from_secs(3600);

// ---- branches --------------------------------------------------------------------------

async fn leaf() -> u64 {
    sleep(LONG).await; // @leaf
    1
}

async fn middle(n: u64) -> u64 {
    tokio::task::yield_now().await;
    n + leaf().await // @middle
}

async fn selecting() -> u64 {
    let (_sender, mut queue) = mpsc::channel::<u64>(1);
    let first = leaf();
    tokio::pin!(first);
    tokio::select! { // @selecting
        a = &mut first => a,
        b = middle(3) => b,
        c = queue.recv() => c.unwrap_or(0),
        _ = async {}, if false => 0,
    }
}

async fn joining() -> u64 {
    let (a, b, c) = tokio::join!(leaf(), middle(1), async { 5 }); // @joining
    a + b + c
}

async fn trying() -> Result<u64, ()> {
    let one = async { Ok::<u64, ()>(leaf().await) }; // @one
    let two = async { Ok::<u64, ()>(middle(1).await) }; // @two
    let (a, b) = tokio::try_join!(one, two)?; // @trying
    Ok(a + b)
}

async fn unordered() -> u64 {
    let mut set: FuturesUnordered<_> = (0..5).map(middle).collect();
    set.next().await.unwrap_or(0) // @unordered
}

async fn all() -> usize {
    futures_util::future::join_all((0..3).map(middle)).await.len() // @all
}

async fn set() -> bool {
    let mut set = JoinSet::new();
    for n in 0..3 {
        set.spawn(middle(n));
    }
    set.join_next().await.is_some() // @set
}

type Boxed<'a> = Pin<Box<dyn Future<Output = u64> + Send + 'a>>;

async fn boxed() -> u64 {
    let any: Boxed = if std::env::args().count() > 9 { Box::pin(leaf()) } else { Box::pin(middle(2)) };
    any.await // @boxed
}

trait Service {
    fn call<'a>(&'a self) -> Boxed<'a>;
}

struct Answer;

impl Service for Answer {
    fn call<'a>(&'a self) -> Boxed<'a> {
        Box::pin(async move { middle(7).await }) // @call
    }
}

async fn serving(service: Box<dyn Service + Send + Sync>) -> u64 {
    service.call().await // @serving
}

async fn limited(notify: Arc<Notify>) -> bool {
    timeout(LONG, notify.notified()).await.is_ok() // @limited
}

async fn ticking() {
    let mut ticks = interval(LONG);
    ticks.tick().await;
    ticks.tick().await; // @ticking
}

async fn blocking(done: std::sync::mpsc::Receiver<()>) {
    let _ = tokio::task::spawn_blocking(move || done.recv()).await; // @blocking
}

// ---- descriptors -------------------------------------------------------------------------

fn descriptor(name: &str, fd: RawFd) {
    println!("descriptor {} {}", name, fd);
}

async fn accepting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    descriptor("accepting", listener.as_raw_fd());
    let _ = listener.accept().await; // @accepting
}

async fn connection() -> (TcpListener, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (listener, stream)
}

async fn reading() -> usize {
    let (_listener, mut stream) = connection().await;
    descriptor("reading", stream.as_raw_fd());
    let mut bytes = [0; 64];
    stream.read(&mut bytes).await.unwrap_or(0) // @reading
}

async fn lines() -> usize {
    let (_listener, stream) = connection().await;
    descriptor("lines", stream.as_raw_fd());
    let (half, _other) = stream.into_split();
    let mut line = String::new();
    BufReader::new(half).read_line(&mut line).await.unwrap_or(0) // @lines
}

async fn exact() -> usize {
    let (mut stream, _peer) = UnixStream::pair().unwrap();
    descriptor("exact", stream.as_raw_fd());
    let mut bytes = [0; 64];
    stream.read_exact(&mut bytes).await.unwrap_or(0) // @exact
}

async fn datagram() -> usize {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    descriptor("datagram", socket.as_raw_fd());
    let mut bytes = [0; 64];
    socket.recv(&mut bytes).await.unwrap_or(0) // @datagram
}

async fn either() -> usize {
    let (mut stream, _peer) = UnixStream::pair().unwrap();
    descriptor("either", stream.as_raw_fd());
    let mut bytes = [0; 64];
    tokio::select! { // @either
        n = stream.read(&mut bytes) => n.unwrap_or(0),
        n = leaf() => n as usize,
    }
}

async fn branches() {
    let (done, receiver) = std::sync::mpsc::channel();
    tokio::spawn(selecting());
    tokio::spawn(joining());
    tokio::spawn(trying());
    tokio::spawn(unordered());
    tokio::spawn(all());
    tokio::spawn(set());
    tokio::spawn(boxed());
    tokio::spawn(serving(Box::new(Answer)));
    let notify = Arc::new(Notify::new());
    tokio::spawn(limited(notify.clone()));
    tokio::spawn(ticking());
    tokio::spawn(blocking(receiver));
    tokio::spawn(accepting());
    tokio::spawn(reading());
    tokio::spawn(lines());
    tokio::spawn(exact());
    tokio::spawn(datagram());
    tokio::spawn(either());
    let local = LocalSet::new();
    local.spawn_local(leaf());
    local
        .run_until(async {
            sleep(Duration::from_millis(300)).await;
            println!("tasks 21");
            println!("ready");
            sleep(LONG).await // @main
        })
        .await;
    drop((done, notify));
}

// ---- faults --------------------------------------------------------------------------------

/// Pending, and no waker is kept.
async fn forgotten() {
    poll_fn(|_| Poll::<()>::Pending).await // @forgotten
}

/// The readiness is cleared, and nothing was read: no further event comes.
async fn cleared(stream: std::os::unix::net::UnixStream) {
    stream.set_nonblocking(true).unwrap();
    let stream = AsyncFd::new(stream).unwrap();
    loop {
        stream.readable().await.unwrap().clear_ready(); // @cleared
    }
}

struct Number(RawFd);

impl AsRawFd for Number {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

async fn closed(fd: RawFd) {
    let stream = AsyncFd::new(Number(fd)).unwrap();
    let _ = stream.readable().await; // @closed
}

async fn overdue() {
    sleep(Duration::from_millis(500)).await; // @overdue
}

async fn woken(answer: oneshot::Receiver<()>) {
    let _ = answer.await; // @woken
}

async fn faults() {
    use std::io::Write;
    for _ in 0..2 {
        tokio::spawn(forgotten());
    }
    let (mut writer, stream) = std::os::unix::net::UnixStream::pair().unwrap();
    writer.write_all(b"unread").unwrap();
    tokio::spawn(cleared(stream));
    let (other, stream) = std::os::unix::net::UnixStream::pair().unwrap();
    stream.set_nonblocking(true).unwrap();
    let fd = stream.as_raw_fd();
    std::mem::forget(stream);
    tokio::spawn(closed(fd));
    tokio::spawn(leaf());
    sleep(Duration::from_millis(200)).await;
    unsafe { libc::close(fd) };
    sleep(Duration::from_millis(1500)).await;
    println!("tasks 7");
    println!("ready");
    sleep(LONG).await; // @faults
    drop((writer, other));
}

/// A runtime that nothing drives any more.
fn abandoned() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (answer, receiver) = oneshot::channel();
    runtime.spawn(overdue());
    runtime.spawn(woken(receiver));
    runtime.block_on(async { sleep(Duration::from_millis(10)).await });
    let _ = answer.send(());
    runtime
}

// ---- nothing is wrong ------------------------------------------------------------------------

async fn echo(mut queue: mpsc::Receiver<u64>, back: mpsc::Sender<u64>) {
    while let Some(n) = queue.recv().await {
        if back.send(n + 1).await.is_err() {
            return;
        }
    }
}

async fn calm(is_busy: bool) {
    let mutex = Arc::new(Mutex::new(0));
    let held = mutex.clone().lock_owned().await;
    let (gate, notify) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
    let mut set = JoinSet::new();
    for n in 0..20 {
        let (mutex, gate, notify) = (mutex.clone(), gate.clone(), notify.clone());
        set.spawn(async move { *mutex.lock().await += 1 });
        set.spawn(async move { drop(gate.acquire().await) });
        set.spawn(async move { notify.notified().await });
        set.spawn(async move { middle(n).await; });
    }
    tokio::spawn(accepting());
    tokio::spawn(reading());
    tokio::spawn(selecting());
    tokio::spawn(joining());
    tokio::spawn(unordered());
    let (first, items) = mpsc::channel(1);
    let (second, answers) = mpsc::channel(1);
    tokio::spawn(echo(items, second));
    tokio::spawn(echo(answers, first.clone()));
    if is_busy {
        first.send(1).await.unwrap();
        for n in 1..4 {
            tokio::spawn(async move {
                let mut ticks = interval(Duration::from_millis(n));
                loop {
                    ticks.tick().await;
                }
            });
        }
    }
    sleep(Duration::from_millis(200)).await;
    println!("ready");
    set.join_next().await;
    drop((held, first));
}

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let one = std::env::args().any(|arg| arg == "current");
    let runtime = if one {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    } else {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
    };
    match mode.as_str() {
        "branches" => runtime.block_on(branches()),
        "faults" => {
            let other = abandoned();
            runtime.block_on(faults());
            drop(other);
        }
        "busy" => runtime.block_on(calm(true)),
        _ => runtime.block_on(calm(false)),
    }
}
