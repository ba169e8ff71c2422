// SPDX-License-Identifier: MIT
//! rust_bed.rs - tasks as Tokio has them, in a library that a test loads: the types have its names and no more.
#![crate_name = "tokio"]
#![crate_type = "cdylib"]
#![allow(dead_code)]
use std::ffi::c_void;
use std::future::Future;
use std::mem::size_of;
use std::pin::Pin;
use std::ptr::{addr_of, addr_of_mut};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

pub mod runtime {
    pub mod task {
        pub mod core {
            pub struct State {
                pub val: usize,
            }
            #[repr(C)]
            pub struct Header {
                pub before: u64,
                pub state: State,
                pub vtable: &'static Vtable,
                pub owner_id: u64,
            }
            #[repr(C)]
            pub struct Vtable {
                pub other: usize,
                pub poll: fn(*const Header),
            }
            #[repr(C, u64)]
            pub enum Stage<T> {
                Running(T),
                Finished(u64),
                Consumed,
            }
            pub struct CoreStage<T> {
                pub stage: Stage<T>,
            }
            #[repr(C)]
            pub struct Core<T, S> {
                pub scheduler: S,
                pub stage: CoreStage<T>,
            }
            #[repr(C, align(64))]
            pub struct Cell<T, S> {
                pub front: u64,
                pub header: Header,
                pub core: Core<T, S>,
                pub trailer: u64,
            }
        }
        pub mod raw {
            use super::core::{Cell, Header};
            #[inline(never)]
            pub fn poll<T, S>(header: *const Header) {
                std::hint::black_box(header.cast::<Cell<T, S>>());
            }
        }
    }
}
use runtime::task::core::{Cell, Core, CoreStage, Header, Stage, State, Vtable};
use runtime::task::raw;

/// Ready when it is polled for the second time.
pub struct Pause {
    polled: bool,
}

impl Future for Pause {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let was = self.polled;
        self.polled = true;
        if was {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

async fn inner(number: u32) -> u32 {
    Pause { polled: false }.await;
    Pause { polled: false }.await;
    number
}

async fn outer(number: u32) -> u32 {
    let sum = inner(number + 1).await;
    sum + number
}

async fn other(text: [u64; 3]) -> u64 {
    Pause { polled: false }.await;
    text[0]
}

/// Lines of the awaits: two of inner(), outer(), other().
#[no_mangle]
pub static BED_LINES: [u32; 4] = [line!() - 17, line!() - 16, line!() - 11, line!() - 6];

#[repr(C)]
pub struct Task {
    cell: *mut c_void,
    step: extern "C" fn(*mut c_void) -> u32,
    finish: extern "C" fn(*mut c_void),
    size: usize,
    state: usize,
    vtable: usize,
    poll: usize,
    owner: usize,
}

fn waker() -> Waker {
    static TABLE: RawWakerVTable =
        RawWakerVTable::new(|_| RawWaker::new(std::ptr::null(), &TABLE), |_| (), |_| (), |_| ());
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &TABLE)) }
}

extern "C" fn step<T: Future>(cell: *mut c_void) -> u32 {
    let cell = unsafe { &mut *cell.cast::<Cell<T, u16>>() };
    let future = match &mut cell.core.stage.stage {
        Stage::Running(future) => future,
        _ => return 2,
    };
    let is_ready = unsafe { Pin::new_unchecked(future) }.poll(&mut Context::from_waker(&waker())).is_ready();
    u32::from(is_ready)
}

extern "C" fn finish<T: Future>(cell: *mut c_void) {
    unsafe { addr_of_mut!((*cell.cast::<Cell<T, u16>>()).core.stage.stage).write(Stage::Finished(5)) }
}

fn task<T: Future>(future: T) -> Task {
    let header = Header {
        before: 1,
        state: State { val: 0xabc },
        vtable: &Vtable { other: 1, poll: raw::poll::<T, u16> },
        owner_id: 9,
    };
    let core = Core { scheduler: 3u16, stage: CoreStage { stage: Stage::Running(future) } };
    let cell = Box::into_raw(Box::new(Cell { front: 7, header, core, trailer: 4 }));
    let base = cell as usize;
    unsafe {
        Task {
            cell: cell.cast(),
            step: step::<T>,
            finish: finish::<T>,
            size: size_of::<Cell<T, u16>>(),
            state: addr_of!((*cell).header.state) as usize - base,
            vtable: addr_of!((*cell).header.vtable) as usize - base,
            poll: raw::poll::<T, u16> as *const () as usize,
            owner: addr_of!((*cell).header.owner_id) as usize - base,
        }
    }
}

#[no_mangle]
pub extern "C" fn bed_task(number: u32) -> Task {
    if number == 0 {
        task(outer(7))
    } else {
        task(other([1, 2, 3]))
    }
}

#[inline(never)]
fn block_on<F: Future>(future: F, callback: extern "C" fn()) {
    let mut future = future;
    let mut pinned = unsafe { Pin::new_unchecked(&mut future) };
    let _ = pinned.as_mut().poll(&mut Context::from_waker(&waker()));
    callback();
    std::hint::black_box(&pinned);
}

#[inline(never)]
fn waits_otherwise<F: Future>(future: F, callback: extern "C" fn()) {
    callback();
    std::hint::black_box(&future);
}

/// Calls @callback while the thread is in block_on(), or in another function.
#[no_mangle]
pub extern "C" fn bed_block_on(is_block_on: bool, callback: extern "C" fn()) {
    if is_block_on {
        block_on(outer(7), callback)
    } else {
        waits_otherwise(outer(7), callback)
    }
}

/// Tasks as the crate async-task has them.
pub mod async_task {
    pub mod raw {
        use std::marker::PhantomData;
        #[repr(C)]
        pub struct Header {
            pub before: u64,
            pub state: usize,
            pub vtable: &'static TaskVTable,
        }
        #[repr(C)]
        pub struct TaskVTable {
            pub other: usize,
            pub run: fn(*const ()) -> bool,
            pub layout_info: &'static TaskLayout,
        }
        #[repr(C)]
        pub struct TaskLayout {
            pub size: usize,
            pub offset_f: usize,
        }
        pub struct RawTask<F, T, S, M> {
            pub header: *const Header,
            pub future: *const F,
            pub others: PhantomData<(T, S, M)>,
        }
        impl<F, T, S, M> RawTask<F, T, S, M> {
            #[inline(never)]
            pub fn run(task: *const ()) -> bool {
                let raw: Self = RawTask { header: task.cast(), future: task.cast(), others: PhantomData };
                std::hint::black_box(&raw);
                true
            }
        }
    }
}

async fn third(number: u32) -> u32 {
    let sum = inner(number).await;
    sum + 3
}

/// The task, whose future is 48 bytes behind its start.
#[repr(C)]
struct Boxed<F> {
    header: async_task::raw::Header,
    between: [u64; 3],
    future: F,
}

extern "C" fn step_boxed<F: Future>(task: *mut c_void) -> u32 {
    let future = unsafe { &mut (*task.cast::<Boxed<F>>()).future };
    u32::from(unsafe { Pin::new_unchecked(future) }.poll(&mut Context::from_waker(&waker())).is_ready())
}

extern "C" fn finish_boxed(_: *mut c_void) {}

fn boxed<F: Future>(future: F) -> Task {
    use async_task::raw::{Header, RawTask, TaskLayout, TaskVTable};
    let run = RawTask::<F, u32, u16, u8>::run;
    let layout = Box::leak(Box::new(TaskLayout { size: 1, offset_f: 48 }));
    let vtable = Box::leak(Box::new(TaskVTable { other: 1, run, layout_info: layout }));
    let header = Header { before: 1, state: 0x211, vtable };
    let task = Box::into_raw(Box::new(Boxed { header, between: [0; 3], future }));
    Task {
        cell: task.cast(),
        step: step_boxed::<F>,
        finish: finish_boxed,
        size: 0,
        state: 8,
        vtable: 16,
        poll: run as *const () as usize,
        owner: 0,
    }
}

#[no_mangle]
pub extern "C" fn bed_boxed() -> Task {
    boxed(third(5))
}

/// Line of the await in third().
#[no_mangle]
pub static BED_THIRD: u32 = line!() - 45;

async fn dynamic(number: u32) -> u32 {
    let later: Pin<Box<dyn Future<Output = u32>>> = Box::pin(inner(number));
    later.await
}

#[no_mangle]
pub extern "C" fn bed_dynamic() -> Task {
    boxed(dynamic(5))
}

/// Line of the await in dynamic().
#[no_mangle]
pub static BED_DYNAMIC: u32 = line!() - 10;

/// Members of several variants.
pub enum Choice {
    First { alpha: u32 },
    Second { before: u64, beta: u16 },
    Third { gamma: u64, after: u8 },
}

#[no_mangle]
pub static BED_CHOICES: [Choice; 3] =
    [Choice::First { alpha: 5 }, Choice::Second { before: 6, beta: 7 }, Choice::Third { gamma: 8, after: 9 }];
