// SPDX-License-Identifier: MIT
//! traceparent - connect futures with the spans of the program's own traces (W3C Trace Context).

use crate::life::what;
use crate::poll_trace::PollTrace;
use crate::session::{session_acquire, Session};
use crate::thread::Thread;
use crate::wire::*;
use crate::{lane, thread};

const TRACEPARENT_SIZE: usize = 55;

/// The traced future that runs on this thread, and those that it creates, work for this span from now
/// on; an empty text: for none.
///
/// `traceparent` is the W3C header `00-TRACE_ID-SPAN_ID-FLAGS`.  `corotracer export otlp` makes the
/// waits of the future children of that span.  Returns false if the text is neither empty nor a
/// traceparent.  Without a collector the text is not checked.
///
/// ```
/// assert!(corotracer::set_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
/// ```
pub fn set_traceparent(traceparent: &str) -> bool {
    tell(thread::with(|t| t.current.get()), traceparent)
}

impl PollTrace {
    /// As [`set_traceparent`], for this future.
    pub fn set_traceparent(&self, traceparent: &str) -> bool {
        tell(self.id(), traceparent)
    }
}

/// Trace id (both halves), span id, flags; all zero: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    trace: (u64, u64),
    span: u64,
    flags: u32,
}

fn digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |sum, c| match c {
        b'0'..=b'9' => Some(sum << 4 | u64::from(c - b'0')),
        b'a'..=b'f' => Some(sum << 4 | u64::from(c - b'a' + 10)),
        _ => None,
    })
}

/// None if the text is not a traceparent.  Later versions may append fields, after a hyphen.
pub(crate) fn parse(text: &[u8]) -> Option<Span> {
    if text.len() < TRACEPARENT_SIZE || [2, 35, 52].iter().any(|at| text[*at] != b'-') {
        return None;
    }
    let version = digits(&text[..2])?;
    let trace = (digits(&text[3..19])?, digits(&text[19..35])?);
    let span = digits(&text[36..52])?;
    let flags = digits(&text[53..55])? as u32;
    let has_more = text.len() > TRACEPARENT_SIZE;
    if version == 0xff
        || (has_more && (version == 0 || text[TRACEPARENT_SIZE] != b'-'))
        || trace == (0, 0)
        || span == 0
    {
        return None;
    }
    Some(Span { trace, span, flags })
}

fn tell(id: u64, traceparent: &str) -> bool {
    let s = match session_acquire() {
        Some(s) => s,
        None => return true,
    };
    let span = match traceparent.as_bytes() {
        [] => Span::default(),
        text => match parse(text) {
            Some(span) => span,
            None => return false,
        },
    };
    thread::with(|t| write(t, s, id, span));
    true
}

/// From now on the coroutine `id` works for `span`.
pub(crate) fn write(t: &Thread, s: &Session, id: u64, span: Span) {
    // Check this before reading the session: in a forked child the session is the parent's.
    if id == 0 || !t.ready(s) || s.info().lanes.is_null() || s.info().features & EXT_CONTEXT == 0 {
        return;
    }
    match lane::room(t, s, 2) {
        // SAFETY: room for two records.
        Some(at) => unsafe {
            let what = what(REC_CONTEXT | REC_HAS_MORE, 0, 0);
            lane::put(at, t.stamp(t.ticks()), id, span.span, span.flags, what);
            lane::put_more(at.add(1), span.trace.0, span.trace.1);
            t.publish_slow(s, 2);
        },
        None => lane::count(t, s, 0, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_and_other_texts_are_rejected() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let span = parse(good.as_bytes()).unwrap();
        assert_eq!(span.trace, (0x0af7_6519_16cd_43dd, 0x8448_eb21_1c80_319c));
        assert_eq!((span.span, span.flags), (0xb7ad_6b71_6920_3331, 1));
        assert_eq!(parse(format!("01{}-later", &good[2..]).as_bytes()), Some(span));
        for bad in [
            "",
            &good[..54],
            &format!("{good}-x"),
            &format!("ff{}", &good[2..]),
            &good.to_uppercase(),
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
        ] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
