/* SPDX-License-Identifier: MIT */
/*
 * outfile.h - a file that appears whole, or not at all.
 *
 *	struct outfile f;
 *
 *	if (outfile_open(&f, path, &err) < 0)
 *		return err.code;
 *	outfile_put(&f, text, size);
 *	rc = outfile_commit(&f, &err);
 *	outfile_close(&f);
 *
 * Written under a temporary name beside the one it gets, and synced before it gets it; what
 * had that name before is replaced only then.  "-" is standard output, where all this cannot
 * be had; nor can it where the name is that of a device or a pipe.  The first write that
 * fails sticks, and is told by the commit.
 */
#ifndef EXPORT_OUTFILE_H
#define EXPORT_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

#define OUTFILE_BUFFER ((size_t)256 * 1024)
/* Whoever fills in place may do so with as much as that at once, see outfile_room(). */
#define OUTFILE_ROOM ((size_t)8192)

struct outfile {
	char *at, *limit; /* of the buffer; beyond limit there is OUTFILE_ROOM */
	char *buf;
	int fd;
	int error;       /* negative errno of the first write that failed */
	uint64_t bytes;  /* out of the buffer so far */
	char *path;      /* what it will be */
	char *temporary; /* what it is until then; NULL: it is that from the beginning */
	bool committed;
};

int outfile_open(struct outfile *f, const char *path, struct err *err);

/*
 * The temporary name alone, for libraries that open files by their name: "PATH.XXXXXX",
 * made and empty, so that nobody else has it.  outfile_commit() and outfile_close() as usual.
 */
int outfile_reserve(struct outfile *f, const char *path, struct err *err);

/* Everything that is in the buffer goes out.  False after a failure. */
bool outfile_flush(struct outfile *f);

void outfile_put_large(struct outfile *f, const void *data, size_t size);

static inline void outfile_put(struct outfile *f, const void *data, size_t size)
{
	if (size > (size_t)(f->limit - f->at)) {
		outfile_put_large(f, data, size);
		return;
	}
	if (!size)
		return;
	memcpy(f->at, data, size);
	f->at += size;
}

/* Where OUTFILE_ROOM bytes may be written; f->at moves behind what was. */
static inline char *outfile_room(struct outfile *f)
{
	if (f->at >= f->limit)
		outfile_flush(f);
	return f->at;
}

/* Out of the buffer, onto the disk, and its name.  0 or why not, with words. */
int outfile_commit(struct outfile *f, struct err *err);

/* Not committed: removed.  Harmless on a struct that is all zero, or closed. */
void outfile_close(struct outfile *f);

/* Remove the temporary file, from another thread; see sink.h. */
void outfile_drop(const struct outfile *f);

#endif
