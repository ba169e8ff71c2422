/* SPDX-License-Identifier: MIT */
/* run_memory_facts.c - `run --mem`: which memory trace belongs to a trace, and what is where in it.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "memory/stat/coroutine_slices.h"
#include "run_memory.h"

struct memory_facts {
	struct trace_writer *writer;
	uint64_t pid;
};

static void memory_facts_slice(void *ctx, const struct memory_slice *s)
{
	struct memory_facts *f = ctx;
	struct trace_memory stamp = { .pid = f->pid,
				      .tid = s->thread_id,
				      .probe_id = s->coroutine,
				      .from_ts = s->from_ns,
				      .to_ts = s->to_ns,
				      .accesses = s->accesses,
				      .writes = s->writes,
				      .allocations = s->allocations,
				      .allocated = s->allocated,
				      .offset = s->offset };

	trace_put_memory(f->writer, &stamp);
}

/* Length of the directories of a path, with the last slash. */
static size_t memory_facts_directories(const char *path)
{
	const char *slash;
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/') /* a CTF trace */
		size--;
	slash = memrchr(path, '/', size);
	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* A file beside the trace has no directories, so that both can be moved. */
static const char *memory_facts_name(const char *trace, const char *path, char buf[PATH_MAX])
{
	size_t size = memory_facts_directories(path);

	if (size == memory_facts_directories(trace) && !memcmp(trace, path, size))
		return path + size;
	return realpath(path, buf) ? buf : path;
}

void run_memory_put_facts(struct trace_writer *writer, const char *trace, const char *path)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);
	struct memory_facts facts = { .writer = writer };
	struct memory_totals totals = { .accesses = 0 };
	struct trace_memory fact = { 0 };
	char name[PATH_MAX];
	struct stat st;
	int rc = r ? 0 : err.code;

	if (r) {
		fact.pid = facts.pid = mem_reader_facts(r)->pid;
		rc = memory_slices_read(r, memory_facts_slice, &facts, &totals, &err);
	}
	if (!rc && stat(path, &st) < 0)
		rc = err_errno(&err, "cannot read '%s'", path);
	if (!rc) {
		fact.file = memory_facts_name(trace, path, name);
		fact.build_id = totals.build_id[0] ? totals.build_id : NULL;
		fact.size = (uint64_t)st.st_size;
		fact.from_ts = totals.from_ns;
		fact.to_ts = totals.to_ns;
		fact.accesses = totals.accesses;
		fact.writes = totals.writes;
		fact.allocations = totals.allocations;
		fact.allocated = totals.allocated;
		fact.lost = totals.lost;
		trace_put_memory(writer, &fact);
	}
	mem_reader_close(r);
	if (rc < 0)
		message_error("run", &err);
}
