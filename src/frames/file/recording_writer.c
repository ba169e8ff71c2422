/* SPDX-License-Identifier: MIT */
/* recording_writer.c - write a recording. */
#include "frames/file/recording_writer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/io.h"
#include "base/json_writer.h"

#define BUF_SIZE (1u << 20)
/* Blanks after the header, for numbers that grow until the end. */
#define HEADER_ROOM 256

void recording_info_release(struct recording_info *info)
{
	unsigned i;

	free(info->comment);
	free(info->date);
	free(info->program);
	for (i = 0; i < info->nr_counters; i++)
		free(info->counters[i]);
	memset(info, 0, sizeof(*info));
}

uint32_t recording_front_size(const struct desc *d)
{
	return d->nr_frames > 1 ? 8 : 4;
}

uint32_t recording_mark_room(const struct desc *d)
{
	uint32_t around = recording_front_size(d) + 4;

	return d->frame_size > around ? d->frame_size - around : 0;
}

/* ---- the file ------------------------------------------------------------ */

/* Rename an earlier file.  Returns its new name, or NULL if there was nothing to keep. */
static char *keep_earlier(const char *path)
{
	struct stat st;
	char *old;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size ||
	    asprintf(&old, "%s.old", path) < 0)
		return NULL;
	if (rename(path, old) == 0)
		return old;
	free(old);
	return NULL;
}

int recording_create(struct recording *r, const char *path, struct err *err)
{
	memset(r, 0, sizeof(*r));
	r->fd = -1;
	r->path = strdup(path);
	r->buf = malloc(BUF_SIZE);
	if (!r->path || !r->buf) {
		recording_abandon(r);
		return err_set(err, -ENOMEM, "no memory for a recording");
	}
	if (!strcmp(path, "-")) {
		r->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else {
		r->kept = keep_earlier(path);
		r->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	}
	if (r->fd < 0) {
		int rc = err_errno(err, "cannot create '%s'", path);

		recording_abandon(r);
		return rc;
	}
	return 0;
}

static void recording_write_out(struct recording *r, const void *data, size_t size)
{
	const char *at = data;

	while (size && !r->error) {
		ssize_t put = io_write(r->fd, at, size);

		if (put <= 0) {
			r->error = put < 0 ? (int)put : -EIO;
			return;
		}
		at += put;
		size -= (size_t)put;
		r->bytes += (uint64_t)put;
	}
}

static int recording_set_failed(const struct recording *r, struct err *err)
{
	err_set(err, r->error, "cannot write '%s': %s", r->path, strerror(-r->error));
	if (r->error == -ENOSPC)
		err_hint(err, "what was recorded until now can be decoded");
	return r->error;
}

int recording_flush(struct recording *r, struct err *err)
{
	recording_write_out(r, r->buf, r->used);
	r->used = 0;
	return r->error ? recording_set_failed(r, err) : 0;
}

/* ---- the header ---------------------------------------------------------- */

static void recording_put_clock(struct json_writer *w, const struct recording_clock *clock)
{
	jw_key(w, "clock");
	jw_object_begin(w);
	jw_field_u64(w, "ticks", clock->ticks);
	jw_field_u64(w, "ns", clock->ns);
	jw_field_double(w, "ns_per_tick", clock->ns_per_tick);
	jw_object_end(w);
}

static void put_ours(struct json_writer *w, const struct recording_info *info)
{
	jw_key(w, "corotracer");
	jw_object_begin(w);
	jw_field_u64(w, "format", RECORDING_FORMAT);
	jw_field_i64(w, "pid", info->pid);
	jw_field_string(w, "program", info->program);
	jw_field_u64(w, "start_monotonic_ns", info->start_monotonic_ns);
	jw_field_u64(w, "start_realtime_ns", info->start_realtime_ns);
	if (info->clock.known)
		recording_put_clock(w, &info->clock);
	jw_object_end(w);
}

static void recording_put_header(struct json_writer *w, const struct desc *desc,
				 const struct recording_info *info)
{
	unsigned i;

	jw_object_begin(w);
	jw_field_string(w, "frFormat", "1.0.0");
	jw_field_string(w, "frDate", info->date ? info->date : "now");
	jw_field_string(w, "frComment", info->comment ? info->comment : "");
	jw_field_i64(w, "frDeltaTime", info->delta_s);
	jw_key(w, "frCounters");
	jw_array_begin(w);
	for (i = 0; i < info->nr_counters; i++)
		jw_string(w, info->counters[i]);
	jw_array_end(w);
	jw_key(w, "frJson");
	desc_to_json(desc, DESC_PPT, w);
	put_ours(w, info);
	jw_object_end(w);
}

int recording_begin(struct recording *r, const struct desc *desc, const struct recording_info *info,
		    struct err *err)
{
	struct json_writer w;
	const char *text;
	uint32_t prefix[2];
	size_t size;
	off_t at;

	r->desc = desc;
	jw_init_buffer(&w);
	recording_put_header(&w, desc, info);
	text = jw_text(&w, &size);
	if (!text) {
		jw_release(&w);
		return err_set(err, -ENOMEM, "no memory for the header of '%s'", r->path);
	}
	r->header_size = size + HEADER_ROOM;
	memcpy(prefix, RECORDING_MAGIC, 4);
	prefix[1] = htonl((uint32_t)r->header_size);
	at = lseek(r->fd, 0, SEEK_CUR);
	r->header_at = at < 0 ? -1 : at + 8;
	recording_write_out(r, prefix, sizeof(prefix));
	recording_write_out(r, text, size);
	memset(r->buf, ' ', HEADER_ROOM);
	recording_write_out(r, r->buf, HEADER_ROOM);
	jw_release(&w);
	return r->error ? recording_set_failed(r, err) : 0;
}

/* Only if it fits: a header that grew too much stays unchanged. */
static void patch_header(struct recording *r, const struct recording_info *info)
{
	struct json_writer w;
	const char *text;
	size_t size = 0;
	char *padded;

	if (r->header_at < 0 || !r->desc || r->error)
		return;
	jw_init_buffer(&w);
	recording_put_header(&w, r->desc, info);
	text = jw_text(&w, &size);
	padded = text && size <= r->header_size ? malloc(r->header_size) : NULL;
	if (padded) {
		memcpy(padded, text, size);
		memset(padded + size, ' ', r->header_size - size);
		if (io_pwrite(r->fd, padded, r->header_size, r->header_at) < 0)
			r->error = -errno;
		free(padded);
	}
	jw_release(&w);
}

int recording_close(struct recording *r, const struct recording_info *info, struct err *err)
{
	int rc;

	recording_flush(r, err);
	patch_header(r, info);
	if (close(r->fd) < 0 && !r->error)
		r->error = -errno;
	r->fd = -1;
	rc = r->error ? recording_set_failed(r, err) : 0;
	free(r->buf);
	free(r->path);
	free(r->kept);
	r->buf = NULL;
	r->path = r->kept = NULL;
	return rc;
}

void recording_abandon(struct recording *r)
{
	if (r->fd >= 0) {
		close(r->fd);
		if (r->path && strcmp(r->path, "-") != 0)
			unlink(r->path);
	}
	if (r->kept)
		rename(r->kept, r->path);
	free(r->kept);
	free(r->buf);
	free(r->path);
	memset(r, 0, sizeof(*r));
	r->fd = -1;
}

/* ---- records ------------------------------------------------------------- */

static uint8_t *recording_reserve(struct recording *r, size_t size)
{
	if (r->used + size > BUF_SIZE) {
		recording_write_out(r, r->buf, r->used);
		r->used = 0;
	}
	r->used += size;
	return r->buf + r->used - size;
}

/* True if a reader would assign @ticket's low 32 bits to another ticket. */
static bool is_far(const struct recording *r, uint64_t ticket)
{
	int64_t step = (int64_t)(ticket - r->last_ticket);

	return step > INT32_MAX || step < INT32_MIN;
}

void recording_frame(struct recording *r, uint64_t ticket, const uint8_t *image)
{
	if (is_far(r, ticket))
		recording_mark(r, RECORDING_TICKET, ticket, 0, 0, 0);
	memcpy(recording_reserve(r, r->desc->frame_size), image, r->desc->frame_size);
	r->last_ticket = ticket;
	r->frames++;
}

void recording_mark(struct recording *r, enum recording_mark_kind kind, uint64_t a, uint64_t b,
		    uint64_t c, uint64_t d)
{
	struct recording_mark mark = { RECORDING_MARK_MAGIC, kind, clock_now_ns(), a, b, c, d };
	uint32_t room = recording_mark_room(r->desc), front = recording_front_size(r->desc);
	const uint32_t back = RECORDING_MARK_BACK;
	size_t at, part;

	for (at = 0; room && at < sizeof(mark); at += part) {
		uint8_t *record = recording_reserve(r, r->desc->frame_size);

		part = sizeof(mark) - at < room ? sizeof(mark) - at : room;
		memset(record, 0, r->desc->frame_size);
		memcpy(record + front, (const char *)&mark + at, part);
		memcpy(record + r->desc->frame_size - 4, &back, 4);
	}
}
