// SPDX-License-Identifier: MIT
//! Tasks of Tokio that wait, for bench/why.sh: N of them, of five kinds in equal parts.
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, Mutex, Notify};

const LONG: Duration = Duration::from_secs(3600);

async fn leaf() -> u64 {
    tokio::time::sleep(LONG).await;
    1
}

async fn middle(n: u64) -> u64 {
    n + leaf().await
}

async fn receiving(mut queue: mpsc::Receiver<u64>) -> u64 {
    queue.recv().await.unwrap_or(0)
}

async fn locking(lock: Arc<Mutex<u64>>) {
    *lock.lock().await += 1;
}

async fn notified(notify: Arc<Notify>) {
    notify.notified().await
}

async fn selecting(notify: Arc<Notify>) -> u64 {
    let first = leaf();
    tokio::pin!(first);
    tokio::select! {
        n = &mut first => n,
        n = middle(1) => n,
        _ = notify.notified() => 0,
    }
}

fn main() {
    let nr: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(10_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (lock, notify) = (Arc::new(Mutex::new(0)), Arc::new(Notify::new()));
    let mut senders = Vec::new();
    let held = lock.clone().try_lock_owned();
    for n in 0..nr {
        match n % 5 {
            0 => drop(runtime.spawn(middle(n))),
            1 => {
                let (sender, queue) = mpsc::channel(1);
                senders.push(sender);
                drop(runtime.spawn(receiving(queue)));
            }
            2 => drop(runtime.spawn(locking(lock.clone()))),
            3 => drop(runtime.spawn(notified(notify.clone()))),
            _ => drop(runtime.spawn(selecting(notify.clone()))),
        }
    }
    std::thread::sleep(Duration::from_millis(500));
    println!("ready");
    std::thread::sleep(LONG);
    drop((held, senders));
}
