// SPDX-License-Identifier: MIT
//! A pool of four connections is a semaphore.  When a query fails its permit is forgotten, as if the
//! connection were replaced; but nothing adds a permit.  After four failures every query waits.
//!
//! corpus: bug
//! class: abandoned-lock|lost-wakeup|stalled
//! at: @stuck
//! victims: query-0, query-1, query-2, query-3, query-4, query-5, query-6, query-7
//! also: caller-*
//! never: deadlock, closed-under-waiter, blocking, busy-yield

use corotracer::{acquired, init_tracer, released, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, ms, multi_thread, run_time, spawn_echoes};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::time::sleep;

async fn run_query(client: u64, number: u64, pool: Arc<Semaphore>) -> Result<(), ()> {
    let permits = address_of(&*pool);
    let permit = pool.acquire().awaiting_on(Reason::Semaphore, permits).await.map_err(|_| ())?; // @stuck
    acquired(permits);
    sleep(ms(2 + (client + number) % 5)).awaiting(Reason::Timer).await;
    if number == 20 + client * 3 {
        permit.forget(); // the bug
        return Err(());
    }
    released(permits);
    Ok(())
}

async fn query_often(client: u64, pool: Arc<Semaphore>) {
    let mut failed = 0;
    for number in 0.. {
        let query = run_query(client, number, pool.clone()).traced_as(&format!("query-{client}"));
        let id = query.trace().id();
        let result = tokio::spawn(query).awaiting_on(Reason::Join, id).await.unwrap();
        failed += result.is_err() as u64;
        sleep(ms(4 + failed)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_echoes(4).await;
        let pool = Arc::new(Semaphore::new(4));
        for client in 0..8 {
            tokio::spawn(query_often(client, pool.clone()).traced_as(&format!("caller-{client}")));
        }
        sleep(run_time(1900)).await;
    });
    std::mem::forget(runtime);
}
