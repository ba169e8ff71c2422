// SPDX-License-Identifier: MIT
//! A task holds the lock of a cache while it joins a task that needs the same lock.
//!
//! corpus: bug
//! class: deadlock
//! at: @stuck|@joined
//! victims: refresh, fill
//! also: lookup-*
//! never: lost-wakeup, closed-under-waiter, blocking

use corotracer::{acquired, init_tracer, released, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, ms, multi_thread, run_time, spawn_echoes};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::time::sleep;

type Cache = Mutex<HashMap<u64, u64>>;

async fn fill_entry(cache: Arc<Cache>, key: u64) {
    sleep(ms(5)).awaiting(Reason::Timer).await;
    let mut entries = cache.lock().awaiting_on(Reason::Mutex, address_of(&*cache)).await; // @stuck
    acquired(address_of(&*cache));
    entries.insert(key, key * key);
    released(address_of(&*cache));
}

async fn refresh_cache(cache: Arc<Cache>) {
    for key in 0.. {
        let mut entries = cache.lock().awaiting_on(Reason::Mutex, address_of(&*cache)).await;
        acquired(address_of(&*cache));
        let old = entries.remove(&(key / 2));
        if old.is_none() || key < 20 {
            released(address_of(&*cache));
            drop(entries);
            sleep(ms(4)).awaiting(Reason::Timer).await;
            fill_entry(cache.clone(), key).await;
            continue;
        }
        // An old entry was found: it is filled again, while `entries` is still locked.
        let fill = fill_entry(cache.clone(), key).traced_as("fill");
        let child = fill.trace().id();
        tokio::spawn(fill).awaiting_on(Reason::Join, child).await.unwrap(); // @joined
        released(address_of(&*cache));
    }
}

async fn look_up(cache: Arc<Cache>, key: u64) {
    loop {
        let entries = cache.lock().awaiting_on(Reason::Mutex, address_of(&*cache)).await;
        acquired(address_of(&*cache));
        let _ = entries.get(&key);
        released(address_of(&*cache));
        drop(entries);
        sleep(ms(11 + key)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    multi_thread(2).block_on(async {
        spawn_echoes(4).await;
        let cache = Arc::new(Cache::default());
        for key in 0..3 {
            tokio::spawn(look_up(cache.clone(), key).traced_as(&format!("lookup-{key}")));
        }
        tokio::spawn(refresh_cache(cache).traced_as("refresh"));
        sleep(run_time(1500)).await;
        std::process::exit(0);
    });
}
