// SPDX-License-Identifier: MIT
//! waker - a waker that says whom it wakes, and who did it, before it wakes.
//!
//! A future is polled with a waker of ours around the executor's.  Three things must stay as they
//! were without us:
//!
//! * `will_wake`.  As long as the executor's waker stays the same, so does ours: futures that
//!   keep a waker and compare go on doing nothing.  So a future has one cell for its whole life.
//! * Who keeps whom alive.  An executor may drop a task once nobody holds a waker of it.  So the
//!   future holds the cell, but the cell holds the executor's waker only while wakers of ours are
//!   out; the last of them to go drops it.
//! * Wakers outlive futures, and are used by any thread.  A cell remembers the coroutine's id, not
//!   only where its life was.
//!
//! A cell's `out` counts wakers that are out.  Only the future goes from 0 to 1, and only the
//! last waker from 1 to DRAINING and then to 0:
//!
//! ```text
//!   0 --- arm() -------> 1 <== clone, drop ==> n
//!   ^                    |
//!   +---- DRAINING <-----+   the last one: drops the executor's waker
//! ```

use crate::life;
use crate::session::session;
use crate::thread;
use crate::wire::Life;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{RawWaker, RawWakerVTable, Waker};

const DRAINING: usize = usize::MAX;

struct Cell {
    out: AtomicUsize,
    /// The future, and all wakers that are out, together: who makes it 0 frees the cell.
    owners: AtomicUsize,
    /// The executor's.  There while `out` is neither 0 nor DRAINING.
    inner: UnsafeCell<Option<Waker>>,
    life: *const Life,
    id: u64,
}

/// A future's hold on its cell.
pub(crate) struct Slot(Option<NonNull<Cell>>);

// SAFETY: the cell is made for threads; the slot itself is used by one at a time (&mut self).
unsafe impl Send for Slot {}

impl Slot {
    pub(crate) const EMPTY: Slot = Slot(None);

    /// A waker for the coroutine `id` that wakes as `theirs` does; dropped when the poll is over.
    pub(crate) fn arm(&mut self, theirs: &Waker, life: *const Life, id: u64) -> Waker {
        if let Some(cell) = self.0 {
            // SAFETY: the slot is one of its owners.
            if unsafe { cell.as_ref() }.rearm(theirs) {
                return from_cell(cell);
            }
            self.release();
        }
        let cell = NonNull::from(Box::leak(Box::new(Cell {
            out: AtomicUsize::new(1),
            owners: AtomicUsize::new(2), // the slot, and what is out
            inner: UnsafeCell::new(Some(theirs.clone())),
            life,
            id,
        })));
        self.0 = Some(cell);
        from_cell(cell)
    }

    fn release(&mut self) {
        if let Some(cell) = self.0.take() {
            disown(cell);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.release();
    }
}

impl Cell {
    /// One more waker is out, for the future that has the cell.  False: the executor's waker is
    /// another now, and wakers of the old are out; or the last of them is just leaving.
    fn rearm(&self, theirs: &Waker) -> bool {
        // (W) pairs with the release of drain(): the old one is gone.
        let mut out = self.out.load(Ordering::Acquire);
        loop {
            match out {
                0 => {
                    // SAFETY: nobody is out, and only the future, who is us, goes from 0.
                    unsafe { *self.inner.get() = Some(theirs.clone()) };
                    self.owners.fetch_add(1, Ordering::Relaxed);
                    // (W) pairs with the acquire of drain(), through the waker that goes out.
                    self.out.store(1, Ordering::Release);
                    return true;
                }
                DRAINING => return false,
                n => match self.out.compare_exchange(n, n + 1, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => break,
                    Err(now) => out = now,
                },
            }
        }
        // SAFETY: one is out, and it is ours: the executor's waker stays.
        let same = unsafe { (*self.inner.get()).as_ref() }.map_or(false, |w| w.will_wake(theirs));
        if !same {
            // SAFETY: that one.
            unsafe { put_back(NonNull::from(self)) };
        }
        same
    }
}

fn from_cell(cell: NonNull<Cell>) -> Waker {
    // SAFETY: the vtable below keeps RawWaker's contract for cells with a waker out.
    unsafe { Waker::from_raw(RawWaker::new(cell.as_ptr() as *const (), &VTABLE)) }
}

/// One owner less; the last frees the cell.
fn disown(cell: NonNull<Cell>) {
    // SAFETY: the caller is an owner until this.
    let owners = unsafe { &cell.as_ref().owners };
    // (W) pairs with itself: who frees comes after all that the others did.
    if owners.fetch_sub(1, Ordering::AcqRel) == 1 {
        // SAFETY: nobody else has it.
        drop(unsafe { Box::from_raw(cell.as_ptr()) });
    }
}

/// A waker that was out is no more.
///
/// # Safety
/// It was, and is not used again.
unsafe fn put_back(cell: NonNull<Cell>) {
    let out = &cell.as_ref().out;
    let mut n = out.load(Ordering::Relaxed);
    loop {
        let next = if n == 1 { DRAINING } else { n - 1 };
        // (W) pairs with itself: the last comes after all that the others did.
        match out.compare_exchange(n, next, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(1) => break,
            Ok(_) => return,
            Err(now) => n = now,
        }
    }
    drain(cell);
}

/// The last one out: drop the executor's waker, which may drop the future that has the cell.
unsafe fn drain(cell: NonNull<Cell>) {
    let inner = (*cell.as_ref().inner.get()).take();
    // (W) pairs with the acquire of rearm().
    cell.as_ref().out.store(0, Ordering::Release);
    drop(inner);
    disown(cell);
}

// ---- what a waker does ------------------------------------------------------------------

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, forget);

unsafe fn the_cell(data: *const ()) -> NonNull<Cell> {
    NonNull::new_unchecked(data as *mut Cell)
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // As with Arc: whoever clones has one that is out.  So many that they wrap do not fit memory.
    the_cell(data).as_ref().out.fetch_add(1, Ordering::Relaxed);
    RawWaker::new(data, &VTABLE)
}

/// Say it, then do it: the trace has the wake before what came of it.
unsafe fn wake_by_ref(data: *const ()) {
    let cell = the_cell(data).as_ref();
    if let (Some(l), Some(s)) = (cell.life.as_ref(), session()) {
        thread::with(|t| life::wake(l, cell.id, t, s, t.current.get(), 0, 0));
    }
    if let Some(inner) = &*cell.inner.get() {
        inner.wake_by_ref();
    }
}

unsafe fn wake(data: *const ()) {
    // Even if theirs panics.
    let _one = from_cell(the_cell(data));
    wake_by_ref(data);
}

unsafe fn forget(data: *const ()) {
    put_back(the_cell(data));
}
