/* SPDX-License-Identifier: MIT */
/*
 * run_shipper.h - the process that ships a trace while it is written.
 *
 * Neither the program nor the collector waits for it: the trace's file is between them.  After the
 * run the shipper has a bounded time to send what is left.
 */
#ifndef TOOL_RUN_SHIPPER_H
#define TOOL_RUN_SHIPPER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/printer.h"
#include "ship/shipper.h"
#include "ship_options.h"
#include "trace/trace_writer.h"

/* All zero: nothing is shipped. */
struct shipping {
	const char *command; /* for messages */
	struct ship_options options;
	bool is_flight;       /* ships snapshots, each as a run of its own */
	bool is_new;          /* the traces are new: no shipper before this one */
	bool is_spool;        /* the trace is only a spool, and removed when all has arrived */
	char spool[PATH_MAX]; /* its path */
	const char *trace;    /* what is shipped */
	struct ship_labels labels;
	struct ship_transport *transport; /* of the process */
	char receiver[SHIP_NAME_SIZE];    /* its name */
	pid_t child;
	int path_fd;   /* paths of traces for the child; -1: no more */
	int result_fd; /* the child's result */
	unsigned nr_links;
	struct shipper_result result; /* the sum of all runs */
	bool has_result;
	uint64_t nr_skipped; /* snapshots that could not be handed over */
};

/*
 * Check the options and choose the trace.  *@output and *@format are those of the run; with
 * @has_output the user named the trace; @program names the spool.  Returns -1 to continue, or the
 * exit status after a message.
 */
int shipping_prepare(struct shipping *s, const char **output, enum trace_format *format,
		     bool has_output, const char *program);

/* Start the process.  False after an error message. */
bool shipping_fork(struct shipping *s);

/* A trace exists at @path, and may still grow. */
void shipping_go(struct shipping *s, const char *path);

/* A snapshot was written to @path, where the next one may replace it. */
void shipping_snapshot(struct shipping *s, const char *path);

/* There are no more traces.  Waits until the process has sent the rest, or for its time. */
void shipping_finish(struct shipping *s);

/* If the process was killed: what it did not account for of these events is spooled. */
void shipping_settle(struct shipping *s, uint64_t collected, uint64_t others);

/* End the process now; it saves its progress. */
void shipping_stop(struct shipping *s);

/* The result, for the summary of a run. */
void shipping_text(const struct shipping *s, bool is_quiet);
void shipping_json(struct printer *p, const struct shipping *s);

#endif
