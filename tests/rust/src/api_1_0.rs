// SPDX-License-Identifier: MIT
//! The interface of the crate at version 1.0, with its exact types: it compiles with every 1.x.
//!
//! Lines are added here with the items that they name, and never changed: what does not compile any more
//! is an incompatible change.

use corotracer::*;
use std::fmt::Debug;
use std::future::{Future, Ready};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};

type Plain = Ready<u8>;
type Traced = TracedFuture<Plain>;
type PollWith = for<'a, 'b, 'c> fn(
    &'a mut PollTrace,
    &'b mut Context<'c>,
    u64,
    fn(&mut Context<'_>) -> Poll<u8>,
) -> Poll<u8>;

pub const INIT_TRACER: fn() = init_tracer;
pub const TRACER_ENABLED: fn() -> bool = tracer_enabled;
pub const CURRENT_ID: fn() -> u64 = current_id;
pub const TRACE_FUTURE: fn(Plain) -> Traced = trace_future::<Plain>;
pub const TRACE_FUTURE_NAMED: fn(&str, Plain) -> Traced = trace_future_named::<Plain>;
pub const TRACED_NEW: fn(Plain) -> Traced = Traced::new;
pub const TRACED_NAMED: fn(&str, Plain) -> Traced = Traced::named;
pub const TRACED_INTO_INNER: fn(Traced) -> Plain = Traced::into_inner;
pub const TRACED_TRACE: fn(&Traced) -> &PollTrace = Traced::trace;
pub const TRACED_TRACE_MUT: fn(&mut Traced) -> &mut PollTrace = Traced::trace_mut;
pub const TRACED: fn(Plain) -> Traced = <Plain as TraceFutureExt>::traced;
pub const TRACED_AS: fn(Plain, &str) -> Traced = <Plain as TraceFutureExt>::traced_as;
pub const AWAITING: fn(Plain, Reason) -> Awaiting<Plain> = <Plain as AwaitExt>::awaiting;
pub const AWAITING_ON: fn(Plain, Reason, u64) -> Awaiting<Plain> = <Plain as AwaitExt>::awaiting_on;

pub const POLL_NEW: fn() -> PollTrace = PollTrace::new;
pub const POLL_NAMED: fn(&str) -> PollTrace = PollTrace::named;
pub const POLL_SPAWNED_AT: fn(&str, &'static str, Place) -> PollTrace = PollTrace::spawned_at;
pub const POLL_IS_ENABLED: fn(&PollTrace) -> bool = PollTrace::is_enabled;
pub const POLL_ID: fn(&PollTrace) -> u64 = PollTrace::id;
pub const POLL_ON_RESUME: fn(&mut PollTrace) = PollTrace::on_resume;
pub const POLL_ON_PENDING: fn(&mut PollTrace, Pin<&mut Plain>) = PollTrace::on_pending::<Plain>;
pub const POLL_ON_PENDING_ADDR: fn(&mut PollTrace, u64) = PollTrace::on_pending_addr;
pub const POLL_ON_READY: fn(&mut PollTrace) = PollTrace::on_ready;
pub const POLL_ON_WAKE: fn(&PollTrace) = PollTrace::on_wake;
pub const POLL_MARK_DEAD: fn(&mut PollTrace) = PollTrace::mark_dead;
pub const POLL_BEGIN: fn(&mut PollTrace) -> BegunPoll = PollTrace::begin_poll;
pub const POLL_END: fn(&mut PollTrace, BegunPoll, bool, u64) = PollTrace::end_poll;
pub const POLL_TRACEPARENT: fn(&PollTrace, &str) -> bool = PollTrace::set_traceparent;
pub const POLL_WITH: PollWith = |trace, cx, addr, poll| trace.poll_with(cx, addr, poll);

pub const PLACE_HERE: fn() -> Place = Place::here;
pub const PLACE_NEW: fn(&'static str, u32) -> Place = Place::new;
pub const PLACE_FROM: fn(&'static Location<'static>) -> Place = Place::from;
pub const NOTE_AWAIT: fn(Place, &'static str, Reason, Option<u64>) = note_await;
pub const CLOSING: fn(u64) = closing;
pub const ACQUIRED: fn(u64) = acquired;
pub const RELEASED: fn(u64) = released;
pub const SET_TRACEPARENT: fn(&str) -> bool = set_traceparent;

pub const REASONS: [Reason; 14] = [
    Reason::Unknown,
    Reason::IoRead,
    Reason::IoWrite,
    Reason::Accept,
    Reason::Connect,
    Reason::Timer,
    Reason::Mutex,
    Reason::Semaphore,
    Reason::ChannelSend,
    Reason::ChannelRecv,
    Reason::Join,
    Reason::Yield,
    Reason::Signal,
    Reason::User,
];

/// What the types implement.
pub fn bounds() {
    fn future<T: Future<Output = u8> + Debug + Send + Unpin>() {}
    fn trace<T: Debug + Default + Send + Unpin + UnwindSafe + RefUnwindSafe>() {}
    fn value<T: Copy + Debug + Send + Sync>() {}
    fn key<T: Copy + Debug + Eq + std::hash::Hash>() {}
    future::<Traced>();
    future::<Awaiting<Plain>>();
    trace::<PollTrace>();
    value::<Place>();
    value::<BegunPoll>();
    key::<Reason>();
}
