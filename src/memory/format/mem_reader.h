/* SPDX-License-Identifier: MIT */
/*
 * mem_reader.h - read a memory trace of any format record by record.
 *
 *	struct mem_reader *r = mem_reader_open("app.trace", &err);
 *	const struct mem_record *rec;
 *
 *	while ((rec = mem_reader_next(r)))
 *		...
 *	if (mem_reader_error(r, &err) < 0)      out of memory or I/O error
 *		...
 *	mem_reader_faults(r)->nr                number of faults in the trace
 *	mem_reader_close(r);
 *
 * Reads containers, raw traces, and raw traces in zstd frames.  Records come in trace order
 * (docs/memory-format.md, "Threads and order"); memory use is bounded.  The input is untrusted.
 */
#ifndef MEMORY_FORMAT_MEM_READER_H
#define MEMORY_FORMAT_MEM_READER_H

#include "base/err.h"
#include "memory/format/mem_facts.h"
#include "memory/format/mem_faults.h"
#include "memory/format/mem_record.h"

enum mem_format { MEM_FORMAT_CONTAINER, MEM_FORMAT_RAW, MEM_FORMAT_RAW_ZSTD };

struct mem_reader;

/* "-" is standard input. */
struct mem_reader *mem_reader_open(const char *path, struct err *err);

/* The next record, valid until the next call; NULL at the end. */
const struct mem_record *mem_reader_next(struct mem_reader *r);

/*
 * Read many accesses at a time: a run of one thread, or one record that is not an access.  False
 * at the end.  Use either this or mem_reader_next() for a whole trace.
 *
 * Accesses of threads that ran at the same time are interleaved.  Stamps are thousands of
 * accesses apart; between two stamps a thread's accesses are assumed to be evenly spaced in time.
 * (mem_reader_next() returns all accesses of one stamp in sequence.)  An ordered trace keeps its
 * order.
 */
struct mem_run {
	const struct mem_record *record; /* a record other than an access; NULL: a run */
	const struct mem_access *access;
	const struct mem_lines *lines; /* instead of @access, see mem_reader_want_lines() */
	uint32_t nr;                   /* accesses */
	uint32_t thread;
	uint32_t weight_256;
	uint32_t stands_for;     /* accesses that each one stands for, see mem_wants_fn */
	uint64_t order, time_ns; /* of the last stamp */
};
bool mem_reader_run(struct mem_reader *r, struct mem_run *out);

/* From now on, mem_reader_run() keeps the order of mem_reader_next().  Call it before the first. */
void mem_reader_keep_stamps(struct mem_reader *r);

/*
 * From now on, mem_reader_run() may leave out coroutines, allocations and calls, which makes runs
 * longer.  The order of everything else does not change.  Call it before the first.
 */
void mem_reader_skip_events(struct mem_reader *r);

/*
 * From now on, mem_reader_run() may reduce accesses to lines of 2^@shift bytes, at least 32; it
 * does so if it also skips events and all accesses are of one thread.  Call it before the first.
 */
void mem_reader_want_lines(struct mem_reader *r, uint32_t shift);

/*
 * From now on, mem_reader_run() asks @wants about each block of a container: how many accesses each
 * of its accesses stands for.  0: leave them out, and give only its other records.  Call it before
 * the first.
 */
struct unpack;
typedef uint32_t (*mem_wants_fn)(void *context, const struct unpack *block);
void mem_reader_choose_blocks(struct mem_reader *r, mem_wants_fn wants, void *context);

/* 0, or the error that ended reading. */
int mem_reader_error(const struct mem_reader *r, struct err *err);

/*
 * Complete at the end of the trace; before, what has been read so far (for a container:
 * everything).
 */
const struct mem_facts *mem_reader_facts(const struct mem_reader *r);
struct mem_faults *mem_reader_faults(struct mem_reader *r);

/*
 * The call stack of an allocation, mem_record.stack: code addresses, innermost first.  The first
 * one is in the innermost instrumented function; the others are return addresses into its callers,
 * or in a function whose call is not known because code without instrumentation is in between.
 * Returns how many; 0: not known.
 */
size_t mem_reader_stack(const struct mem_reader *r, uint32_t stack, const uint64_t **frames);

enum mem_format mem_reader_format(const struct mem_reader *r);
const char *mem_reader_format_name(const struct mem_reader *r);

/* For progress: bytes done and total bytes (0: unknown). */
uint64_t mem_reader_done(const struct mem_reader *r);
uint64_t mem_reader_size(const struct mem_reader *r);

/* The file offset of the last record, or of its block in a container. */
uint64_t mem_reader_offset(const struct mem_reader *r);

/* For containers: totals of the block heads, known before a record is read. */
struct mem_blocks {
	uint64_t nr;
	uint64_t nr_records, nr_accesses, lost, left_out;
	uint64_t stored, plain; /* bytes */
	bool complete;          /* the writer completed the file */
};
const struct mem_blocks *mem_reader_blocks(const struct mem_reader *r);

void mem_reader_close(struct mem_reader *r);

/* ---- implementation of the formats ---------------------------------------- */

struct mem_source {
	const struct mem_record *(*next)(struct mem_source *s);
	bool (*run)(struct mem_source *s, struct mem_run *out); /* NULL: no runs */
	void (*close)(struct mem_source *s);
	struct mem_facts facts;
	struct mem_faults faults;
	struct mem_blocks blocks;
	struct err err;     /* code < 0: reading ended with this error */
	bool keeps_stamps;  /* runs are in the order of records: all accesses of a stamp in sequence
			     */
	bool skips_events;  /* runs may leave out coroutines, allocations and calls */
	uint32_t lines;     /* runs may be reduced to lines of 2^lines bytes; 0: no */
	mem_wants_fn wants; /* NULL: all blocks */
	void *wants_context;
	uint64_t done, size, offset;
};

struct mem_source *mem_container_open(int fd, const char *path, struct err *err);
struct mem_source *mem_raw_open(int fd, const char *path, const uint8_t *start, size_t nr_start,
				bool zstd, struct err *err);

#endif
