/* SPDX-License-Identifier: MIT */
/* mem_reader.c - detect the format of a memory trace and select its reader. */
#include "memory/format/mem_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#define START_SIZE 8 /* enough to tell the formats apart */

#define RUN_MAX    1024

struct mem_reader {
	struct mem_source *source;
	enum mem_format format;
	char *path;
	struct mem_access *run;        /* for formats without runs; RUN_MAX elements */
	const struct mem_record *next; /* read but not returned yet */
};

static int cannot_keep(struct err *err)
{
	err_errno(err, "cannot keep standard input in a temporary file");
	err_hint(err, "a container is read from a file: save it, or set TMPDIR to where there is "
		      "room");
	return err->code;
}

/* A container needs random access: copy a pipe to an unnamed temporary file first. */
static int mem_reader_spool(int fd, const uint8_t *start, size_t nr_start, struct err *err)
{
	int copy = io_temporary(err);
	uint8_t buf[65536];
	ssize_t got = (ssize_t)nr_start;

	if (copy < 0)
		return copy;
	memcpy(buf, start, nr_start);
	while (got > 0) {
		ssize_t done = 0, put = 0;

		for (; done < got; done += put) {
			put = io_write(copy, buf + done, (size_t)(got - done));
			if (put < 0) {
				errno = (int)-put;
				cannot_keep(err);
				close(copy);
				return err->code;
			}
		}
		got = io_read(fd, buf, sizeof(buf));
	}
	return copy;
}

static enum mem_format mem_reader_detect_format(const uint8_t *start, size_t nr)
{
	static const uint8_t zstd[4] = { 0x28, 0xb5, 0x2f, 0xfd };

	if (nr >= 8 && !memcmp(start, CRAY_MAGIC, 8))
		return MEM_FORMAT_CONTAINER;
	if (nr >= 4 && !memcmp(start, zstd, 4))
		return MEM_FORMAT_RAW_ZSTD;
	return MEM_FORMAT_RAW;
}

/* Reject a file that is not a trace at once, instead of reporting a fault at offset 0. */
static int check_raw(const char *path, const uint8_t *start, size_t nr, struct err *err)
{
	if (nr == 0 || (start[0] & CRAY_KIND) <= CRAY_RTTA_REMOVE)
		return 0;
	err_set(err, -EBADMSG, "'%s' is no memory trace: it begins with byte 0x%02x at offset 0",
		path, start[0]);
	if (start[0] == (uint8_t)CRAY_MAGIC[0])
		err_hint(err,
			 "it begins almost like one: was it transferred as text, or cut short?");
	else
		err_hint(err, "traces come from programs built with 'corotracer mem cc'; see "
			      "'corotracer help mem'");
	return err->code;
}

static int open_source(struct mem_reader *r, int fd, struct err *err)
{
	uint8_t start[START_SIZE];
	size_t nr = 0;
	ssize_t got;
	int copy;

	while (nr < sizeof(start) && (got = io_read(fd, start + nr, sizeof(start) - nr)) != 0) {
		if (got < 0) {
			errno = (int)-got;
			return err_errno(err, "cannot read '%s'", r->path);
		}
		nr += (size_t)got;
	}
	r->format = mem_reader_detect_format(start, nr);
	if (r->format == MEM_FORMAT_CONTAINER) {
		if (lseek(fd, 0, SEEK_CUR) < 0) {
			copy = mem_reader_spool(fd, start, nr, err);
			if (copy < 0)
				return copy;
			r->source = mem_container_open(copy, r->path, err);
			if (!r->source || fd > STDIN_FILENO)
				close(r->source ? fd : copy);
		} else {
			r->source = mem_container_open(fd, r->path, err);
		}
		return r->source ? 0 : err->code;
	}
	if (r->format == MEM_FORMAT_RAW && check_raw(r->path, start, nr, err) < 0)
		return err->code;
	r->source = mem_raw_open(fd, r->path, start, nr, r->format == MEM_FORMAT_RAW_ZSTD, err);
	return r->source ? 0 : err->code;
}

struct mem_reader *mem_reader_open(const char *path, struct err *err)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct mem_reader *r;
	struct stat st;

	if (fd < 0) {
		err_errno(err, "cannot open '%s'", path);
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	if (r)
		r->path = strdup(standard ? "standard input" : path);
	if (!r || !r->path)
		err_set(err, -ENOMEM, "no memory to read '%s'", path);
	else if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		err_set(err, -EISDIR, "'%s' is a directory", path);
	else if (open_source(r, fd, err) == 0)
		return r;
	if (!standard)
		close(fd);
	mem_reader_close(r);
	return NULL;
}

const struct mem_record *mem_reader_next(struct mem_reader *r)
{
	return r->source->next(r->source);
}

/* For formats without runs: gather consecutive accesses of one thread. */
static bool mem_reader_gather(struct mem_reader *r, struct mem_run *out)
{
	const struct mem_record *rec = r->next ? r->next : r->source->next(r->source);

	r->next = NULL;
	memset(out, 0, sizeof(*out));
	if (!rec)
		return false;
	if (!mem_is_access(rec)) {
		out->record = rec;
		return true;
	}
	out->access = r->run;
	out->thread = rec->thread;
	out->weight_256 = rec->weight_256;
	out->stands_for = 1;
	out->order = rec->order;
	out->time_ns = rec->time_ns;
	do {
		r->run[out->nr++] = (struct mem_access){ .address = rec->address,
							 .pc = rec->pc,
							 .size = rec->size,
							 .is_write = rec->kind,
							 .tag = rec->tag,
							 .attr = rec->attr };
	} while (out->nr < RUN_MAX && (rec = r->source->next(r->source)) && mem_is_access(rec) &&
		 rec->thread == out->thread);
	r->next = out->nr < RUN_MAX ? rec : NULL;
	return true;
}

bool mem_reader_run(struct mem_reader *r, struct mem_run *out)
{
	if (r->source->run)
		return r->source->run(r->source, out);
	if (!r->run)
		r->run = malloc(RUN_MAX * sizeof(*r->run));
	if (!r->run) {
		err_set(&r->source->err, -ENOMEM, "no memory to read '%s'", r->path);
		return false;
	}
	return mem_reader_gather(r, out);
}

void mem_reader_keep_stamps(struct mem_reader *r)
{
	r->source->keeps_stamps = true;
}

void mem_reader_skip_events(struct mem_reader *r)
{
	r->source->skips_events = true;
}

void mem_reader_want_lines(struct mem_reader *r, uint32_t shift)
{
	r->source->lines = shift;
}

void mem_reader_choose_blocks(struct mem_reader *r, mem_wants_fn wants, void *context)
{
	r->source->wants = wants;
	r->source->wants_context = context;
}

int mem_reader_error(const struct mem_reader *r, struct err *err)
{
	if (r->source->err.code)
		*err = r->source->err;
	return r->source->err.code;
}

const struct mem_facts *mem_reader_facts(const struct mem_reader *r)
{
	return &r->source->facts;
}

struct mem_faults *mem_reader_faults(struct mem_reader *r)
{
	return &r->source->faults;
}

size_t mem_reader_stack(const struct mem_reader *r, uint32_t stack, const uint64_t **frames)
{
	return stack_table_get(&r->source->facts.stacks, stack, frames);
}

enum mem_format mem_reader_format(const struct mem_reader *r)
{
	return r->format;
}

const char *mem_reader_format_name(const struct mem_reader *r)
{
	static const char *const names[] = { "container", "raw", "raw, zstd" };

	return names[r->format];
}

uint64_t mem_reader_done(const struct mem_reader *r)
{
	return r->source->done;
}

uint64_t mem_reader_size(const struct mem_reader *r)
{
	return r->source->size;
}

uint64_t mem_reader_offset(const struct mem_reader *r)
{
	return r->source->offset;
}

const struct mem_blocks *mem_reader_blocks(const struct mem_reader *r)
{
	return &r->source->blocks;
}

void mem_reader_close(struct mem_reader *r)
{
	if (!r)
		return;
	if (r->source)
		r->source->close(r->source);
	free(r->path);
	free(r->run);
	free(r);
}
