/* SPDX-License-Identifier: MIT */
/*
 * file.h - a container, written from inside the traced program.
 *
 * No allocation, no stdio.  After crt_file_tail() the file is complete; the next block
 * takes the tail away again.  Errors are kept: crt_file_error() is errno of the first.
 */
#ifndef MEMORY_RT_FILE_H
#define MEMORY_RT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "container.h"
#include "pack.h"

struct crt_file;

/*
 * A new container at @path, in memory of its own.  @level 0: not compressed.  @max bytes at
 * most (0: no bound).  @ring: nothing is written before the tail, and then the newest
 * @ring bytes of blocks.  NULL with errno.
 */
struct crt_file *crt_file_open(const char *path, int level, uint64_t max, uint64_t ring,
			       uint64_t start_ns);

/* Does this path hold a trace that this very process began, before an exec? */
bool crt_file_is_ours(const char *path);

/* What goes into the next INFO, MODULES or THREADS chunk. */
void crt_file_fact(struct crt_file *f, uint16_t key, const void *bytes, size_t size);
void crt_file_module(struct crt_file *f, const void *module_and_path, size_t size);
void crt_file_thread(struct crt_file *f, const struct cray_thread *thread, const char *name);

/* Accesses that no block tells of. */
void crt_file_lost(struct crt_file *f, uint32_t thread, uint32_t cause, uint64_t count);

/*
 * Where a block is made: the slow part, which two threads can do at a time.  One for each,
 * for ever.
 */
struct crt_maker;
struct crt_maker *crt_maker_new(const struct crt_file *f);

/* The packer's block into @m.  @hurry: the program waits for us. */
void crt_maker_make(struct crt_maker *m, struct cray_pack *p, bool hurry);

/* The block in @m is the next of its thread, with this number.  False: see crt_file_error. */
bool crt_file_block(struct crt_file *f, struct crt_maker *m, uint64_t thread_seq);

/* Lost, index, end, foot: complete for now. */
bool crt_file_tail(struct crt_file *f);

/* errno of the first failure; EFBIG: the size cap. */
int crt_file_error(const struct crt_file *f);
int crt_file_fd(const struct crt_file *f);
bool crt_file_compresses(const struct crt_file *f);

/* Nothing more is written; frees everything. */
void crt_file_close(struct crt_file *f);

#endif
