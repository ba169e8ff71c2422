/* SPDX-License-Identifier: MIT */
/*
 * container_file.h - a container that the tool writes: messages for errors, zstd that is linked.
 *
 * runtime/memory/container_writer.h writes it.  Facts and threads are written at once, in chunks
 * of their own.
 */
#ifndef MEMORY_FORMAT_CONTAINER_FILE_H
#define MEMORY_FORMAT_CONTAINER_FILE_H

#include "base/err.h"
#include "container_writer.h"

struct cfile {
	char *path;
	struct cray_writer *writer;
	struct cray_maker *maker; /* of the blocks of cfile_block() */
	uint64_t size;            /* of the file; valid after cfile_close() */
};

struct cfile_config {
	int level;      /* of zstd; 0: no compression */
	uint64_t flags; /* cray_file.flags */
	uint64_t start_ns, start_wall_ns;
};

/* Takes ownership of @fd, an empty file.  0 or a negative errno. */
int cfile_open(struct cfile *f, int fd, const char *path, const struct cfile_config *config,
	       struct err *err);

/* Finish and write the packer's block; the caller begins the next.  An empty block is ignored. */
void cfile_block(struct cfile *f, struct cray_pack *p);

void cfile_fact(struct cfile *f, uint16_t key, const void *data, size_t size);
void cfile_module(struct cfile *f, const struct cray_module *m, const char *path);
void cfile_thread(struct cfile *f, const struct cray_thread *t, const char *name);

/* The first error; 0: none. */
int cfile_error(const struct cfile *f, struct err *err);

/*
 * Write losses, index, end and foot, and close.  @status: from wait(2), -1: unknown.  Returns 0
 * or the first error.
 */
int cfile_close(struct cfile *f, int status, struct err *err);

/* Close the file without completing it. */
void cfile_abandon(struct cfile *f);

/* A writer without a file, which refuses everything.  NULL: no memory. */
struct cray_writer *cfile_no_writer(void);
void cfile_free_writer(struct cray_writer *w);

/* A maker with a zstd context of its own.  NULL: no memory. */
struct cray_maker *cfile_maker_new(int level);
void cfile_maker_free(struct cray_maker *m);

#endif
