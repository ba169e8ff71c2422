/* SPDX-License-Identifier: MIT */
/*
 * unpack.h - the payload of a block, record by record.
 *
 * The other side of memory-rt/pack.h.  The bytes may be anybody's: nothing outside of them
 * is read, what comes out is bounded by what goes in, and a fault ends the block with words.
 */
#ifndef MEMORY_UNPACK_H
#define MEMORY_UNPACK_H

#include "memory/record.h"

struct unpack_site {
	uint64_t pc, last, stride, distance;
	uint32_t next;
	uint8_t tag, size, attr;
};

struct unpack_name {
	const char *text;
	uint32_t size;
};

/* A stream of bytes; `at` never passes `end`. */
struct unpack_stream {
	const uint8_t *at, *end;
};

struct unpack {
	struct unpack_stream symbols, sites, own, near, events;
	struct unpack_site *site; /* nr_sites_max of them */
	uint32_t nr_sites, nr_sites_max, site_size;
	uint32_t here; /* UINT32_MAX: none yet */
	uint32_t nr_symbols;
	uint32_t nr_records, nr_accesses; /* so far */
	uint64_t lost, left_out;          /* so far, of gaps */
	uint64_t before, order, time_ns, event_pc, event_address;
	uint32_t thread, weight_256;
	bool many_threads;
	struct unpack_name *names;
	size_t nr_names, names_size;
	struct cray_block head;
	const char *fault; /* what was wrong; NULL: nothing */
};

/* All zero before the first; a block may follow another.  False: see fault. */
bool unpack_begin(struct unpack *u, const struct cray_block *head, bool many_threads,
		  const uint8_t *plain, size_t size);

/* False at the end of the block, or at a fault.  The name is in the payload. */
bool unpack_next(struct unpack *u, struct mem_record *out);

/*
 * Up to @max accesses in a row, of one thread and stamp.  0: no access comes next, or there
 * is a fault.
 */
uint32_t unpack_run(struct unpack *u, struct mem_access *out, uint32_t max);

/* The time of the stamp that comes next, if one does.  Nothing is taken. */
bool unpack_peek_time(const struct unpack *u, uint64_t *time_ns);

/* What comes next if unpack_run() says 0. */
enum unpack_step {
	UNPACK_END,    /* the end of the block, or a fault */
	UNPACK_STATE,  /* thread, order or time are others from here on */
	UNPACK_RECORD, /* in *out */
};
enum unpack_step unpack_step(struct unpack *u, struct mem_record *out);

void unpack_release(struct unpack *u);

#endif
