/* SPDX-License-Identifier: MIT */
/*
 * unpack.h - read a file that gzip or zstd compressed as if it were not.
 *
 * A thread decompresses the file into a socket, from which the caller reads.  Memory does not grow
 * with the file.  What precedes a cut or damaged place is returned; unpack_close() says that there
 * was one.
 */
#ifndef TRACE_UNPACK_H
#define TRACE_UNPACK_H

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"

/* All zero: not in use. */
struct packed_input {
	int from, to;
	bool is_running;
	bool is_damaged; /* the data ends early, or is damaged; set by the thread */
	bool is_zstd;
	pthread_t thread;
};

/*
 * Opens @path, compressed or not, for reading.  Returns the descriptor, which the caller closes
 * before unpack_close(); -ENOENT: there is no such file, and @err is set; or another errno.
 */
int unpack_open(struct packed_input *u, const char *path, struct err *err);

/* Ends the thread.  True if all data could be decompressed, as far as it was read. */
bool unpack_close(struct packed_input *u);

/* True if the file begins like one of gzip or zstd. */
bool unpack_is_packed(const char *path);

/* "x.jsonl" for "x.jsonl.zst" or "x.jsonl.gz", a copy of @path otherwise; the caller frees it. */
char *unpack_plain_name(const char *path);

#endif
