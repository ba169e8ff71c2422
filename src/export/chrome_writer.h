/* SPDX-License-Identifier: MIT */
/* chrome_writer.h - events in the JSON format of chrome://tracing, for traces and for recordings.
 */
#ifndef EXPORT_CHROME_WRITER_H
#define EXPORT_CHROME_WRITER_H

#include "base/json_writer.h"
#include "base/output_file.h"

struct chrome_writer {
	struct json_writer w; /* w.error: no memory */
	struct outfile *file;
	uint64_t events; /* objects in the file */
};

/* @unit: of times that a viewer shows; NULL: its default. */
void chrome_writer_begin(struct chrome_writer *c, struct outfile *file, const char *unit);

/* The object is open.  @has_tid false: drawn on its process. */
struct json_writer *chrome_begin_event(struct chrome_writer *c, const char *phase, uint64_t pid,
				       bool has_tid, uint64_t tid);
void chrome_put_head(struct json_writer *w, const char *name, const char *category, uint64_t ts);

/* Microseconds; three decimals keep every nanosecond. */
void chrome_put_time(struct json_writer *w, uint64_t ts);
void chrome_end_event(struct chrome_writer *c);

/* An event that gives a process or a thread its name. */
void chrome_put_name(struct chrome_writer *c, const char *what, uint64_t pid, bool has_tid,
		     uint64_t tid, const char *name);

/* Write the rest to the file. */
void chrome_writer_finish(struct chrome_writer *c);

#endif
