// SPDX-License-Identifier: MIT
//! texts - texts of spans that are kept for the rest of the program: names of files and of types.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// A program has few files and types that create tasks and resources.
const TEXTS: usize = 4096;

static KEPT: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);

/// The same text at one address for the rest of the program; empty if there are too many.
pub(crate) fn keep(text: &str) -> &'static str {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_with(HashSet::new);
    if let Some(known) = kept.get(text) {
        return known;
    }
    if kept.len() >= TEXTS {
        return "";
    }
    let text: &'static str = Box::leak(text.into());
    kept.insert(text);
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn equal_texts_have_one_address() {
        let text = String::from("src/main.rs");
        assert!(std::ptr::eq(super::keep(&text), super::keep("src/main.rs")));
        assert_eq!(super::keep("src/main.rs"), text);
    }
}
