// SPDX-License-Identifier: MIT
//! fields - the fields of Tokio's spans and events.

use crate::texts;
use corotracer::Place;
use std::fmt::{Debug, Write};
use tracing_core::field::{Field, Visit};

/// The fields that are read, of all kinds of spans and events.
#[derive(Default)]
pub(crate) struct Fields {
    pub(crate) name: String,          // of a task
    pub(crate) kind: String,          // of a task, or of a resource
    pub(crate) concrete_type: String, // of a resource
    pub(crate) op: String,            // of a waker
    pub(crate) op_name: String,       // of a poll of a resource
    pub(crate) task: u64,             // the span of the task that is woken
    pub(crate) is_ready: bool,
    file: &'static str,
    line: u32,
}

impl Fields {
    pub(crate) fn place(&self) -> Place {
        Place::new(self.file, self.line)
    }

    fn text(&mut self, field: &Field) -> Option<&mut String> {
        match field.name() {
            "task.name" => Some(&mut self.name),
            "kind" => Some(&mut self.kind),
            "concrete_type" => Some(&mut self.concrete_type),
            "op" => Some(&mut self.op),
            "op_name" => Some(&mut self.op_name),
            _ => None,
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "loc.file" {
            self.file = texts::keep(value);
        } else if let Some(text) = self.text(field) {
            value.clone_into(text);
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "loc.line" => self.line = u32::try_from(value).unwrap_or(0),
            "task.id" => self.task = value,
            _ => {}
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        if field.name() == "is_ready" {
            self.is_ready = value;
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut said = String::new();
        let is_text = field.name() == "loc.file" || self.text(field).is_some();
        if is_text && write!(said, "{value:?}").is_ok() {
            self.record_str(field, &said);
        }
    }
}
