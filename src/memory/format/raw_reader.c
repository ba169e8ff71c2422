/* SPDX-License-Identifier: MIT */
/*
 * raw_reader.c - read the records of a raw trace, plain or in zstd frames.
 *
 * A raw trace has no marks where records begin: after a byte that cannot be a tag the reader
 * cannot resynchronize, so it stops there and reports the offset.  All records before it are
 * valid.
 */
#include "memory/format/mem_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "base/io.h"
#include "memory/format/raw.h"
#include "memory/format/raw_sidecar.h"

#define BUFFER_SIZE (1u << 20) /* about 16 of the longest records */

struct raw {
	struct mem_source base;
	int fd;
	const char *path;
	uint8_t *buf;
	size_t at, used;   /* in buf: bytes returned, bytes valid */
	uint64_t consumed; /* bytes of the trace before buf[0] */
	bool at_end;

	ZSTD_DCtx *zstd; /* NULL: not compressed */
	uint8_t *in;
	ZSTD_inBuffer zin;
	bool in_frame; /* inside a frame: end of input is a fault */

	uint64_t last_id; /* thread id and number of the last record */
	uint32_t last_number;
	bool any;
	struct mem_record record;
};

static uint64_t mem_raw_position(const struct raw *r)
{
	return r->consumed + r->at;
}

/* ---- bytes --------------------------------------------------------------- */

static ssize_t fill_input(struct raw *r)
{
	ssize_t got = io_read(r->fd, r->in, BUFFER_SIZE);

	if (got >= 0)
		r->zin = (ZSTD_inBuffer){ r->in, (size_t)got, 0 };
	if (got > 0)
		r->base.done += (uint64_t)got;
	return got;
}

/* Decompress some bytes; 0 at the end. */
static ssize_t read_zstd(struct raw *r, void *to, size_t size)
{
	ZSTD_outBuffer out = { to, size, 0 };

	while (out.pos == 0) {
		size_t ret;

		if (r->zin.pos == r->zin.size) {
			ssize_t got = fill_input(r);

			if (got < 0)
				return got;
			if (got == 0 && r->in_frame)
				mem_fault_add(&r->base.faults, MEM_FAULT_TRUNCATED, r->base.done,
					      "the file ends inside a zstd frame");
			if (got == 0)
				return 0;
		}
		ret = ZSTD_decompressStream(r->zstd, &out, &r->zin);
		if (ZSTD_isError(ret)) {
			mem_fault_add(&r->base.faults, MEM_FAULT_DAMAGE,
				      r->base.done - (r->zin.size - r->zin.pos),
				      "it does not decompress: %s", ZSTD_getErrorName(ret));
			return 0;
		}
		r->in_frame = ret != 0;
	}
	return (ssize_t)out.pos;
}

static ssize_t read_plain(struct raw *r, uint8_t *to, size_t size)
{
	ssize_t got = io_read(r->fd, to, size);

	if (got > 0)
		r->base.done += (uint64_t)got;
	return got;
}

/* Move the rest of the buffer to its start and read more.  False: no more data. */
static bool mem_raw_refill(struct raw *r)
{
	ssize_t got;

	if (r->at_end)
		return false;
	memmove(r->buf, r->buf + r->at, r->used - r->at);
	r->consumed += r->at;
	r->used -= r->at;
	r->at = 0;
	got = r->zstd ? read_zstd(r, r->buf + r->used, BUFFER_SIZE - r->used)
		      : read_plain(r, r->buf + r->used, BUFFER_SIZE - r->used);
	if (got < 0) {
		errno = (int)-got;
		err_errno(&r->base.err, "cannot read '%s'", r->path);
	}
	r->at_end = got <= 0;
	if (got > 0)
		r->used += (size_t)got;
	return got > 0;
}

/* ---- records ------------------------------------------------------------- */

static bool set_thread(struct raw *r, uint64_t id)
{
	int64_t number;

	if (!r->any || id != r->last_id) {
		number = mem_facts_number(&r->base.facts, id);
		if (number == -E2BIG) {
			err_set(&r->base.err, -E2BIG, "'%s' has more than %u threads", r->path,
				MEM_THREADS_MAX);
			err_hint(&r->base.err, "no program has: is it a memory trace?");
			return false;
		}
		if (number < 0) {
			err_set(&r->base.err, -ENOMEM, "no memory for the threads of '%s'",
				r->path);
			return false;
		}
		r->last_id = id;
		r->last_number = (uint32_t)number;
		r->any = true;
	}
	r->record.thread = r->last_number;
	return true;
}

static const struct mem_record *bad_record(struct raw *r, const char *what)
{
	mem_fault_add(&r->base.faults, MEM_FAULT_DAMAGE, mem_raw_position(r),
		      "%s (first byte 0x%02x); nothing behind it can be read", what, r->buf[r->at]);
	r->at = r->used;
	r->at_end = true;
	return NULL;
}

static const struct mem_record *raw_next(struct mem_source *s)
{
	struct raw *r = (struct raw *)s;
	const char *what = NULL;
	uint64_t id = 0;
	long size;

	while ((size = raw_decode(r->buf + r->at, r->used - r->at, &r->record, &id, &what)) == 0) {
		if (mem_raw_refill(r))
			continue;
		if (r->at < r->used && !s->err.code)
			mem_fault_add(&s->faults, MEM_FAULT_TRUNCATED, mem_raw_position(r),
				      "the trace ends %zu bytes into a record", r->used - r->at);
		r->at = r->used;
		return NULL;
	}
	if (size < 0)
		return bad_record(r, what);
	if (!set_thread(r, id)) {
		r->at = r->used;
		r->at_end = true;
		return NULL;
	}
	s->offset = mem_raw_position(r);
	r->at += (size_t)size;
	return &r->record;
}

static void raw_close(struct mem_source *s)
{
	struct raw *r = (struct raw *)s;

	ZSTD_freeDCtx(r->zstd);
	free(r->in);
	free(r->buf);
	mem_facts_release(&s->facts);
	if (r->fd > STDIN_FILENO)
		close(r->fd);
	free(r);
}

static bool mem_raw_begin(struct raw *r, const uint8_t *start, size_t nr_start, bool zstd)
{
	r->buf = malloc(BUFFER_SIZE);
	r->in = zstd ? malloc(BUFFER_SIZE) : NULL;
	r->zstd = zstd ? ZSTD_createDCtx() : NULL;
	if (!r->buf || (zstd && (!r->in || !r->zstd)))
		return false;
	if (zstd) {
		memcpy(r->in, start, nr_start);
		r->zin = (ZSTD_inBuffer){ r->in, nr_start, 0 };
	} else {
		memcpy(r->buf, start, nr_start);
		r->used = nr_start;
	}
	r->base.done = nr_start;
	return true;
}

struct mem_source *mem_raw_open(int fd, const char *path, const uint8_t *start, size_t nr_start,
				bool zstd, struct err *err)
{
	struct raw *r = calloc(1, sizeof(*r));
	struct stat st;

	if (!r || !mem_raw_begin(r, start, nr_start, zstd)) {
		err_set(err, -ENOMEM, "no memory for '%s'", path);
		if (r) {
			r->fd = -1;
			raw_close(&r->base);
		}
		return NULL;
	}
	r->base.next = raw_next;
	r->base.close = raw_close;
	r->fd = fd;
	r->path = path;
	r->record.weight_256 = 256;
	r->base.facts.ordered = true;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		r->base.size = (uint64_t)st.st_size;
	if (fd != STDIN_FILENO)
		sidecar_read(path, &r->base.facts, &r->base.faults);
	return &r->base;
}
