/* SPDX-License-Identifier: MIT */
/*
 * mem_check.h - validate a memory trace: structure, pairing of annotations, counts.
 *
 * The reader reports faults of structure; this adds faults of annotations, and counts.  Not
 * faults: annotations still in force at the end, and annotations of address 0 (a failed
 * allocation, free(NULL)), which existing runtimes write.
 */
#ifndef MEMORY_STAT_MEM_CHECK_H
#define MEMORY_STAT_MEM_CHECK_H

#include "base/u64map.h"
#include "memory/format/mem_reader.h"
#include "memory/format/annotation_map.h"

struct mem_check_thread {
	uint32_t number;
	uint64_t reads, writes, annotations, lost;
};

struct mem_check {
	uint64_t by_tag[256];   /* accesses and annotations, by raw tag */
	uint64_t sizes[2][256]; /* of reads, of writes */
	uint64_t bytes[2];
	uint64_t with_pc, with_attr;
	uint64_t marks;
	uint64_t resumes;               /* of coroutines */
	uint64_t allocations, releases; /* of heap blocks */
	uint64_t allocated;             /* bytes */
	uint64_t calls;                 /* functions entered */
	uint64_t with_stack;            /* allocations whose call stack is known */
	uint64_t gaps, lost, left_out;  /* gap events; losses in gaps and outside of them */
	uint64_t by_cause[MEM_CAUSES];
	bool lost_unknown;
	uint64_t null_adds, null_removes;
	uint64_t left;              /* annotations in force at the end */
	uint64_t most;              /* maximum in force at a time */
	uint64_t first_ns, last_ns; /* 0: no times */
	struct mem_check_thread *threads;
	size_t nr_threads, threads_size;
	struct u64map by_number;
};

/* Read @r to its end.  Faults of annotations are added to the reader's.  0 or -ENOMEM. */
int mem_check_run(struct mem_check *c, struct mem_reader *r, struct err *err);
void mem_check_release(struct mem_check *c);

/* Sum of by_tag over the flags of @kind. */
uint64_t mem_check_kind(const struct mem_check *c, unsigned kind);

#endif
