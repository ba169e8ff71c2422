// SPDX-License-Identifier: MIT
//! task_layer - Tokio's tasks, from the spans and events that it sends to `tracing`.
//!
//! A task is a span `runtime.spawn`.  It is entered and left for each poll, and once more when the
//! future is dropped; then it is closed.  Nothing says whether a poll returned `Pending`: so each poll
//! ends with a suspension, and the close is a resume and the end.  A task is polled because it was
//! spawned or woken: if it is entered without that, it is being dropped.  A drop after a wake in the
//! last poll looks like one poll more.

use crate::fields::Fields;
use crate::waits::Resource;
use corotracer::{BegunPoll, PollTrace};
use std::sync::{Mutex, PoisonError};
use tracing_core::span::{Attributes, Id};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::Layer;

/// A task: in the extensions of its span.  The lock is held for the time of one event.
struct Task(Mutex<Polls>);

struct Polls {
    trace: PollTrace,
    begun: Option<BegunPoll>,
    /// Spawned or woken since the latest poll began.  Always true of a future that block_on() polls:
    /// its wakes are not reported.
    is_woken: bool,
    is_block_on: bool,
}

impl Polls {
    fn enter(&mut self) {
        if self.begun.is_none() && self.is_woken {
            self.is_woken = self.is_block_on;
            self.begun = Some(self.trace.begin_poll());
        }
    }

    fn leave(&mut self, addr: u64) {
        if let Some(begun) = self.begun.take() {
            self.trace.end_poll(begun, false, addr);
        }
    }

    fn wake(&mut self) {
        self.is_woken = true;
        self.trace.on_wake();
    }

    fn close(&mut self, addr: u64) {
        let begun = self.begun.take().unwrap_or_else(|| self.trace.begin_poll());
        self.trace.end_poll(begun, true, addr);
        self.trace.mark_dead();
    }
}

impl Task {
    fn new(fields: &Fields) -> Task {
        let is_block_on = fields.kind == "block_on";
        let type_name = if is_block_on { "block_on" } else { "" };
        let trace = PollTrace::spawned_at(&fields.name, type_name, fields.place());
        Task(Mutex::new(Polls { trace, begun: None, is_woken: true, is_block_on }))
    }

    fn with(&self, change: impl FnOnce(&mut Polls)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

pub(crate) struct TaskLayer;

impl TaskLayer {
    /// Apply `change` to the task of a span, if it is one.
    fn task<S>(id: &Id, ctx: &Context<'_, S>, change: impl FnOnce(&mut Polls))
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        if let Some(span) = ctx.span(id) {
            if let Some(task) = span.extensions().get::<Task>() {
                task.with(change);
            }
        }
    }
}

impl<S> Layer<S> for TaskLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attrs: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let name = attrs.metadata().name();
        let span = match ctx.span(id) {
            Some(span) if name == "runtime.spawn" || name == "runtime.resource" => span,
            _ => return,
        };
        let mut fields = Fields::default();
        attrs.record(&mut fields);
        if name == "runtime.resource" {
            span.extensions_mut().insert(Resource::new(&fields));
        } else if fields.kind != "blocking" {
            span.extensions_mut().insert(Task::new(&fields)); // a blocking function is not polled
        }
    }

    fn on_enter(&self, id: &Id, ctx: Context<'_, S>) {
        TaskLayer::task(id, &ctx, Polls::enter);
    }

    fn on_exit(&self, id: &Id, ctx: Context<'_, S>) {
        TaskLayer::task(id, &ctx, |task| task.leave(id.into_u64()));
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        TaskLayer::task(&id, &ctx, |task| task.close(id.into_u64()));
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        if event.metadata().target() == "tokio::task::waker" {
            if fields.task != 0 && fields.op.starts_with("waker.wake") {
                TaskLayer::task(&Id::from_u64(fields.task), &ctx, Polls::wake);
            }
        } else if !fields.is_ready {
            resource_is_awaited(event, &fields, &ctx);
        }
    }
}

/// The event is in the span of an operation, which is in that of the resource.
fn resource_is_awaited<S>(event: &Event<'_>, fields: &Fields, ctx: &Context<'_, S>)
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    for span in ctx.event_scope(event).into_iter().flatten() {
        if let Some(resource) = span.extensions().get::<Resource>() {
            resource.is_awaited(&fields.op_name, span.id().into_u64());
            return;
        }
    }
}
