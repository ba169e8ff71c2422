// SPDX-License-Identifier: MIT
//! Tasks of smol's executor, and what a look must find: `expect COUNT PLACE...`, innermost first.
use std::time::Duration;

use async_executor::Executor;
use async_io::Timer;

const LONG: Duration = Duration::from_secs(3600);

async fn leaf() -> u64 {
    Timer::after(LONG).await; // @leaf
    1
}

async fn middle(n: u64) -> u64 {
    futures_lite::future::yield_now().await;
    leaf().await + n // @middle
}

async fn received(queue: async_channel::Receiver<u64>) -> bool {
    queue.recv().await.is_ok() // @received
}

fn main() {
    let executor = Executor::new();
    let (sender, queue) = async_channel::bounded(1);
    for n in 0..3 {
        executor.spawn(middle(n)).detach();
    }
    let task = executor.spawn(received(queue));
    futures_lite::future::block_on(executor.run(async {
        Timer::after(Duration::from_millis(300)).await;
        println!("expect 3 leaf middle");
        println!("expect 1 received");
        println!("ready");
        Timer::after(LONG).await;
    }));
    drop((sender, task));
}
