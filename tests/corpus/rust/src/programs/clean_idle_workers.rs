// SPDX-License-Identifier: MIT
//! A pool of 16 workers that share one queue.  The work is done, and the workers wait for more when
//! the program ends.  Tracing without reasons.
//!
//! corpus: clean

use corotracer::{init_tracer, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use tokio::sync::{mpsc, Mutex};
use tokio::time::sleep;

struct Pool {
    jobs: Mutex<mpsc::Receiver<u64>>,
    done: AtomicU64,
}

async fn work_in_pool(pool: Arc<Pool>) {
    loop {
        let job = pool.jobs.lock().await.recv().await;
        match job {
            Some(job) => sleep(ms(3 + job % 6)).await,
            None => return,
        }
        pool.done.fetch_add(1, Ordering::Relaxed);
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        let (submit, jobs) = mpsc::channel(32);
        let pool = Arc::new(Pool { jobs: Mutex::new(jobs), done: AtomicU64::new(0) });
        for _ in 0..16 {
            tokio::spawn(work_in_pool(pool.clone()).traced_as("pool-worker"));
        }
        for job in 0..400 {
            submit.send(job).await.unwrap();
            if job % 20 == 0 {
                sleep(ms(10)).await;
            }
        }
        while pool.done.load(Ordering::Relaxed) < 400 {
            sleep(ms(5)).await;
        }
        sleep(ms(800)).await;
        std::process::exit(0);
    });
}
