// SPDX-License-Identifier: MIT
//! A crawler keeps its downloads in a FuturesUnordered, and awaits a slow upload inside the loop that
//! takes results.  No download continues during an upload.  On smol's executor.
//!
//! corpus: bug
//! class: starvation
//! at: @stuck
//! victims: download
//! never: deadlock, closed-under-waiter, blocking, leak

use async_executor::Executor;
use async_io::Timer;
use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::ms;
use futures_lite::future::block_on;
use futures_util::stream::{FuturesUnordered, StreamExt};

async fn download_file(number: u64) -> u64 {
    for chunk in 0..12 {
        let chunk = Timer::after(ms(5 + (number + chunk) % 4));
        chunk.awaiting(Reason::Timer).await; // @stuck
    }
    number
}

async fn crawl_files() {
    let mut downloads = FuturesUnordered::new();
    for number in 0..8 {
        downloads.push(download_file(number).traced_as("download"));
    }
    let (mut uploads, mut tick) = (0, 0);
    while !downloads.is_empty() && uploads < 12 {
        futures_lite::future::or(
            async {
                downloads.next().await;
            },
            async {
                Timer::after(ms(15)).await;
            },
        )
        .await;
        tick += 1;
        if tick % 2 == 0 {
            uploads += 1;
            Timer::after(ms(110)).awaiting(Reason::Timer).await; // the upload
        }
    }
}

async fn sample_load(period: u64) {
    loop {
        Timer::after(ms(period)).awaiting(Reason::Timer).await;
    }
}

pub fn main() {
    init_tracer();
    let executor: Executor<'static> = Executor::new();
    for period in 6..12 {
        executor.spawn(sample_load(period).traced_as(&format!("sampler-{period}"))).detach();
    }
    let crawler = executor.spawn(crawl_files().traced_as("crawler"));
    block_on(executor.run(crawler));
    std::process::exit(0);
}
