/* SPDX-License-Identifier: MIT */
/*
 * mem_writer.h - write records to a file in a given format.
 *
 * The records arrive in trace order and keep it: a container written here is ordered
 * (docs/memory-format.md).
 */
#ifndef MEMORY_FORMAT_MEM_WRITER_H
#define MEMORY_FORMAT_MEM_WRITER_H

#include "base/err.h"
#include "memory/format/mem_reader.h"
#include "memory/format/raw_sidecar.h"

struct mem_writer;

struct mem_writer_config {
	enum mem_format format;
	int level; /* zstd level; 0: a container without compression */
};

/* @path "-": standard output, without a sidecar.  @facts: owned by the reader. */
struct mem_writer *mem_writer_open(const char *path, const struct mem_writer_config *config,
				   const struct mem_facts *facts, struct err *err);

/* 0 or a negative errno; after a failure nothing more is written. */
int mem_writer_put(struct mem_writer *w, const struct mem_record *r);

/* Counts of what the format could not store. */
const struct sidecar_missing *mem_writer_missing(const struct mem_writer *w);

/* Complete the file, and write the sidecar of a raw trace.  0 or the first error. */
int mem_writer_close(struct mem_writer *w, struct err *err);

#endif
