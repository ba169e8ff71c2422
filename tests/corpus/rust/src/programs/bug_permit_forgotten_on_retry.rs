// SPDX-License-Identifier: MIT
//! A limit of three uploads; the retry path forgets its permit on purpose ("it will be taken again
//! below") and then returns.
//!
//! corpus: bug
//! class: abandoned-lock|stalled|lost-wakeup
//! at: @slot
//! victims: upload *
//! never: deadlock

use std::sync::Arc;
use std::time::Duration;

use corotracer::{acquired, released, AwaitExt, Reason, TraceFutureExt};
use tokio::sync::Semaphore;
use tokio::time::sleep;

async fn upload(slots: Arc<Semaphore>, number: u32) {
    let id = Arc::as_ptr(&slots) as u64;
    let permit = slots.acquire().awaiting_on(Reason::Semaphore, id).await.unwrap(); // @slot
    acquired(id);
    sleep(Duration::from_millis(12)).awaiting(Reason::Timer).await;
    if number % 11 == 10 {
        permit.forget(); // the bug
        return;
    }
    released(id);
    drop(permit);
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub async fn main() {
    corotracer::init_tracer();
    let slots = Arc::new(Semaphore::new(3));
    for i in 0..90 {
        tokio::spawn(upload(slots.clone(), i).traced_as(&format!("upload {i}")));
        sleep(Duration::from_millis(14)).await;
    }
    sleep(Duration::from_millis(600)).await;
    std::process::exit(0);
}
