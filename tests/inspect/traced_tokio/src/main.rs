// SPDX-License-Identifier: MIT
//! Tasks that are traced by the SDK, and wait for an hour.
use corotracer::{AwaitExt, Reason, TraceFutureExt};
use std::io::Write;
use std::time::Duration;

async fn client(number: u64) {
    tokio::time::sleep(Duration::from_millis(1)).await;
    tokio::time::sleep(Duration::from_secs(3600)).awaiting_on(Reason::Timer, 1000 + number).await; // @client
}

fn main() {
    let clients = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    corotracer::init_tracer();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    for number in 0..clients {
        runtime.spawn(client(number).traced_as(&format!("client {number}")));
    }
    std::thread::sleep(Duration::from_millis(300));
    println!("ready");
    std::io::stdout().flush().unwrap();
    std::thread::sleep(Duration::from_secs(3600));
}
