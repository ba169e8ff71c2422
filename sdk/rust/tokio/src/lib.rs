// SPDX-License-Identifier: MIT
//! Trace all tasks of a Tokio program with the corotracer tool, by one line in `main`.
//!
//! ```
//! corotracer_tokio::init();
//! ```
//!
//! Tokio reports its tasks if it is built with its feature `tracing` and `--cfg tokio_unstable`, as for
//! tokio-console.  A program that has a subscriber adds [`layer`] to it.  With the feature `hooks` and
//! `--cfg tokio_unstable`, `trace_runtime` uses the hooks of the runtime instead.
//!
//! Without the tool nothing is written; the subscriber still costs what `tracing` costs.

#![warn(missing_docs, missing_debug_implementations, unreachable_pub)]

mod fields;
#[cfg(all(feature = "hooks", tokio_unstable))]
mod runtime_hooks;
mod task_layer;
mod texts;
mod waits;

#[cfg(all(feature = "hooks", tokio_unstable))]
pub use runtime_hooks::trace_runtime;

use tracing_core::{Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

/// Is it a span or an event of Tokio that says something of a task?
fn is_wanted(about: &Metadata<'_>) -> bool {
    let (name, target) = (about.name(), about.target());
    name == "runtime.spawn"
        || name.starts_with("runtime.resource")
        || target == "tokio::task::waker"
        || target == "runtime::resource::poll_op"
}

/// A layer that traces Tokio's tasks, for the program's own subscriber.
pub fn layer<S>() -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    task_layer::TaskLayer.with_filter(filter_fn(is_wanted))
}

/// Attach to the collector, if there is one, and make a subscriber with [`layer`] the program's.
///
/// Returns false if the program has a subscriber already: then nothing is changed, and the program
/// adds [`layer`] to its own.
pub fn init() -> bool {
    corotracer::init_tracer();
    tracing_core::dispatcher::set_global_default(Registry::default().with(layer()).into()).is_ok()
}
