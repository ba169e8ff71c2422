// SPDX-License-Identifier: MIT
//! wire - the layout of the shared region, as in `ctp.h` and `lanes.h`.
//!
//! Every struct is declared through `wire!`, which asserts at compile time that its size, and the
//! offset and size of each field, equal those of the other languages; `repr(C)` keeps the order,
//! and sizes that add up to the total leave no room for padding.  A test prints the same as text
//! and compares it with `tests/abi/v1.txt`.
//!
//! Fields that another process may read or write concurrently are atomics.  Records are not: only
//! their writer accesses them until they are published.

use std::cell::UnsafeCell;
use std::mem::size_of;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicU8};

/// Bytes of the other side or of an extension: never accessed through this field.
pub(crate) type Opaque<const N: usize> = UnsafeCell<[u8; N]>;

macro_rules! constants {
    ($($name:ident: $ty:ty = $value:expr;)*) => {
        $(#[allow(dead_code)] pub(crate) const $name: $ty = $value;)*
    };
}

constants! {
    MAGIC: u64 = 0x434F_524F_5452_4352;
    VERSION: u32 = 1;
    SLOTS: usize = 8;
    MAX_STATIONS: u32 = 2_097_150;
    WAKE_BYTE: u8 = b'1';
    EXT_MAGIC: u64 = 0x3130_5458_4550_5443;
    EXT_VERSION: u32 = 1;
    EXT_HEADER_OFFSET: usize = 0x40;
    EXT_SLEEPING: u32 = 0x1;
    EXT_MEMBARRIER: u32 = 0x2;
    EXT_CLOCK: u32 = 0x4;
    DETACH_ASKED: u32 = 1;
    DETACH_GONE: u32 = 2;
    EXT_NAME_SIZE: usize = 408;
    ENV_SHM: &str = "CTP_SHM_PATH";
    ENV_SOCK: &str = "CTP_SOCK_PATH";
    ENV_STATIONS: &str = "CTP_MAX_STATIONS";
    ENV_VERBOSE: &str = "CTP_VERBOSE";
    ENV_FDS: &str = "CTP_FDS"; // inherit.h

    EXT_LANES: u32 = 0x8;
    EXT_HANDOVER: u32 = 0x10;
    EXT_CONTEXT: u32 = 0x20;
    LANES_MAGIC: u64 = 0x3145_4e41_4c50_5443;
    LANES_VERSION: u32 = 1;
    EXT_LANES_OFFSET: usize = 0xC0;
    ON_FULL_DROP: u32 = 0;
    ON_FULL_BLOCK: u32 = 1;
    TICKS_NS: u32 = 0;
    TICKS_COUNTER: u32 = 1;
    LANE_FREE: u32 = 0;
    LANE_OPEN: u32 = 1;
    LANE_CLOSED: u32 = 2;
    REC_SUSPEND: u32 = 1;
    REC_RESUME: u32 = 2;
    REC_BIRTH: u32 = 3;
    REC_WAKE: u32 = 4;
    REC_END: u32 = 5;
    REC_DESTROY: u32 = 6;
    REC_GAP: u32 = 7;
    REC_PAD: u32 = 8;
    REC_MORE: u32 = 9;
    REC_TEXT: u32 = 10;
    REC_CLOSE: u32 = 11;
    REC_ACQUIRE: u32 = 12;
    REC_RELEASE: u32 = 13;
    REC_THREAD: u32 = 14;
    REC_CONTEXT: u32 = 15;
    REC_KINDS: u32 = 16;
    REC_HAS_MORE: u32 = 0x80;
    REASON_UNKNOWN: u32 = 0;
    REASON_IO_READ: u32 = 1;
    REASON_IO_WRITE: u32 = 2;
    REASON_ACCEPT: u32 = 3;
    REASON_CONNECT: u32 = 4;
    REASON_TIMER: u32 = 5;
    REASON_MUTEX: u32 = 6;
    REASON_SEMAPHORE: u32 = 7;
    REASON_CHANNEL_SEND: u32 = 8;
    REASON_CHANNEL_RECV: u32 = 9;
    REASON_JOIN: u32 = 10;
    REASON_YIELD: u32 = 11;
    REASON_SIGNAL: u32 = 12;
    REASON_USER: u32 = 13;
    REASONS: u32 = 14;
    END_DESTROYED: u32 = 1;
    END_SUSPENDED: u32 = 2;
    END_CANCELLED: u32 = 4;
    BIRTH_NAME_CUT: u32 = 1;
    BIRTH_ADOPTED: u32 = 2;
    WAKERS_DROPPED: u32 = 0x5741_4b45;
    WAKERS_DROPPED_INNER: u32 = 0x5741_4b49;
    TEXT_SIZE: usize = 24;
    MAX_SITES: u32 = 65535;
    CHUNK_SIZE: usize = 65536;
    CHUNK_RECORDS: usize = 2047;
    LIFE_NAME_SIZE: usize = 32;
    LIFE_UNREPORTED: u32 = 1;
    SITE_FILE_SIZE: usize = 144;
    SITE_FUNCTION_SIZE: usize = 96;
}

/// A life's state packed into one word; the same word describes an event: kind, reason, site.
pub(crate) const fn life_state(kind: u32, reason: u32, flags: u32) -> u32 {
    kind | reason << 8 | flags << 16
}

macro_rules! wire {
    ($(#[$meta:meta])* struct $name:ident, $wire:literal, $size:expr, {
        $($(#[$fmeta:meta])* $field:ident: $ty:ty = $offset:expr, $fsize:expr;)*
    }) => {
        $(#[$meta])*
        #[allow(dead_code)] // some fields are only used by the collector
        pub(crate) struct $name {
            $($(#[$fmeta])* pub(crate) $field: $ty,)*
        }

        const _: () = {
            let mut at = 0;
            $(
                assert!(
                    at == $offset && size_of::<$ty>() == $fsize,
                    concat!($wire, ".", stringify!($field), " changed: this breaks every program in the field")
                );
                at += size_of::<$ty>();
            )*
            // No padding anywhere, so the sums above are the offsets.
            assert!(at == $size && size_of::<$name>() == $size, concat!("size of ", $wire, " changed"));
        };

        #[cfg(test)]
        impl $name {
            pub(crate) const WIRE: (&'static str, usize, &'static [(&'static str, usize, usize)]) =
                ($wire, $size, &[$((stringify!($field), $offset, $fsize)),*]);
        }
    };
}

wire! {
    /// Written by the collector before the program starts, except for the two counters.
    #[repr(C, align(64))]
    struct Header, "ctp_header", 1024, {
        magic_number: AtomicU64 = 0x00, 8;
        version: AtomicU32 = 0x08, 4;
        max_stations: AtomicU32 = 0x0C, 4;
        allocated_count: AtomicU32 = 0x10, 4;
        tracer_sleeping: AtomicU32 = 0x14, 4;
        reserved: Opaque<1000> = 0x18, 1000;
    }
}

wire! {
    /// One transition, in a station.
    #[repr(C, align(64))]
    struct Epoch, "ctp_epoch", 64, {
        timestamp: AtomicU64 = 0x00, 8;
        tid: AtomicU64 = 0x08, 8;
        addr: AtomicU64 = 0x10, 8;
        seq: AtomicU64 = 0x18, 8;
        reserved: Opaque<31> = 0x20, 31;
        is_active: AtomicU8 = 0x3F, 1;
    }
}

wire! {
    /// One coroutine under a collector without lanes.
    #[repr(C, align(64))]
    struct Station, "ctp_station", 1024, {
        probe_id: AtomicU64 = 0x000, 8;
        birth_ts: AtomicU64 = 0x008, 8;
        is_dead: AtomicU8 = 0x010, 1;
        pad: Opaque<47> = 0x011, 47;
        slots: [Epoch; SLOTS] = 0x040, 512;
        flexible: Opaque<448> = 0x240, 448;
    }
}

wire! {
    #[repr(C, align(64))]
    struct ExtHeader, "ctp_ext_header", 128, {
        magic: AtomicU64 = 0x00, 8;
        version: AtomicU32 = 0x08, 4;
        features: AtomicU32 = 0x0C, 4;
        collector_pid: AtomicU32 = 0x10, 4;
        reserved0: Opaque<44> = 0x14, 44;
        sleeping: AtomicU32 = 0x40, 4;
        detach: AtomicU32 = 0x44, 4;
        clock_seq: AtomicU64 = 0x48, 8;
        clock_ticks: AtomicU64 = 0x50, 8;
        clock_ns: AtomicU64 = 0x58, 8;
        clock_mult: AtomicU64 = 0x60, 8;
        clock_window: AtomicU64 = 0x68, 8;
        reserved2: Opaque<16> = 0x70, 16;
    }
}

wire! {
    /// Behind the slots of a station, if the program supports the extensions.
    #[repr(C)]
    struct ExtStation, "ctp_ext_station", 448, {
        magic: AtomicU64 = 0x00, 8;
        version: AtomicU32 = 0x08, 4;
        pid: AtomicU32 = 0x0C, 4;
        death_ts: AtomicU64 = 0x10, 8;
        name_size: AtomicU32 = 0x18, 4;
        reserved0: AtomicU32 = 0x1C, 4;
        reserved1: AtomicU64 = 0x20, 8;
        name: [AtomicU8; EXT_NAME_SIZE] = 0x28, 408;
    }
}

wire! {
    /// `free` is tag << 32 | 1 + number of the top unit; the low half is 0 if the stack is empty.
    #[repr(C, align(64))]
    struct Pool, "ctp_pool", 64, {
        free: AtomicU64 = 0x00, 8;
        used: AtomicU32 = 0x08, 4;
        committed: AtomicU32 = 0x0C, 4;
        limit: AtomicU32 = 0x10, 4;
        unit: AtomicU32 = 0x14, 4;
        offset: AtomicU64 = 0x18, 8;
        refused: AtomicU64 = 0x20, 8;
        reserved: Opaque<24> = 0x28, 24;
    }
}

wire! {
    #[repr(C, align(64))]
    struct ExtLanes, "ctp_ext_lanes", 384, {
        magic: AtomicU64 = 0x00, 8;
        version: AtomicU32 = 0x08, 4;
        on_full: AtomicU32 = 0x0C, 4;
        map_size: AtomicU64 = 0x10, 8;
        lane_chunks: AtomicU32 = 0x18, 4;
        block_ms: AtomicU32 = 0x1C, 4;
        homeless: AtomicU64 = 0x20, 8;
        homeless_marks: AtomicU64 = 0x28, 8;
        untraced: AtomicU64 = 0x30, 8;
        later: AtomicU64 = 0x38, 8;
        last_id: AtomicU64 = 0x40, 8;
        reserved1: Opaque<56> = 0x48, 56;
        lanes: Pool = 0x80, 64;
        chunks: Pool = 0xC0, 64;
        lives: Pool = 0x100, 64;
        sites: Pool = 0x140, 64;
    }
}

wire! {
    /// One per thread that writes: the writer's cache line, then the identity and the collector's
    /// fields.
    #[repr(C, align(64))]
    struct Lane, "ctp_lane", 128, {
        link: AtomicU32 = 0x00, 4;
        state: AtomicU32 = 0x04, 4;
        head: AtomicU64 = 0x08, 8;
        dropped: AtomicU64 = 0x10, 8;
        dropped_at: AtomicU64 = 0x18, 8;
        dropped_marks: AtomicU64 = 0x20, 8;
        blocked_ns: AtomicU64 = 0x28, 8;
        blocked: AtomicU32 = 0x30, 4;
        taken: AtomicU32 = 0x34, 4;
        last_ticks: AtomicU64 = 0x38, 8;
        tid: AtomicU64 = 0x40, 8;
        pid: AtomicU32 = 0x48, 4;
        first: AtomicU32 = 0x4C, 4;
        ticks: AtomicU32 = 0x50, 4;
        returned: AtomicU32 = 0x54, 4;
        tail: AtomicU64 = 0x58, 8;
        oldest: AtomicU64 = 0x60, 8;
        reserved1: Opaque<24> = 0x68, 24;
    }
}

wire! {
    /// One event.  Only its writer accesses it until the lane's head goes past it.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Record, "ctp_record", 32, {
        ticks: u64 = 0x00, 8;
        id: u64 = 0x08, 8;
        value: u64 = 0x10, 8;
        seq: u32 = 0x18, 4;
        site: u16 = 0x1C, 2;
        kind: u8 = 0x1E, 1;
        reason: u8 = 0x1F, 1;
    }
}

wire! {
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct RecordMore, "ctp_record_more", 32, {
        resource: u64 = 0x00, 8;
        lost: u64 = 0x08, 8;
        reserved0: u64 = 0x10, 8;
        reserved1: u32 = 0x18, 4;
        reserved2: u16 = 0x1C, 2;
        kind: u8 = 0x1E, 1;
        reserved3: u8 = 0x1F, 1;
    }
}

wire! {
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct RecordText, "ctp_record_text", 32, {
        text: [u8; TEXT_SIZE] = 0x00, 24;
        reserved0: u32 = 0x18, 4;
        reserved1: u16 = 0x1C, 2;
        kind: u8 = 0x1E, 1;
        reserved2: u8 = 0x1F, 1;
    }
}

wire! {
    #[repr(C)]
    struct Chunk, "ctp_chunk", 65536, {
        link: AtomicU32 = 0x00, 4;
        lane: AtomicU32 = 0x04, 4;
        tid: AtomicU64 = 0x08, 8;
        pid: AtomicU32 = 0x10, 4;
        nr: AtomicU32 = 0x14, 4;
        reserved: Opaque<8> = 0x18, 8;
        records: UnsafeCell<[Record; CHUNK_RECORDS]> = 0x20, 65504;
    }
}

wire! {
    /// One per live coroutine: the fields that every event changes, then those set at creation.
    #[repr(C, align(64))]
    struct Life, "ctp_life", 128, {
        link: AtomicU32 = 0x00, 4;
        state: AtomicU32 = 0x04, 4;
        id: AtomicU64 = 0x08, 8;
        events: AtomicU64 = 0x10, 8;
        last_ticks: AtomicU64 = 0x18, 8;
        addr: AtomicU64 = 0x20, 8;
        resource: AtomicU64 = 0x28, 8;
        dropped: AtomicU64 = 0x30, 8;
        site: AtomicU32 = 0x38, 4;
        birth_site: AtomicU32 = 0x3C, 4;
        birth_ticks: AtomicU64 = 0x40, 8;
        parent: AtomicU64 = 0x48, 8;
        pid: AtomicU32 = 0x50, 4;
        name_size: AtomicU32 = 0x54, 4;
        ticks: AtomicU32 = 0x58, 4;
        birth: AtomicU32 = 0x5C, 4;
        name: [AtomicU8; LIFE_NAME_SIZE] = 0x60, 32;
    }
}

wire! {
    /// A source location, registered once.  Names that are too long keep their end.
    #[repr(C)]
    struct Site, "ctp_site", 256, {
        link: AtomicU32 = 0x00, 4;
        ready: AtomicU32 = 0x04, 4;
        line: AtomicU32 = 0x08, 4;
        pid: AtomicU32 = 0x0C, 4;
        file: [AtomicU8; SITE_FILE_SIZE] = 0x10, 144;
        function: [AtomicU8; SITE_FUNCTION_SIZE] = 0xA0, 96;
    }
}

const _: () = assert!(MAX_SITES == u16::MAX as u32, "a record has 16 bits for a site");
const _: () = assert!(
    EXT_LANES_OFFSET >= EXT_HEADER_OFFSET + size_of::<ExtHeader>()
        && EXT_LANES_OFFSET + size_of::<ExtLanes>() <= size_of::<Header>(),
    "the extensions do not fit the header"
);

/// Bytes of a region with `nr` stations.
pub(crate) const fn region_size(nr: u64) -> u64 {
    (size_of::<Header>() as u64).saturating_add(nr.saturating_mul(size_of::<Station>() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// In the order of the file that all languages are compared with.
    fn constants(out: &mut String) {
        macro_rules! print {
            ($($name:ident)*) => { $(writeln!(out, "CTP_{} {:#x}", stringify!($name), $name as u64).unwrap();)* };
        }
        print! { MAGIC VERSION SLOTS MAX_STATIONS WAKE_BYTE EXT_MAGIC EXT_VERSION EXT_HEADER_OFFSET
        EXT_SLEEPING EXT_MEMBARRIER EXT_CLOCK DETACH_ASKED DETACH_GONE EXT_NAME_SIZE }
        for (name, value) in [
            ("ENV_SHM", ENV_SHM),
            ("ENV_SOCK", ENV_SOCK),
            ("ENV_STATIONS", ENV_STATIONS),
            ("ENV_VERBOSE", ENV_VERBOSE),
        ] {
            writeln!(out, "CTP_{name} {value}").unwrap();
        }
    }

    fn lane_constants(out: &mut String) {
        macro_rules! print {
            ($($name:ident)*) => { $(writeln!(out, "CTP_{} {:#x}", stringify!($name), $name as u64).unwrap();)* };
        }
        print! { EXT_LANES EXT_HANDOVER EXT_CONTEXT LANES_MAGIC LANES_VERSION EXT_LANES_OFFSET ON_FULL_DROP ON_FULL_BLOCK TICKS_NS
        TICKS_COUNTER LANE_FREE LANE_OPEN LANE_CLOSED REC_SUSPEND REC_RESUME REC_BIRTH REC_WAKE REC_END
        REC_DESTROY REC_GAP REC_PAD REC_MORE REC_TEXT REC_CLOSE REC_ACQUIRE REC_RELEASE REC_THREAD REC_CONTEXT REC_KINDS REC_HAS_MORE REASON_UNKNOWN REASON_IO_READ
        REASON_IO_WRITE REASON_ACCEPT REASON_CONNECT REASON_TIMER REASON_MUTEX REASON_SEMAPHORE
        REASON_CHANNEL_SEND REASON_CHANNEL_RECV REASON_JOIN REASON_YIELD REASON_SIGNAL REASON_USER REASONS
        END_DESTROYED END_SUSPENDED END_CANCELLED BIRTH_NAME_CUT BIRTH_ADOPTED WAKERS_DROPPED WAKERS_DROPPED_INNER TEXT_SIZE MAX_SITES CHUNK_SIZE CHUNK_RECORDS
        LIFE_NAME_SIZE LIFE_UNREPORTED SITE_FILE_SIZE SITE_FUNCTION_SIZE }
        writeln!(out, "CTP_LIFE_STATE(0xab, 0xcd, 0x1234) {:#x}", life_state(0xab, 0xcd, 0x1234)).unwrap();
    }

    type Wire = (&'static str, usize, &'static [(&'static str, usize, usize)]);

    fn structs(out: &mut String, all: &[Wire]) {
        for (name, size, fields) in all {
            writeln!(out, "struct {name} size {size}").unwrap();
            for (field, offset, size) in *fields {
                writeln!(out, "{name}.{field} offset {offset:#05x} size {size}").unwrap();
            }
        }
    }

    fn layout() -> String {
        let mut out = String::new();
        constants(&mut out);
        structs(&mut out, &[Header::WIRE, Epoch::WIRE, Station::WIRE, ExtHeader::WIRE, ExtStation::WIRE]);
        lane_constants(&mut out);
        structs(&mut out, &[Pool::WIRE, ExtLanes::WIRE, Lane::WIRE, Record::WIRE, RecordMore::WIRE]);
        structs(&mut out, &[RecordText::WIRE, Chunk::WIRE, Life::WIRE, Site::WIRE]);
        out
    }

    /// The offsets that `wire!` asserts are those that the compiler chose.
    #[test]
    fn offsets_are_what_the_macro_says() {
        macro_rules! check {
            ($($ty:ident: $($field:ident)*;)*) => { $($(
                let at = std::mem::MaybeUninit::<$ty>::uninit();
                // SAFETY: only the address is computed, nothing is read.
                let field = unsafe { std::ptr::addr_of!((*at.as_ptr()).$field) } as usize;
                let said = $ty::WIRE.2.iter().find(|f| f.0 == stringify!($field)).unwrap().1;
                assert_eq!(field - at.as_ptr() as usize, said, stringify!($ty.$field));
            )*)* };
        }
        check! {
            Header: version max_stations allocated_count tracer_sleeping reserved;
            Epoch: timestamp tid addr seq is_active;
            Station: birth_ts is_dead slots flexible;
            ExtHeader: features sleeping clock_seq clock_window;
            ExtStation: death_ts name_size name;
            ExtLanes: map_size homeless last_id lanes chunks lives sites;
            Lane: state head tid returned tail oldest;
            Record: ticks id value seq site kind reason;
            Chunk: lane records;
            Life: state id events dropped birth_site birth_ticks name;
            Site: ready line file function;
        }
    }

    /// The same text as from C and C++.
    #[test]
    #[cfg_attr(miri, ignore)] // Miri cannot read files
    fn the_layout_is_that_of_all_languages() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/abi/v1.txt");
        let wanted = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(why) => panic!("{path}: {why}"),
        };
        assert_eq!(layout(), wanted);
    }
}
