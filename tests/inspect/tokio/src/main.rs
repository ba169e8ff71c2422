// SPDX-License-Identifier: MIT
//! Tasks that wait, and what a look must find: `expect COUNT PLACE...`, innermost place first.
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, Mutex};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const LONG: Duration = Duration::from_secs(3600);

async fn leaf() -> u64 {
    sleep(LONG).await; // @leaf
    1
}

async fn middle() -> u64 {
    let before = 2;
    before + leaf().await // @middle
}

async fn limited() -> bool {
    timeout(LONG, leaf()).await.is_ok() // @limited
}

async fn boxed() -> u64 {
    Box::pin(middle()).await // @boxed
}

async fn locked(mutex: Arc<Mutex<u32>>) {
    *mutex.lock().await += 1; // @locked
}

async fn answered(answer: oneshot::Receiver<u32>) -> bool {
    answer.await.is_ok() // @answered
}

async fn received(mut queue: mpsc::Receiver<u32>) -> bool {
    queue.recv().await.is_some() // @received
}

async fn joined(task: tokio::task::JoinHandle<u64>) -> bool {
    task.await.is_ok() // @joined
}

async fn run() {
    let mutex = Arc::new(Mutex::new(0));
    let held = mutex.clone().lock_owned().await;
    let (answer, receiver) = oneshot::channel();
    let (queue, items) = mpsc::channel(1);
    let mut set = JoinSet::new();
    for _ in 0..5 {
        set.spawn(middle());
    }
    tokio::spawn(limited());
    tokio::spawn(boxed());
    tokio::spawn(locked(mutex.clone()));
    tokio::spawn(answered(receiver));
    tokio::spawn(received(items));
    tokio::spawn(joined(tokio::spawn(middle())));
    tokio::spawn(async { 1 }).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    println!("expect 6 leaf middle");
    println!("expect 1 leaf limited");
    println!("expect 1 leaf middle boxed");
    println!("expect 1 * * * locked");
    println!("expect 1 answered");
    println!("expect 1 * received");
    println!("expect 1 joined");
    println!("ready");
    sleep(LONG).await;
    drop((held, answer, queue, set));
}

fn main() {
    if std::env::args().any(|arg| arg == "current") {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run());
    } else {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap()
            .block_on(run());
    }
}
