/* SPDX-License-Identifier: MIT */
/*
 * reader.h - a memory trace, whatever its format, record by record.
 *
 *	struct mem_reader *r = mem_reader_open("app.trace", &err);
 *	const struct mem_record *rec;
 *
 *	while ((rec = mem_reader_next(r)))
 *		...
 *	if (mem_reader_error(r, &err) < 0)      it could not go on: no memory, I/O
 *		...
 *	mem_reader_faults(r)->nr                what was wrong with the trace
 *	mem_reader_close(r);
 *
 * Containers, raw traces, and raw traces in zstd frames.  Records come in the trace's order
 * (docs/memory-format.md, "Threads and order"), memory stays flat.  The input may be anything.
 */
#ifndef MEMORY_READER_H
#define MEMORY_READER_H

#include "base/err.h"
#include "memory/facts.h"
#include "memory/fault.h"
#include "memory/record.h"

enum mem_format { MEM_FORMAT_CONTAINER, MEM_FORMAT_RAW, MEM_FORMAT_RAW_ZSTD };

struct mem_reader;

/* "-" is standard input. */
struct mem_reader *mem_reader_open(const char *path, struct err *err);

/* The next record, ours until the next call; NULL at the end. */
const struct mem_record *mem_reader_next(struct mem_reader *r);

/*
 * The same, many accesses at a time: a run of one thread, or one record that is no access.
 * False at the end.  Either this or mem_reader_next(), for all of a trace.
 *
 * Where threads ran at the same time, their accesses take turns.  Stamps are thousands of accesses
 * apart; between two of them a thread's accesses are taken to be evenly spaced in time.
 * (mem_reader_next() gives all of one stamp in a row.)  An ordered trace stays as it is.
 */
struct mem_run {
	const struct mem_record *record; /* no access; NULL: a run */
	const struct mem_access *access;
	uint32_t nr;
	uint32_t thread;
	uint32_t weight_256;
	uint64_t order, time_ns; /* of the stamp */
};
bool mem_reader_run(struct mem_reader *r, struct mem_run *out);

/* 0, or why there is no more although there should be. */
int mem_reader_error(const struct mem_reader *r, struct err *err);

/* Complete at the end; before, what is known so far (of a container: all). */
const struct mem_facts *mem_reader_facts(const struct mem_reader *r);
struct mem_faults *mem_reader_faults(struct mem_reader *r);

enum mem_format mem_reader_format(const struct mem_reader *r);
const char *mem_reader_format_name(const struct mem_reader *r);

/* For progress: bytes done, and in all (0: not known). */
uint64_t mem_reader_done(const struct mem_reader *r);
uint64_t mem_reader_size(const struct mem_reader *r);

/* Where the last record came from: the offset of its block, or its own. */
uint64_t mem_reader_offset(const struct mem_reader *r);

/* Of containers: what the heads of the blocks say, before a record is read. */
struct mem_blocks {
	uint64_t nr;
	uint64_t nr_records, nr_accesses, lost, left_out;
	uint64_t stored, plain; /* bytes */
	bool complete;          /* the writer said that it was done */
};
const struct mem_blocks *mem_reader_blocks(const struct mem_reader *r);

void mem_reader_close(struct mem_reader *r);

/* ---- for the formats ------------------------------------------------------ */

struct mem_source {
	const struct mem_record *(*next)(struct mem_source *s);
	bool (*run)(struct mem_source *s, struct mem_run *out); /* NULL: record by record */
	void (*close)(struct mem_source *s);
	struct mem_facts facts;
	struct mem_faults faults;
	struct mem_blocks blocks;
	struct err err; /* code < 0: it cannot go on */
	uint64_t done, size, offset;
};

struct mem_source *mem_container_open(int fd, const char *path, struct err *err);
struct mem_source *mem_raw_open(int fd, const char *path, const uint8_t *start, size_t nr_start,
				bool zstd, struct err *err);

#endif
