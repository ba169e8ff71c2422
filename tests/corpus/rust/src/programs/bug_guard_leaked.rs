// SPDX-License-Identifier: MIT
//! A session keeps an owned lock guard in a structure that refers to itself: the session ends, and
//! the guard is never dropped.  The next session waits for a lock whose holder has ended.
//!
//! corpus: bug
//! class: abandoned-lock|lost-wakeup
//! at: @stuck
//! victims: session-12
//! never: deadlock, closed-under-waiter, blocking

use corotracer::{acquired, init_tracer, released, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{address_of, ms, multi_thread, run_time, spawn_echoes};
use std::sync::{Arc, Mutex as StdMutex};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::sleep;

struct Session {
    guard: Option<OwnedMutexGuard<u64>>,
    observer: StdMutex<Option<Arc<Session>>>, // of the session itself: a cycle
}

async fn run_session(number: u64, device: Arc<Mutex<u64>>) {
    let lock = address_of(&*device);
    let guard = device.lock_owned().awaiting_on(Reason::Mutex, lock).await; // @stuck
    acquired(lock);
    sleep(ms(3 + number % 4)).awaiting(Reason::Timer).await;
    let session = Arc::new(Session { guard: Some(guard), observer: StdMutex::new(None) });
    if number == 11 {
        *session.observer.lock().unwrap() = Some(session.clone()); // the bug
        return;
    }
    if session.guard.is_some() {
        released(lock);
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        spawn_echoes(6).await;
        let device = Arc::new(Mutex::new(0));
        for number in 0..13 {
            tokio::spawn(run_session(number, device.clone()).traced_as(&format!("session-{number}")));
            sleep(ms(30)).await;
        }
        sleep(run_time(1200)).await;
    });
    std::mem::forget(runtime);
}
