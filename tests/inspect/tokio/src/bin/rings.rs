// SPDX-License-Identifier: MIT
//! Tasks that wait for each other's locks in a ring, and tasks that only look as if they did; the
//! test knows what each argument makes.
//!
//! rings ring N | join | clean | released | limited | kinds
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch, Barrier, Mutex, Notify, RwLock, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(50);

async fn take_two(first: Arc<Mutex<u32>>, second: Arc<Mutex<u32>>) {
    let mut one = first.lock().await;
    *one += 1;
    sleep(SHORT).await;
    let two = second.lock().await;
    *one += *two;
}

async fn take_and_release(first: Arc<Mutex<u32>>, second: Arc<Mutex<u32>>) {
    {
        let mut one = first.lock().await;
        *one += 1;
    }
    sleep(SHORT).await;
    *second.lock().await += 1;
}

async fn take_with_limit(first: Arc<Mutex<u32>>, second: Arc<Mutex<u32>>) {
    let mut one = first.lock().await;
    *one += 1;
    sleep(SHORT).await;
    if let Ok(two) = timeout(LONG, second.lock()).await {
        *one += *two;
    }
}

async fn join_holder(lock: Arc<Mutex<u32>>, child: oneshot::Receiver<JoinHandle<()>>) {
    let mut held = lock.lock_owned().await;
    *held += 1;
    child.await.unwrap().await.unwrap();
    *held += 1;
}

async fn join_child(lock: Arc<Mutex<u32>>) {
    *lock.lock().await += 1;
}

async fn contend(locks: Vec<Arc<Mutex<u32>>>, seed: usize) {
    let mut step = seed;
    loop {
        let low = step % locks.len();
        let high = low + 1 + step / 7 % (locks.len() - low);
        let mut one = locks[low].lock().await;
        sleep(Duration::from_millis(1)).await;
        if high < locks.len() {
            *one += *locks[high].lock().await;
        }
        drop(one);
        sleep(Duration::from_millis(step as u64 % 3)).await;
        step += 1;
    }
}

fn start_ring(count: usize, locks: &[Arc<Mutex<u32>>]) {
    for i in 0..count {
        tokio::spawn(take_two(locks[i].clone(), locks[(i + 1) % count].clone()));
    }
}

async fn start_join() {
    let lock = Arc::new(Mutex::new(0));
    let (give, take) = oneshot::channel();
    tokio::spawn(join_holder(lock.clone(), take));
    sleep(SHORT).await;
    give.send(tokio::spawn(join_child(lock))).unwrap();
}

async fn start_kinds() {
    let semaphore = Arc::new(Semaphore::new(0));
    let shared = Arc::new(RwLock::new(0));
    let notify = Arc::new(Notify::new());
    let barrier = Arc::new(Barrier::new(9));
    let (sender, mut items) = mpsc::channel::<u32>(1);
    let (state, mut changes) = watch::channel(0);
    let reader = shared.clone();
    let held = shared.write_owned().await;
    for _ in 0..2 {
        let (semaphore, notify, barrier) = (semaphore.clone(), notify.clone(), barrier.clone());
        tokio::spawn(async move { drop(semaphore.acquire().await) });
        tokio::spawn(async move { notify.notified().await });
        tokio::spawn(async move { drop(barrier.wait().await) });
    }
    tokio::spawn(async move { drop(reader.read().await) });
    tokio::spawn(async move {
        let _ = items.recv().await;
    });
    tokio::spawn(async move {
        let _ = changes.changed().await;
    });
    sleep(SHORT).await;
    std::mem::forget((sender, state, held));
}

async fn run(what: &str, count: usize) {
    let locks: Vec<_> = (0..count).map(|_| Arc::new(Mutex::new(0))).collect();
    match what {
        "ring" => start_ring(count, &locks),
        "join" => start_join().await,
        "released" => {
            for i in 0..count {
                tokio::spawn(take_and_release(
                    locks[i].clone(),
                    locks[(i + 1) % count].clone(),
                ));
            }
            for lock in &locks {
                std::mem::forget(lock.clone().lock_owned().await);
            }
        }
        "limited" => {
            for i in 0..count {
                tokio::spawn(take_with_limit(
                    locks[i].clone(),
                    locks[(i + 1) % count].clone(),
                ));
            }
        }
        "kinds" => start_kinds().await,
        _ => {
            for i in 0..16 {
                tokio::spawn(contend(locks.clone(), i));
            }
        }
    }
    sleep(4 * SHORT).await;
    println!("ready");
    sleep(LONG).await;
}

fn main() {
    let args: Vec<_> = std::env::args().collect();
    let count = args.get(2).map_or(4, |count| count.parse().unwrap());
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(run(args.get(1).map_or("ring", |what| what), count));
}
