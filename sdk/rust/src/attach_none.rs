// SPDX-License-Identifier: MIT
//! attach - stub for platforms without a collector.

use crate::session::Session;

pub(crate) fn attach() -> Option<&'static Session> {
    None
}
