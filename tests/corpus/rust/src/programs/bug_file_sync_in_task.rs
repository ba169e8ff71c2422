// SPDX-License-Identifier: MIT
//! A journal is written and flushed to the disk with std::fs inside a task.
//!
//! corpus: bug
//! class: blocking
//! at: @stuck|@after
//! victims: journal
//! never: deadlock, closed-under-waiter, lost-wakeup, leak

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{current_thread, ms, spawn_echoes, spawn_orders};
use std::fs::File;
use std::io::{self, Write};
use std::time::{Duration, Instant};
use tokio::time::sleep;

fn write_entries(file: &mut File, entries: u64) -> io::Result<()> {
    let begin = Instant::now();
    let entry = [b'x'; 16 * 1024];
    for _ in 0..entries {
        file.write_all(&entry)?;
        file.sync_data()?; // @stuck
        if begin.elapsed() > Duration::from_millis(400) {
            break; // a slow disk: the rest comes with the next batch
        }
    }
    Ok(())
}

async fn keep_journal(mut file: File) -> io::Result<()> {
    for _ in 0..4 {
        sleep(ms(100)).awaiting(Reason::Timer).await; // @after
        write_entries(&mut file, 400)?;
    }
    Ok(())
}

pub fn main() {
    init_tracer();
    let path = std::env::temp_dir().join(format!("corpus-journal-{}", std::process::id()));
    let file = File::create(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    current_thread().block_on(async {
        spawn_echoes(4).await;
        spawn_orders(2, 6);
        let journal = tokio::spawn(keep_journal(file).traced_as("journal"));
        journal.await.unwrap().unwrap();
        sleep(ms(100)).await;
        std::process::exit(0);
    });
}
