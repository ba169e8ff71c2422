/* SPDX-License-Identifier: MIT */
/*
 * output_file.h - write a file that appears complete or not at all.
 *
 *	struct outfile f;
 *
 *	if (outfile_open(&f, path, &err) < 0)
 *		return err.code;
 *	outfile_put(&f, text, size);
 *	rc = outfile_commit(&f, &err);
 *	outfile_close(&f);
 *
 * The file is written under a temporary name in the same directory, synced, and renamed by
 * outfile_commit(); an earlier file of that name stays untouched until then.  Without a commit, and
 * when a signal ends the process, the temporary file is removed.  Standard output ("-"), devices,
 * pipes and open files (/dev/fd/N) are written directly.  The first write that fails is recorded
 * and reported by outfile_settle() or outfile_commit().
 *
 * For files that belong together: outfile_settle() all of them, then outfile_commit() all of them.
 * A full disk then leaves every earlier file as it was.
 */
#ifndef BASE_OUTPUT_FILE_H
#define BASE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/temp_names.h"

#define OUTFILE_BUFFER ((size_t)256 * 1024)
/* Largest piece that a caller may write in place at once, see outfile_room(). */
#define OUTFILE_ROOM ((size_t)8192)

struct outfile {
	char *at, *limit; /* in the buffer; OUTFILE_ROOM bytes follow limit */
	char *buf;
	int fd;
	int error;               /* negative errno of the first write that failed */
	uint64_t bytes;          /* flushed from the buffer so far */
	char *path;              /* final name */
	char *temporary;         /* name until the commit; NULL: written directly */
	struct temp_name *entry; /* removes the temporary file if a signal ends the process */
	bool settled, committed;
};

int outfile_open(struct outfile *f, const char *path, struct err *err);

/*
 * Create the temporary file without a buffer, for libraries that open files by name or write to a
 * descriptor: "PATH.XXXXXX", created and empty.  Use outfile_commit() and outfile_close() as usual.
 * @path must not be a device or a pipe.
 */
int outfile_reserve(struct outfile *f, const char *path, struct err *err);

/* Write out the buffer.  False after a failure. */
bool outfile_flush(struct outfile *f);

void outfile_put_large(struct outfile *f, const void *data, size_t size);

static inline void outfile_put(struct outfile *f, const void *data, size_t size)
{
	/* Text written in place may have moved f->at past the limit. */
	if ((ptrdiff_t)size > f->limit - f->at) {
		outfile_put_large(f, data, size);
		return;
	}
	if (!size)
		return;
	memcpy(f->at, data, size);
	f->at += size;
}

/* Space for OUTFILE_ROOM bytes; the caller advances f->at past the bytes it wrote. */
static inline char *outfile_room(struct outfile *f)
{
	if (f->at >= f->limit)
		outfile_flush(f);
	return f->at;
}

/*
 * A stdio stream that writes into the file's buffer; NULL with a message in @err.  Close it with
 * outfile_end_stream() before outfile_settle(), which reports the stream's errors.
 */
FILE *outfile_stream(struct outfile *f, struct err *err);
void outfile_end_stream(struct outfile *f, FILE *stream);

/* Write the buffer and sync the file; the name stays temporary.  0 or a negative errno. */
int outfile_settle(struct outfile *f, struct err *err);

/* Add the hint for err->code (a full disk, a missing directory), if there is one. */
void outfile_hint(struct err *err);

/* Settle the file and rename it to its final name. 0 or a negative errno. */
int outfile_commit(struct outfile *f, struct err *err);

/* Removes a file that was not committed.  Safe on a struct that is all zero or already closed. */
void outfile_close(struct outfile *f);

/* Remove the temporary file, from another thread; see sink.h. */
void outfile_drop(const struct outfile *f);

#endif
