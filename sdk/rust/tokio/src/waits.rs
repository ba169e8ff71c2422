// SPDX-License-Identifier: MIT
//! waits - why a task waits, by the resource of Tokio that it polls.

use crate::fields::Fields;
use crate::texts;
use corotracer::{note_await, Place, Reason};

/// A timer, lock or channel of Tokio: in the extensions of its span.
pub(crate) struct Resource {
    place: Place,
    type_name: &'static str,
    is_timer: bool,
}

impl Resource {
    pub(crate) fn new(fields: &Fields) -> Resource {
        Resource {
            place: fields.place(),
            type_name: texts::keep(&fields.concrete_type),
            is_timer: fields.kind == "timer",
        }
    }

    /// A poll of the resource was pending: if the task is suspended, this is the reason.  `id` is that
    /// of the resource's span.
    pub(crate) fn is_awaited(&self, op_name: &str, id: u64) {
        let reason = if self.is_timer { Reason::Timer } else { reason_of(self.type_name, op_name) };
        note_await(self.place, self.type_name, reason, Some(id));
    }
}

fn reason_of(type_name: &str, op_name: &str) -> Reason {
    if op_name == "poll_recv" {
        return Reason::ChannelRecv;
    }
    match type_name {
        "Mutex" | "RwLock" => Reason::Mutex,
        "Semaphore" | "Barrier" => Reason::Semaphore,
        name if name.contains("Sender") || name.contains("Receiver") => Reason::ChannelRecv,
        _ => Reason::Unknown,
    }
}
