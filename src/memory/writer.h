/* SPDX-License-Identifier: MIT */
/*
 * writer.h - records into a file, in the format that is wanted.
 *
 * The records come in the trace's order and stay in it: a container that is written here
 * is an ordered one (docs/memory-format.md).
 */
#ifndef MEMORY_WRITER_H
#define MEMORY_WRITER_H

#include "base/err.h"
#include "memory/reader.h"
#include "memory/sidecar.h"

struct mem_writer;

struct mem_writer_config {
	enum mem_format format;
	int level; /* of zstd; 0: a container without compression */
};

/* @path "-": standard output, then without a sidecar.  @facts: of the reader, whose they stay. */
struct mem_writer *mem_writer_open(const char *path, const struct mem_writer_config *config,
				   const struct mem_facts *facts, struct err *err);

/* 0 or a negative errno; after a failure nothing more is written. */
int mem_writer_put(struct mem_writer *w, const struct mem_record *r);

/* What the format had no place for. */
const struct sidecar_missing *mem_writer_missing(const struct mem_writer *w);

/* The end, and the sidecar of a raw trace.  0 or the first error. */
int mem_writer_close(struct mem_writer *w, struct err *err);

/* There was no trace after all. */
void mem_writer_abandon(struct mem_writer *w);

#endif
