// SPDX-License-Identifier: MIT
//! Five reservations each hold a seat and want the next one: tokio's async mutexes, with the SDK's
//! acquired() and released().
//!
//! corpus: bug
//! class: deadlock
//! at: @neighbour
//! victims: party 0, party 1, party 2, party 3, party 4
//! also: main
//! never: lost-wakeup, abandoned-lock

use std::sync::Arc;
use std::time::Duration;

use corotracer::{acquired, released, AwaitExt, Reason, TraceFutureExt};
use tokio::sync::Mutex;
use tokio::time::sleep;

type Seats = Arc<Vec<Mutex<u32>>>;

fn id(seat: &Mutex<u32>) -> u64 {
    seat as *const _ as u64
}

async fn reserve(seats: &Seats, me: usize, think: u64) {
    let first = &seats[me];
    let second = &seats[(me + 1) % seats.len()];
    let mut a = first.lock().awaiting_on(Reason::Mutex, id(first)).await; // @own
    acquired(id(first));
    sleep(Duration::from_millis(think)).awaiting(Reason::Timer).await;
    let mut b = second.lock().awaiting_on(Reason::Mutex, id(second)).await; // @neighbour
    acquired(id(second));
    *a += 1;
    *b += 1;
    released(id(second));
    drop(b);
    released(id(first));
    drop(a);
}

async fn party(seats: Seats, me: usize) {
    sleep(Duration::from_millis(11 * me as u64)).awaiting(Reason::Timer).await;
    for round in 0..30 {
        reserve(&seats, me, if round < 8 { 1 } else { 90 }).await;
        sleep(Duration::from_millis(60)).awaiting(Reason::Timer).await;
    }
}

async fn board() {
    loop {
        sleep(Duration::from_millis(50)).awaiting(Reason::Timer).await;
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub async fn main() {
    corotracer::init_tracer();
    let seats: Seats = Arc::new((0..5).map(Mutex::new).collect());
    tokio::spawn(board().traced_as("board"));
    for i in 0..5 {
        tokio::spawn(party(seats.clone(), i).traced_as(&format!("party {i}")));
    }
    sleep(Duration::from_millis(2800)).await;
    std::process::exit(0);
}
