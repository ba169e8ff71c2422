// SPDX-License-Identifier: MIT
//! place - a line of the program's source.

use std::panic::Location;

/// A line of the program's source: that of a caller, or one that another tracing system knows.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// An address: with the line it identifies the place, without a look at the text.
    pub(crate) key: usize,
    pub(crate) file: &'static str,
    pub(crate) line: u32,
}

impl Place {
    /// The line of the caller.
    #[track_caller]
    pub fn here() -> Place {
        Location::caller().into()
    }

    /// A line of a file.  The text is known by its address: pass the same one for the same file.
    pub fn new(file: &'static str, line: u32) -> Place {
        Place { key: file.as_ptr() as usize, file, line }
    }

    pub(crate) fn is(&self, other: &Place) -> bool {
        self.key == other.key && self.line == other.line
    }
}

impl From<&'static Location<'static>> for Place {
    fn from(location: &'static Location<'static>) -> Place {
        Place { key: location as *const Location as usize, file: location.file(), line: location.line() }
    }
}
