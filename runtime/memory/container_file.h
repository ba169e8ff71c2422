/* SPDX-License-Identifier: MIT */
/*
 * container_file.h - write a container from inside the traced program.
 *
 * No allocation, no stdio.  After crt_file_tail() the file is complete; the next block overwrites
 * the tail. crt_file_error() is the errno of the first error.
 */
#ifndef RUNTIME_MEMORY_CONTAINER_FILE_H
#define RUNTIME_MEMORY_CONTAINER_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "container.h"
#include "pack.h"

struct crt_file;

/*
 * Create a container at @path.  @level 0: no compression.  @max: size limit in bytes (0: none).
 * @ring: write nothing before the tail, then the newest @ring bytes of blocks.  NULL with errno.
 */
struct crt_file *crt_file_open(const char *path, int level, uint64_t max, uint64_t ring,
			       uint64_t start_ns);

/* True if @path holds a trace that this process started before an exec. */
bool crt_file_is_ours(const char *path);

/* Queue an entry for the next INFO, MODULES or THREADS chunk. */
void crt_file_fact(struct crt_file *f, uint16_t key, const void *bytes, size_t size);
void crt_file_module(struct crt_file *f, const void *module_and_path, size_t size);
void crt_file_thread(struct crt_file *f, const struct cray_thread *thread, const char *name);

/* Count lost accesses that no block counts. */
void crt_file_lost(struct crt_file *f, uint32_t thread, uint32_t cause, uint64_t count);

/*
 * Buffers and zstd context for making a block, the slow part, which two threads can do at a time.
 * One per thread; never freed.
 */
struct crt_maker;
struct crt_maker *crt_maker_new(const struct crt_file *f);

/* Finish the packer's block and compress it into @m.  @hurry: the program waits for room. */
void crt_maker_make(struct crt_maker *m, struct cray_pack *p, bool hurry);

/* Write the block in @m with this sequence number of its thread.  False: see crt_file_error(). */
bool crt_file_block(struct crt_file *f, struct crt_maker *m, uint64_t thread_seq);

/* Write losses, index, end and foot: the file is complete until the next block. */
bool crt_file_tail(struct crt_file *f);

/* errno of the first failure; EFBIG: the size cap. */
int crt_file_error(const struct crt_file *f);
int crt_file_fd(const struct crt_file *f);
bool crt_file_compresses(const struct crt_file *f);

void crt_file_close(struct crt_file *f);

#endif
