/* SPDX-License-Identifier: MIT */
/*
 * outputs.h - the files of a run: one container per traced process.
 *
 * The first process gets the name that the user gave, each further one (a child of fork, the
 * next program after exec) that name with its pid behind it; %p in the name is the pid for
 * all.  A trace that is there already is kept as NAME.old.
 */
#ifndef MEMORY_OUTPUTS_H
#define MEMORY_OUTPUTS_H

#include "memory/cfile.h"

struct output {
	struct output *next;
	uint64_t serial; /* of the process in the region */
	uint32_t pid;
	uint32_t nr_threads; /* numbers given out */
	char *path;
	bool open;
	struct cfile file;
	uint64_t size; /* of the file, once closed */
	uint64_t accesses, annotations, lost, left_out;
	bool lost_unknown;
	struct err err; /* why it is not complete; code 0: it is */
};

struct outputs {
	const char *name;  /* as the user gave it */
	int level;         /* of zstd */
	uint64_t max_size; /* of all files together; 0: none */
	uint64_t closed_size;
	struct press *press; /* compresses for all files; NULL: each for itself */
	struct output *first, **last;
	size_t nr;
	uint64_t highest; /* serial */
	char **command;   /* the program and its arguments, for the files to tell */
	const char *writer;
};

void outputs_init(struct outputs *o);

/* Can the first file be written?  Says so before the program is started. */
int outputs_check(struct outputs *o, struct err *err);

/* The file of a process; made if it is new.  NULL without memory. */
struct output *outputs_of(struct outputs *o, uint64_t serial, uint32_t pid, uint64_t start_ns);

/* No more comes of it.  @status: of wait(2), -1: not known. */
void output_end(struct outputs *o, struct output *out, int status);

/* Whatever was handed to the files is in them now. */
void outputs_settle(struct outputs *o);

/* Bytes written so far. */
uint64_t outputs_size(const struct outputs *o);

/* The size cap is reached: no block may be begun. */
bool outputs_full(const struct outputs *o);

/* The first error of any. */
const struct err *outputs_error(const struct outputs *o);

void outputs_release(struct outputs *o);

#endif
