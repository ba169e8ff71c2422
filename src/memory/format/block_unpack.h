/* SPDX-License-Identifier: MIT */
/*
 * block_unpack.h - decode the payload of a block record by record.
 *
 * The reverse of runtime/memory/pack.h.  The input is untrusted: nothing outside of it is read, the
 * output is bounded by the input, and a fault ends the block with a description.
 */
#ifndef MEMORY_FORMAT_BLOCK_UNPACK_H
#define MEMORY_FORMAT_BLOCK_UNPACK_H

#include "memory/format/mem_record.h"

/* Events that change nothing that accesses depend on: a bit per code. */
#define UNPACK_SKIPS                                                                           \
	(1u << CRAY_EV_CORO | 1u << CRAY_EV_ALLOC | 1u << CRAY_EV_FREE | 1u << CRAY_EV_ENTER | \
	 1u << CRAY_EV_EXIT)

/*
 * The prediction of an address, by the low bit of a symbol: the last step of the site repeats, from
 * its last address, or from the previous address of any site.
 */
enum { UNPACK_STRIDE, UNPACK_DISTANCE };

/* Padded to a power of two: the address of a site is on the critical path of decoding. */
struct unpack_site {
	uint64_t pc, last;
	uint64_t from[2]; /* by prediction: the address that @last was a step from */
	struct unpack_site *next;
	uint8_t size, is_write, tag, attr; /* in the order of struct mem_access */
	uint32_t more;                     /* size - 1, unsigned */
	uint64_t key;                      /* MEM_KEY_OF(0), and MEM_KEY_WRITE if it writes */
	uint64_t count;                    /* size, and from bit 32 on is_write */
};

struct unpack_name {
	const char *text;
	uint32_t size;
};

struct unpack_names {
	struct unpack_name *name;
	size_t nr, room;
};

struct unpack_call {
	uint64_t function, site;
};

struct unpack_calls {
	struct unpack_call *call;
	size_t nr, room;
};

/* A stream of bytes; `at` never passes `end`. */
struct unpack_stream {
	const uint8_t *at, *end;
};

#define UNPACK_AHEAD 1024u

/* Values of a stream of addresses that are decoded and not used yet. */
struct unpack_ahead {
	uint32_t at, nr;
	uint64_t value[UNPACK_AHEAD + 1];
};

/*
 * The meaning of the symbols of one byte, in an array for each part of it: then one register
 * reaches all of them.  A symbol that is an event, begins a longer one or names an unknown site has
 * `stop`.
 */
struct unpack_symbols {
	uintptr_t site[256];          /* the site that it names; not of the next one */
	uint64_t own[256], near[256]; /* bytes of values that it takes of each: 0 or 8 */
	struct unpack_site stop;      /* its accesses are of more than one line */
};

/* For unpack_run(); begun at the first call in a block. */
struct unpack_fast {
	bool is_begun;
	uint32_t nr_sites; /* in the table */
	struct unpack_ahead own, near;
	struct unpack_symbols symbols;
};

struct unpack {
	struct unpack_stream symbols, sites, own, near, events;
	struct unpack_site *site; /* nr_sites_max elements */
	uint32_t nr_sites, nr_sites_max, site_size;
	struct unpack_site *here; /* NULL: none yet */
	struct unpack_fast *fast; /* NULL: not used yet */
	uint32_t skips;           /* events that unpack_run() skips: a bit per code; UNPACK_SKIPS */
	uint32_t nr_symbols;
	uint32_t nr_records, nr_accesses; /* so far */
	uint64_t lost, left_out;          /* so far, sums of gaps */
	uint64_t before, order, time_ns, event_pc, event_address, heap_pc, heap_address;
	uint32_t thread, weight_256;
	bool many_threads;
	uint32_t stands_for; /* set after unpack_begin(): see mem_run; 0: leave out all accesses */
	struct unpack_names names, coroutines; /* with numbers of their own */
	struct unpack_calls calls;
	struct cray_block head;
	const char *fault; /* description of the fault; NULL: none */
};

/*
 * Start a block.  @u is zeroed before the first block and reused for the next ones.  False: see
 * `fault`.
 */
bool unpack_begin(struct unpack *u, const struct cray_block *head, bool many_threads,
		  const uint8_t *plain, size_t size);

/*
 * What accesses of a block are of, and its allocations, without decoding it: from unpack_begin() to
 * the first record.  False at the end, or at a fault.
 */
struct unpack_peek {
	struct unpack_stream sites, events;
	uint64_t pc, heap_pc;
};
void unpack_peek_begin(const struct unpack *u, struct unpack_peek *p);
bool unpack_peek_site(struct unpack_peek *p, uint64_t *pc);
/* Of an allocation: its code, size (`value`) and stack. */
bool unpack_peek_allocation(struct unpack_peek *p, struct mem_record *out);

/*
 * Decode the next record.  False at the end of the block or at a fault. out->name points into the
 * payload.
 */
bool unpack_next(struct unpack *u, struct mem_record *out);

/*
 * Decode up to @max consecutive accesses of one thread and stamp. 0: the next symbol is not an
 * access, or a fault.
 */
uint32_t unpack_run(struct unpack *u, struct mem_access *out, uint32_t max);

/*
 * The same, reduced to lines: *@out has room for at least MEM_KEYS_MAX keys, and is overwritten
 * except for that and its shift.  Fewer than @max are decoded if there is no room for more.
 */
uint32_t unpack_run_lines(struct unpack *u, struct mem_lines *out, uint32_t max);

/* The time of the next symbol if it is a stamp.  Does not consume it. */
bool unpack_peek_time(const struct unpack *u, uint64_t *time_ns);

/* Decode what comes next if unpack_run() returned 0. */
enum unpack_step {
	UNPACK_END,    /* the end of the block, or a fault */
	UNPACK_STATE,  /* thread, order or time has changed */
	UNPACK_RECORD, /* a record in *out */
};
enum unpack_step unpack_step(struct unpack *u, struct mem_record *out);

void unpack_release(struct unpack *u);

/* ---- for access_unpack.c ---------------------------------------------------- */

/* Returns false. */
bool unpack_set_error(struct unpack *u, const char *what);
bool unpack_no_memory(struct unpack *u, const char *what);

/* The site that a symbol names, a new one if it is; NULL: a fault. */
struct unpack_site *unpack_site_of(struct unpack *u, uint64_t who);

/* Decode the next event.  *@is_record: the event is a record in *@out.  False: a fault. */
bool unpack_event(struct unpack *u, struct mem_record *out, bool *is_record);

#endif
