/* SPDX-License-Identifier: MIT */
/*
 * jsonl_writer.h - write a trace, one JSON object a line.
 *
 *  {"probe_id":123,"tid":456,"addr":"0x0000000000000000","seq":2,"is_active":true,"ts":123456789}
 *
 * and behind these six, where the event carries them and in this order,
 *
 *  ,"station":7,"site":3,"reason":"io-read","resource":12
 *
 * The form is fixed to the byte: other tools cut it apart without a JSON parser.
 * Transitions only: what else happens goes into the sidecar.
 *
 * What fails
 *   The first write that fails ends the writing, for good.  A regular file is cut
 *   back to its last whole line, so that it stays a valid trace.  Events are never
 *   lost in silence: those whole in the file are `written`, those that are not are
 *   `unwritten`, exactly, and their sum is the number of calls of jsonl_put() once
 *   jsonl_flush() or jsonl_close() has returned.
 *
 * A write to a closed pipe raises SIGPIPE, one past the file size limit SIGXFSZ:
 * the program that uses this ignores both, and then gets EPIPE and EFBIG here.
 */
#ifndef TRACE_JSONL_WRITER_H
#define TRACE_JSONL_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/event.h"

/* Sizes that copy in few instructions; the text is shorter, see jsonl_writer.c. */
#define JSONL_WHO_SIZE   72 /* {"probe_id":P,"tid":T,"addr":"0x */
#define JSONL_STATE_SIZE 48 /* ,"is_active":true,"ts":HIGH */
#define JSONL_TAIL_SIZE  32 /* ,"station":N} and newline */

/* One coroutine on one thread, as text. */
struct jsonl_who {
	uint64_t probe_id, tid;
	char text[JSONL_WHO_SIZE];
	uint64_t size;
};

struct jsonl_writer {
	char *at;              /* where the next line starts */
	char *limit;           /* no line may start here or beyond */
	struct jsonl_who *who; /* by hash of probe_id and tid */

	/* Pieces of the last line, and what they say: they mostly fit the next one too. */
	uint64_t seq; /* below 10^8 */
	uint64_t seq_size;
	char seq_text[8];
	uint64_t ts_base; /* ts without its last eight digits; not 0 */
	uint64_t state_size[2];
	char state[2][JSONL_STATE_SIZE]; /* by is_active */
	uint32_t station;
	uint32_t tail_size;
	char tail[JSONL_TAIL_SIZE];

	char *buf;
	uint64_t buffered; /* events in buf */
	uint64_t written;
	uint64_t unwritten;
	uint64_t bytes; /* that went out, those taken back not counted */
	int fd;
	int error; /* negative errno of the write that failed; 0 while all is well */
	bool cut;  /* the output ends inside a line, and we could not take that back */
	/* For an output that somebody has to read: not to wait for it any longer?  NULL: wait. */
	bool (*stop)(void);
	/* Called before a full buffer goes out by itself, with @before_ctx; NULL: nothing to do. */
	void (*before)(void *ctx);
	void *before_ctx;
	char *name;
};

/* Takes @fd over, also on failure.  Writes where the descriptor stands.  @name is for messages. */
int jsonl_writer_open(struct jsonl_writer *w, int fd, const char *name, struct err *err);

/* Never fails: see written and unwritten. */
void jsonl_put(struct jsonl_writer *w, const struct trace_event *ev);

/* Everything out to the file, so that others see it.  0, or the negative errno of the first
 * failure. */
int jsonl_flush(struct jsonl_writer *w);

/* Flush, close.  The counters stay readable.  Fails if any event did not get into the file. */
int jsonl_close(struct jsonl_writer *w, struct err *err);

#endif
