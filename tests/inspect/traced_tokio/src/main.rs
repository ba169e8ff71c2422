// SPDX-License-Identifier: MIT
//! Tasks that are traced by the SDK, and wait for an hour.  With the name of a file, also tasks that do not say where,
//! one of which goes on when that file exists.
use corotracer::{AwaitExt, Reason, TraceFutureExt};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

async fn client(number: u64) {
    tokio::time::sleep(Duration::from_millis(1)).await;
    tokio::time::sleep(Duration::from_secs(3600)).awaiting_on(Reason::Timer, 1000 + number).await; // @client
}

async fn quiet() {
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<u64>(1);
    std::mem::forget(sender);
    receiver.recv().await; // @quiet
}

async fn mover(first: Arc<Notify>) {
    first.notified().await; // @first
    Notify::new().notified().await; // @second
}

/// Waits until the file exists, then lets the mover go on.
fn move_when(path: &str, first: &Notify) {
    while !std::path::Path::new(path).exists() {
        std::thread::sleep(Duration::from_millis(100));
    }
    first.notify_one();
    std::thread::sleep(Duration::from_millis(100));
    std::fs::write(format!("{path}.done"), "").unwrap();
}

fn main() {
    let clients = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    corotracer::init_tracer();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    for number in 0..clients {
        runtime.spawn(client(number).traced_as(&format!("client {number}")));
    }
    let (path, first) = (std::env::args().nth(2), Arc::new(Notify::new()));
    if path.is_some() {
        runtime.spawn(async { quiet().await }.traced_as("quiet"));
        runtime.spawn(mover(first.clone()).traced_as("mover"));
    }
    std::thread::sleep(Duration::from_millis(300));
    println!("ready");
    std::io::stdout().flush().unwrap();
    if let Some(path) = path {
        move_when(&path, &first);
    }
    std::thread::sleep(Duration::from_secs(3600));
}
