// SPDX-License-Identifier: MIT
//! Slow work is done with spawn_blocking() and tokio::fs: computing, sleeping, writing files.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{current_thread, ms, spawn_echoes};
use std::time::Instant;
use tokio::io::AsyncWriteExt;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

fn compress_block(seed: u64) -> u64 {
    let begin = Instant::now();
    let mut state = seed | 1;
    while begin.elapsed() < ms(120) {
        for _ in 0..10_000 {
            state = (state ^ (state >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
        }
    }
    state
}

async fn archive_blocks(number: u64) {
    let path = std::env::temp_dir().join(format!("corpus-archive-{}-{number}", std::process::id()));
    let mut file = tokio::fs::File::create(&path).await.unwrap();
    tokio::fs::remove_file(&path).await.unwrap();
    for block in 0..4 {
        let state = spawn_blocking(move || compress_block(block)).awaiting(Reason::Join).await.unwrap();
        file.write_all(&state.to_le_bytes()).awaiting(Reason::IoWrite).await.unwrap();
        file.sync_data().awaiting(Reason::IoWrite).await.unwrap();
        spawn_blocking(|| std::thread::sleep(ms(30))).awaiting(Reason::Join).await.unwrap();
    }
}

pub fn main() {
    init_tracer();
    let runtime = current_thread();
    runtime.block_on(async {
        spawn_echoes(6).await;
        let archives: Vec<_> =
            (0..2).map(|n| tokio::spawn(archive_blocks(n).traced_as(&format!("archive-{n}")))).collect();
        for archive in archives {
            archive.await.unwrap();
        }
        sleep(ms(50)).await;
    });
    runtime.shutdown_timeout(ms(200));
}
