// SPDX-License-Identifier: MIT
//! A std Mutex around a cache; the refresher holds it while it computes for 80 ms, and requests on the
//! same threads wait in lock(), a system call, instead of in an await.
//!
//! corpus: bug
//! class: blocking
//! victims: refresher
//! also: request *
//! never: deadlock, lost-wakeup, never-yielded

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use corotracer::{AwaitExt, Reason, TraceFutureExt};
use tokio::time::sleep;

type Cache = Arc<Mutex<HashMap<u32, u64>>>;

async fn refresher(cache: Cache) {
    for round in 0..12u64 {
        sleep(Duration::from_millis(60)).awaiting(Reason::Timer).await;
        let mut cache = cache.lock().unwrap();
        let start = Instant::now();
        let mut n = round;
        while start.elapsed() < Duration::from_millis(80) {
            for key in 0..500 {
                n = n.wrapping_mul(6364136223846793005).wrapping_add(1);
                cache.insert(key, n);
            }
        }
    }
}

async fn request(cache: Cache, number: u32) {
    let mut sum = 0u64;
    for _ in 0..150 {
        sleep(Duration::from_millis(7)).awaiting(Reason::Timer).await;
        sum = sum.wrapping_add(*cache.lock().unwrap().get(&number).unwrap_or(&0));
    }
    assert!(sum < u64::MAX);
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub async fn main() {
    corotracer::init_tracer();
    let cache: Cache = Arc::default();
    let mut all = vec![tokio::spawn(refresher(cache.clone()).traced_as("refresher"))];
    for i in 0..6 {
        all.push(tokio::spawn(request(cache.clone(), i).traced_as(&format!("request {i}"))));
    }
    for task in all {
        let _ = task.await;
    }
}
