// SPDX-License-Identifier: MIT
//! Chains of traced futures, each awaits the next: handler, session, transaction, query, socket.
//! Half of the chains are idle at the end.
//!
//! corpus: clean

use corotracer::{init_tracer, AwaitExt, Reason, TraceFutureExt};
use corotracer_corpus::{ms, multi_thread};
use std::future::Future;
use std::os::unix::io::AsRawFd;
use std::pin::Pin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::sleep;

type Layer<'a> = Pin<Box<dyn Future<Output = usize> + Send + 'a>>;

fn read_through<'a>(depth: usize, stream: &'a mut UnixStream) -> Layer<'a> {
    let layer = async move {
        if depth > 0 {
            return read_through(depth - 1, stream).await;
        }
        let fd = stream.as_raw_fd() as u64;
        stream.read(&mut [0; 64]).awaiting_on(Reason::IoRead, fd).await.unwrap_or(0)
    };
    Box::pin(layer.traced_as(&format!("layer-{depth}")))
}

async fn serve_chain(mut stream: UnixStream) {
    while read_through(5, &mut stream).await > 0 {
        sleep(ms(2)).awaiting(Reason::Timer).await;
    }
}

async fn feed_chain(mut stream: UnixStream, times: usize) -> UnixStream {
    for _ in 0..times {
        stream.write_all(b"row").await.unwrap();
        sleep(ms(9)).await;
    }
    stream
}

pub fn main() {
    init_tracer();
    let runtime = multi_thread(2);
    runtime.block_on(async {
        let mut feeds = Vec::new();
        for number in 0..8 {
            let (here, there) = UnixStream::pair().unwrap();
            tokio::spawn(serve_chain(here).traced_as(&format!("chain-{number}")));
            feeds.push(tokio::spawn(feed_chain(there, if number % 2 == 0 { 25 } else { 1000 })));
        }
        sleep(ms(1500)).await;
    });
    std::mem::forget(runtime);
}
