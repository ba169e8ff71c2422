// SPDX-License-Identifier: MIT
//! runtime_hooks - Tokio's tasks, from the hooks of a runtime.
//!
//! A hook gets the number of a task and the line that spawned it; the traces are kept here.  The hook
//! for the end runs inside the last poll.

use corotracer::{BegunPoll, Place, PollTrace};
use std::collections::hash_map::DefaultHasher;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::runtime::{Builder, TaskMeta};
use tokio::task::Id;

/// Tables of tasks, each with a lock: threads that run different tasks rarely meet.
const TABLES: usize = 64;

struct Polls {
    trace: PollTrace,
    begun: Option<BegunPoll>,
}

type Table = Mutex<Option<HashMap<Id, Polls>>>;

#[allow(clippy::declare_interior_mutable_const)] // each table needs its own copy
const EMPTY: Table = Mutex::new(None);
static TASKS: [Table; TABLES] = [EMPTY; TABLES];

/// A number other than 0 for a task; Tokio does not say the one that it has.
fn number_of(id: Id) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish().max(1)
}

fn table_of(id: Id) -> MutexGuard<'static, Option<HashMap<Id, Polls>>> {
    TASKS[number_of(id) as usize % TABLES].lock().unwrap_or_else(PoisonError::into_inner)
}

fn task_spawned(meta: &TaskMeta<'_>) {
    let place = Place::from(meta.spawned_at());
    let polls = Polls { trace: PollTrace::spawned_at("", "", place), begun: None };
    table_of(meta.id()).get_or_insert_with(HashMap::new).insert(meta.id(), polls);
}

fn poll_begins(meta: &TaskMeta<'_>) {
    if let Some(task) = table_of(meta.id()).as_mut().and_then(|table| table.get_mut(&meta.id())) {
        task.begun = Some(task.trace.begin_poll());
    }
}

fn poll_ended(meta: &TaskMeta<'_>) {
    if let Some(task) = table_of(meta.id()).as_mut().and_then(|table| table.get_mut(&meta.id())) {
        if let Some(begun) = task.begun.take() {
            task.trace.end_poll(begun, false, number_of(meta.id()));
        }
    }
}

fn task_ended(meta: &TaskMeta<'_>) {
    let task = table_of(meta.id()).as_mut().and_then(|table| table.remove(&meta.id()));
    if let Some(mut task) = task {
        // A task that is dropped by its runtime is not polled then.
        let begun = task.begun.take().unwrap_or_else(|| task.trace.begin_poll());
        task.trace.end_poll(begun, true, number_of(meta.id()));
        task.trace.mark_dead();
    }
}

/// Trace all tasks of the runtime that `builder` builds.  Replaces the builder's hooks for tasks.
///
/// The trace has each task with the line that spawned it, its parent and its polls; it has no wakes,
/// names and reasons, and it does not say whether a task returned or was aborted.
pub fn trace_runtime(builder: &mut Builder) -> &mut Builder {
    corotracer::init_tracer();
    builder
        .on_task_spawn(task_spawned)
        .on_before_task_poll(poll_begins)
        .on_after_task_poll(poll_ended)
        .on_task_terminate(task_ended)
}
