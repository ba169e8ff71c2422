/* SPDX-License-Identifier: MIT */
/*
 * run_metrics.h - the process that serves metrics of a trace to Prometheus while it is written.
 *
 * It follows the trace's file: neither the program nor the collector waits for it.
 */
#ifndef TOOL_RUN_METRICS_H
#define TOOL_RUN_METRICS_H

#include <stdbool.h>
#include <sys/types.h>

#include "opts.h"
#include "serve/metrics_server.h"
#include "ship_options.h"

/* All zero: no metrics are served. */
struct run_metrics {
	const char *address; /* [HOST:]PORT; NULL: not wanted */
	uint32_t sites;      /* 0: the default */
	const char *command; /* for messages */
	const char *trace;
	struct metrics_labels labels; /* empty ones follow from the trace */
	bool is_collected;            /* by this process, whose processor time is a metric */
	struct listener listener;
	pid_t child;
	int go_fd; /* signals the child that the trace exists; -1: done */
};

/* Rows of an option table; @options has a struct run_metrics `metrics`. */
#define METRICS_OPTS(options)                                                                      \
	{ 0, "metrics", "ADDR", "serve metrics for Prometheus at [HOST:]PORT",                     \
	  OPT_NAME(options, metrics.address) },                                                    \
	{                                                                                          \
		0, "metrics-sites", "N", "sites with metrics of their own (default 50)",           \
			OPT_NUMBER(options, metrics.sites, 1, METRICS_SITES_MOST), .is_rare = true \
	}

/* The labels that the user chose. */
void run_metrics_set_labels(struct run_metrics *m, const struct ship_options *o);

/*
 * Check that the trace can be followed, and bind the port; before the program starts.  Returns -1
 * to continue, or the exit status after a message.
 */
int run_metrics_prepare(struct run_metrics *m, bool is_ctf, bool is_flight);

/* Start the process, which waits for run_metrics_go().  False after an error message. */
bool run_metrics_fork(struct run_metrics *m);

/* The trace exists. */
void run_metrics_go(struct run_metrics *m);

void run_metrics_end(struct run_metrics *m);

#endif
