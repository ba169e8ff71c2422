// SPDX-License-Identifier: MIT
//! The audit entry of each large order is a future that is put in a list and never awaited.
//!
//! corpus: bug
//! class: never-run
//! at: @spawned
//! victims: audit-0, audit-9, audit-18, audit-27, audit-36
//! never: deadlock, closed-under-waiter, blocking, lost-wakeup

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread, spawn_tickers};
use std::future::Future;
use std::pin::Pin;
use tokio::time::sleep;

async fn write_audit(order: u64) {
    sleep(ms(2)).awaiting(Reason::Timer).await;
    println!("order {order}");
}

async fn handle_order(order: u64) {
    for step in 0..3 {
        sleep(ms(4 + (order + step) % 7)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    let mut audits: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
    runtime.block_on(async {
        spawn_tickers(5);
        for order in 0..45 {
            tokio::spawn(handle_order(order).traced_as(&format!("order-{order}")));
            if order % 9 == 0 {
                let audit = write_audit(order).traced_as(&format!("audit-{order}")); // @spawned
                audits.push(Box::pin(audit));
            }
            sleep(ms(15)).await;
        }
        sleep(ms(500)).await;
    });
    println!("{} audits", audits.len());
    std::mem::forget(runtime);
    std::process::exit(0);
}
