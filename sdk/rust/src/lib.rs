// SPDX-License-Identifier: MIT
//! See from outside what a running program's futures do, at a cost it cannot feel.
//!
//! ```
//! use corotracer::{init_tracer, TraceFutureExt};
//!
//! async fn worker() { /* ... */ }
//!
//! init_tracer(); // once, early in main
//! let task = worker().traced(); // hand it to your executor: tokio::spawn(task)
//! ```
//!
//! Run the program under the tool: `corotracer run -o trace.jsonl -- ./program`; then
//! `corotracer info trace.jsonl` says who never woke up.  Without the tool a traced future costs a
//! load and a branch per poll.
//!
//! | what the trace says | how |
//! |---|---|
//! | each suspension and resumption, on which thread | `.traced()`, [`trace_future`], or [`PollTrace`] in a runtime of your own |
//! | where a future was spawned, its type, its parent | by itself |
//! | its name | [`traced_as`](TraceFutureExt::traced_as) |
//! | who woke it, and whether before it was suspended | by itself: the waker is wrapped |
//! | where, why and on what it waits | [`awaiting`](AwaitExt::awaiting), [`awaiting_on`](AwaitExt::awaiting_on) |
//! | what was closed under it, who holds what it waits for | [`closing`], [`acquired`], [`released`] |
//! | that it returned, was dropped half-way, or panicked | by itself |
//!
//! # Manners
//!
//! Nothing here prints, blocks, panics, changes errno, installs a signal handler or takes a lock;
//! none of it waits for the collector, unless whoever started that asked for it (`--on-full
//! block`).  Futures that are made while another thread joins the collector wait for that thread,
//! 50 ms at most in the life of a process; then they are traced from when it has succeeded, and
//! what they did until then is counted as lost.  A collector that is killed is not noticed.  Without a collector, and on platforms
//! other than 64-bit Linux, everything compiles and does nothing.
//!
//! # Orderings inside the crate
//!
//! The pairs of the protocol have the letters of `include/corotracer/slot.h`; two more are ours:
//!
//! ```text
//!   (S) if a thread saw a place in a list of places, it sees its number
//!   (W) the executor's waker in a cell is put there and dropped by one thread at a time
//! ```

#![cfg_attr(not(all(target_os = "linux", target_pointer_width = "64")), allow(dead_code))]
#![warn(missing_docs, missing_debug_implementations, unreachable_pub)]

#[cfg_attr(not(all(target_os = "linux", target_pointer_width = "64")), path = "attach_none.rs")]
mod attach;
mod clock;
mod future;
mod lane;
mod later;
mod life;
mod order;
mod poll_trace;
mod pool;
mod probe;
mod reason;
mod resource;
mod session;
mod site;
mod station;
#[cfg_attr(not(all(target_os = "linux", target_pointer_width = "64")), path = "sys_none.rs")]
mod sys;
mod thread;
mod waker;
mod wire;

#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
mod tests;

pub use future::{
    current_id, init_tracer, trace_future, trace_future_named, tracer_enabled, AwaitExt, Awaiting,
    TraceFutureExt, TracedFuture,
};
pub use poll_trace::PollTrace;
pub use reason::Reason;
pub use resource::{acquired, closing, released};
