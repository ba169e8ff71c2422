/* SPDX-License-Identifier: MIT */
/*
 * progress.h - progress of a long operation, on stderr.
 *
 * Prints nothing during the first second, and nothing when stderr is not a terminal.  The time to
 * go never rises: when the work becomes slower it stays as it is.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what; /* "reading trace.jsonl" */
	uint64_t total;   /* bytes; 0: unknown */
	uint64_t start_ns, next_ns;
	double to_go;     /* seconds, as shown last */
	const char *unit; /* of the amount: "events"; NULL: megabytes */
	bool on, shown;
};

void progress_start(struct progress *p, const char *what, uint64_t total);

/* Reads the clock: call it every few thousand steps, not at each. */
void progress_update(struct progress *p, uint64_t done);

/*
 * Everything is read: shows 100 %, and @rest, what is still to be done.  The line stays until
 * progress_end().
 */
void progress_full(struct progress *p, const char *rest);

/* Clear the progress line. */
void progress_end(struct progress *p);

#endif
