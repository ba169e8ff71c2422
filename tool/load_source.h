/* SPDX-License-Identifier: MIT */
/* load_source.h - where `load` gets blocks from: traces, a directory of envelopes, NATS. */
#ifndef TOOL_LOAD_SOURCE_H
#define TOOL_LOAD_SOURCE_H

#include <signal.h>

#include "fleet/loader.h"
#include "trace/trace_filter.h"

struct load_job {
	struct loader_options loader_options;
	struct ship_labels given;   /* labels of traces that were given on the command line */
	struct trace_filter filter; /* of traces: load only what passes, as a run of its own */
	const char *source;
	const char *idle_text;
	unsigned idle_s; /* end when nothing came for so long */
	unsigned gap_s;  /* of a directory: how long a missing block is waited for */
	bool follow, remove, json, quiet, no_findings;
	struct loader *loader;
	uint64_t unreadable; /* files and messages that are no envelopes */
	char **bad_files;    /* of a directory: those that are no envelopes, each told once */
	size_t nr_bad;
	uint64_t waiting; /* blocks that are not loaded because one in front is missing */
};

/* A signal asked the process to end. */
extern volatile sig_atomic_t load_is_ending;

/* Load a whole trace of any format. */
int load_trace(struct load_job *job, const char *path, struct err *err);

/* Load the envelopes below a directory: DIR/HOST/RUN/NUMBER.ctblock. */
int load_directory(struct load_job *job, const char *dir, struct err *err);

/* Load the messages of a stream.  @rest is what follows "nats://". */
int load_stream(struct load_job *job, const char *rest, struct err *err);

/*
 * ~/.local/state/corotracer/NAME, whose parents are created; valid until the next call.  NULL:
 * there is no home directory.
 */
const char *load_state_dir(const char *name);

/* `export clickhouse`: @argv has "export", "clickhouse" and the options of `load`; -i TRACE. */
int load_export(int argc, char **argv);

/* The name of a run whose shipper gave it none, and of the loader that loads it. */
void load_run_name(const struct sidecar_run *run, const char *path, char name[SHIP_RUN_SIZE]);

#endif
