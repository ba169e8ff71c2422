/* SPDX-License-Identifier: MIT */
/*
 * jsonl_writer.h - write a trace, one JSON object per line.
 *
 *  {"probe_id":123,"tid":456,"addr":"0x0000000000000000","seq":2,"is_active":true,"ts":123456789}
 *
 * and after these six, where the event has them and in this order,
 *
 *  ,"station":7,"site":3,"reason":"io-read","resource":12
 *
 * The form is fixed to the byte: other tools split it without a JSON parser.  Only transitions
 * are written here; other events go to the sidecar.
 *
 * Failures
 *   The first write that fails ends the writing permanently.  A regular file is truncated to
 *   its last whole line, so that it stays a valid trace.  Every event is counted: `written`
 *   are whole in the file, `unwritten` are not, and their sum is the number of calls of
 *   jsonl_put() once jsonl_flush() or jsonl_close() has returned.
 *
 * A write to a closed pipe raises SIGPIPE, one past the file size limit SIGXFSZ: the program
 * that uses this writer ignores both signals and gets EPIPE and EFBIG here.
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

/* The text of one coroutine on one thread. */
struct jsonl_who {
	uint64_t probe_id, tid;
	char text[JSONL_WHO_SIZE];
	uint64_t size;
};

struct jsonl_writer {
	char *at;              /* where the next line starts */
	char *limit;           /* no line may start here or later */
	struct jsonl_who *who; /* by hash of probe_id and tid */

	/* Pieces of the last line and their values: the next line mostly has the same. */
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
	uint64_t bytes; /* bytes in the output, without those that were truncated */
	int fd;
	int error; /* negative errno of the failed write; 0: no failure */
	bool cut;  /* the output ends inside a line that could not be truncated */
	/*
	 * For a pipe: returns true to stop waiting for its reader, which took nothing for so long.
	 * NULL: always wait.
	 */
	bool (*stop)(unsigned waited_ms);
	/*
	 * Called with @before_ctx before a full buffer is written out by jsonl_put(); may be
	 * NULL.
	 */
	void (*before)(void *ctx);
	void *before_ctx;
	char *name;
};

/*
 * Takes ownership of @fd, also on failure.  Writes at the current position.  @name is for
 * messages.
 */
int jsonl_writer_open(struct jsonl_writer *w, int fd, const char *name, struct err *err);

/* Never fails: see written and unwritten. */
void jsonl_put(struct jsonl_writer *w, const struct trace_event *ev);

/* Writes the buffer to the file.  Returns 0, or the negative errno of the first failure. */
int jsonl_flush(struct jsonl_writer *w);

/* Flush and close.  The counters stay valid.  Fails if any event is not in the file. */
int jsonl_close(struct jsonl_writer *w, struct err *err);

#endif
