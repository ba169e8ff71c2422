/* SPDX-License-Identifier: MIT */
/*
 * trace_files.h - the output files of a run: one container per traced process.
 *
 * The file of the first process has the name that the user gave; that of each further process (a
 * child of fork, the next program after exec) has its pid appended. %p in the name is replaced by
 * the pid for all processes.  An existing trace is kept as NAME.old.
 */
#ifndef MEMORY_COLLECT_TRACE_FILES_H
#define MEMORY_COLLECT_TRACE_FILES_H

#include "memory/format/container_file.h"

struct output {
	struct output *next;
	uint64_t serial; /* of the process in the region */
	uint32_t pid;
	char *path;
	bool open;
	struct cfile file;
	/* valid once the file is closed */
	uint64_t size;
	uint32_t nr_threads;
	uint64_t accesses, annotations, lost, left_out;
	bool lost_unknown;
	struct err err; /* why the file is incomplete; code 0: complete */
};

struct outputs {
	const char *name;  /* as given by the user */
	int level;         /* zstd level */
	uint32_t packers;  /* packing threads in addition to the collector's own */
	uint64_t max_size; /* of all files together; 0: no limit */
	uint64_t closed_size;
	struct output *first, **last;
	size_t nr;
	uint64_t highest;     /* highest serial of a process */
	char *const *command; /* the program and its arguments, a fact in the files */
	const char *writer;
};

void outputs_init(struct outputs *o);

/* Check that the first file can be written, before the program is started. */
int outputs_check(struct outputs *o, struct err *err);

/* The file of a process, created if it is new.  NULL: out of memory. */
struct output *outputs_of(struct outputs *o, uint64_t serial, uint32_t pid, uint64_t start_ns);

/* Complete and close a file.  @status: from wait(2), -1: unknown. */
void output_end(struct outputs *o, struct output *out, int status);

/* Bytes written so far. */
uint64_t outputs_size(const struct outputs *o);

/* The size limit is reached: no further block may be started. */
bool outputs_full(const struct outputs *o);

/* The first error of any file; NULL: none. */
const struct err *outputs_error(struct outputs *o);

void outputs_release(struct outputs *o);

#endif
