// SPDX-License-Identifier: MIT
//! Trace what a program's futures do, from another process and at negligible cost.
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
//! Run the program under the tool: `corotracer run -o trace.jsonl -- ./program`, or attach to it
//! while it runs: `corotracer run -o trace.jsonl -p PID`; then
//! `corotracer info trace.jsonl` lists the futures that are still suspended.  Without the tool a
//! traced future costs a load and a branch per poll.
//!
//! | in the trace | how |
//! |---|---|
//! | each suspension and resumption, its thread | `.traced()`, [`trace_future`]; [`PollTrace`] in a runtime |
//! | where a future was spawned, its type, its parent | automatic |
//! | its name | [`traced_as`](TraceFutureExt::traced_as) |
//! | which coroutine woke it, and whether before it was suspended | automatic: the waker is wrapped |
//! | where, why and on what it waits | [`awaiting`](AwaitExt::awaiting), [`awaiting_on`](AwaitExt::awaiting_on) |
//! | that a resource it waits for was closed, or which coroutine holds it | [`closing`], [`acquired`], [`released`] |
//! | the span of your own traces that it works for | [`set_traceparent`] |
//! | that it returned, was dropped before its end, or panicked | automatic |
//! | which of the program's memory accesses are its own | automatic, with the memory runtime |
//! | that no waker of it exists any more, so that nothing can wake it | automatic |
//!
//! # Guarantees
//!
//! The SDK does not print, panic, change errno, install a signal handler or take a lock.  It does
//! not wait for the collector, except with `--on-full block`.  Futures that are created while
//! another thread attaches to the collector wait for that thread, at most 50 ms per process in
//! total; then they are traced from the moment the attach succeeds, and their earlier events are
//! counted as lost.  A program continues unchanged when the collector is killed.  Without a
//! collector, and on platforms other than 64-bit Linux, everything compiles and does nothing.
//!
//! # Orderings inside the crate
//!
//! The pairs of the protocol have the letters of `include/corotracer/slot.h`; this crate adds two:
//!
//! ```text
//!   (ctp-S) a thread that sees an entry in a list of sites also sees the site's number, or its
//!           texts for the memory runtime
//!   (ctp-W) the executor's waker in a cell is stored and dropped by one thread at a time
//! ```

#![cfg_attr(not(all(target_os = "linux", target_pointer_width = "64")), allow(dead_code))]
#![warn(missing_docs, missing_debug_implementations, unreachable_pub)]

#[cfg_attr(not(all(target_os = "linux", target_pointer_width = "64")), path = "attach_none.rs")]
mod attach;
mod clock;
mod future;
#[cfg_attr(not(all(target_os = "linux", target_pointer_width = "64")), path = "inherit_none.rs")]
mod inherit;
mod lane;
mod later;
mod life;
mod memory;
mod order;
mod outside_poll;
mod place;
mod poll_trace;
mod pool;
mod probe;
mod reason;
#[cfg_attr(not(all(target_os = "linux", target_pointer_width = "64")), path = "request_none.rs")]
mod request;
mod resource;
mod session;
mod site;
mod station;
#[cfg_attr(not(all(target_os = "linux", target_pointer_width = "64")), path = "sys_none.rs")]
mod sys;
mod thread;
mod traceparent;
mod waker;
mod wire;

#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
mod tests;

pub use future::{
    current_id, init_tracer, trace_future, trace_future_named, tracer_enabled, AwaitExt, Awaiting,
    TraceFutureExt, TracedFuture,
};
pub use outside_poll::note_await;
pub use place::Place;
pub use poll_trace::{BegunPoll, PollTrace};
pub use reason::Reason;
pub use resource::{acquired, closing, released};
pub use traceparent::set_traceparent;
