/* SPDX-License-Identifier: MIT */
/* ship_options.h - options that `run`, `serve` and `ship` share: the receiver and the labels. */
#ifndef TOOL_SHIP_OPTIONS_H
#define TOOL_SHIP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "opts.h"
#include "ship/shipper.h"

#define SHIP_SPOOL_SIZE      (UINT64_C(1) << 30) /* default */
#define SHIP_SPOOL_LEAST     (UINT64_C(1) << 20)
#define SHIP_SPOOL_HIGHEST   (UINT64_C(1) << 50)
#define SHIP_WAIT_DEFAULT_NS UINT64_C(10000000000)
#define SHIP_SAMPLE_HIGHEST  1000000

struct ship_options {
	const char *url; /* NULL: nothing is shipped */
	const char *spool;
	uint64_t spool_size; /* 0: the default */
	uint64_t wait_ns;
	bool has_wait; /* wait_ns was given */
	const char *service, *host, *region, *version;
	uint32_t sample; /* 0: all */
};

/* NOLINTBEGIN(bugprone-macro-parentheses): a member takes none */
/* Rows of an option table; @at is the struct ship_options in @options. */
#define SHIP_SAMPLE_OPT(options, at, rare)                                                        \
	{                                                                                         \
		0, "sample", "N", "send one of N coroutines, and all with findings",              \
			OPT_NUMBER(options, at.sample, 1, SHIP_SAMPLE_HIGHEST), .is_rare = (rare) \
	}
#define SHIP_LABEL_OPTS(options, at, rare)                                   \
	{ 0,                                                                 \
	  "service",                                                         \
	  "NAME",                                                            \
	  "label: name of the service (default: the program's)",             \
	  OPT_NAME(options, at.service),                                     \
	  .is_rare = (rare) },                                               \
		{ 0,                                                         \
		  "host",                                                    \
		  "NAME",                                                    \
		  "label: name of this machine (default: its own)",          \
		  OPT_NAME(options, at.host),                                \
		  .is_rare = (rare) },                                       \
		{ 0,                                                         \
		  "region",                                                  \
		  "NAME",                                                    \
		  "label: where this machine is",                            \
		  OPT_NAME(options, at.region),                              \
		  .is_rare = (rare) },                                       \
	{                                                                    \
		0, "version-label", "TEXT", "label: version of the program", \
			OPT_NAME(options, at.version), .is_rare = (rare)     \
	}

/* NOLINTEND(bugprone-macro-parentheses) */

/* Fill in the labels.  False after an error message: one is too long. */
bool ship_options_labels(const char *command, const struct ship_options *o,
			 struct ship_labels *labels);

/*
 * Pick the receiver of o->url.  NULL after an error message, which ends with the exit status in
 * *@status.
 */
struct ship_transport *ship_options_receiver(const char *command, const struct ship_options *o,
					     int *status);

/* The rest of a trace can be sent by this command. */
void ship_options_hint(const char *receiver, const char *trace);

#endif
