/* SPDX-License-Identifier: MIT */
/*
 * sidecar_writer.c - write the sidecar of a trace.
 *
 * Invariants
 *   - buf holds whole lines, `lines` of them, from buf to at
 *   - the file holds whole lines up to `end`, then the room of SIDECAR_ROOM_SIZE bytes; after
 *     the totals are written, the totals and nothing else
 *   - after a failure limit is buf, so that every event calls sidecar_make_room()
 */
#include "trace/sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "trace/schema_event.h"
#include "trace/switch_line.h"

#define BUFFER_SIZE ((size_t)256 * 1024)
/* An event: 18 members of at most 40 bytes, and a name with six bytes per character. */
#define EVENT_MAX_SIZE (18 * 40 + 6 * TRACE_NAME_MAX + 64)

#define cold           __attribute__((noinline, cold))

char *sidecar_path(const char *trace_path)
{
	char *path;

	return asprintf(&path, "%s" SIDECAR_SUFFIX, trace_path) < 0 ? NULL : path;
}

/* ---- write --------------------------------------------------------------- */

/*
 * Writes all bytes at @at.  Returns 0 or a negative errno; *@sent is the number of bytes
 * written.
 */
static int write_at(int fd, const char *from, size_t size, uint64_t at, size_t *sent)
{
	*sent = 0;
	while (*sent < size) {
		ssize_t put = pwrite(fd, from + *sent, size - *sent, (off_t)(at + *sent));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		*sent += (size_t)put;
	}
	return 0;
}

/* A line without meaning, as long as the longest totals. */
static void make_room_line(char line[SIDECAR_ROOM_SIZE])
{
	static const char head[] = "{\"type\":\"room\",\"for\":\"totals\",\"pad\":\"";
	char *end = line + SIDECAR_ROOM_SIZE;

	memset(line, ' ', SIDECAR_ROOM_SIZE);
	memcpy(line, head, sizeof(head) - 1);
	end[-3] = '"';
	end[-2] = '}';
	end[-1] = '\n';
}

static int write_room(struct sidecar_writer *w)
{
	char line[SIDECAR_ROOM_SIZE];
	size_t sent;

	make_room_line(line);
	return write_at(w->fd, line, sizeof(line), w->end, &sent);
}

/* A line of the buffer: it begins with its type and ends with a newline. */
static bool is_event_line(const char *line)
{
	const char *type = line + strlen("{\"type\":\"");

	return trace_kind_from_name(type, strcspn(type, "\"\n")) >= 0;
}

/* Counts the whole lines in the first @size bytes of the buffer as written. */
static cold void keep_whole_lines(struct sidecar_writer *w, size_t size)
{
	const char *p = w->buf, *end = w->buf + size, *newline;

	while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
		w->lines--;
		if (is_event_line(p)) {
			w->events--;
			w->events_written++;
		}
		p = newline + 1;
	}
	w->end += (uint64_t)(p - w->buf);
}

static void forget_buffer(struct sidecar_writer *w)
{
	w->at = w->buf;
	w->lines = w->events = 0;
}

/*
 * A write failed after @sent bytes of the buffer.  The bytes overwrote the room and may go
 * beyond it: only lines that leave space for the totals are kept.
 */
static cold void sidecar_give_up(struct sidecar_writer *w, int error, size_t sent)
{
	w->error = error;
	keep_whole_lines(w, sent > SIDECAR_ROOM_SIZE ? sent - SIDECAR_ROOM_SIZE : 0);
	w->lines_unwritten += w->lines;
	w->events_unwritten += w->events;
	forget_buffer(w);
	w->limit = w->buf;
	w->cut = write_room(w) < 0 || ftruncate(w->fd, (off_t)(w->end + SIDECAR_ROOM_SIZE)) < 0;
}

int sidecar_flush(struct sidecar_writer *w)
{
	size_t size = (size_t)(w->at - w->buf), sent;
	int rc;

	if (!size)
		return w->error;
	/* One write with the room after the lines: buf has space for it. */
	make_room_line(w->at);
	rc = write_at(w->fd, w->buf, size + SIDECAR_ROOM_SIZE, w->end, &sent);
	if (rc < 0) {
		sidecar_give_up(w, rc, sent);
		return w->error;
	}
	w->end += size;
	w->events_written += w->events;
	forget_buffer(w);
	return 0;
}

static cold bool sidecar_make_room(struct sidecar_writer *w)
{
	if (w->before)
		w->before(w->before_ctx);
	return !w->error && sidecar_flush(w) == 0;
}

/* ---- lines of any length -------------------------------------------------- */

static cold bool sidecar_grow(struct sidecar_writer *w, size_t line)
{
	size_t size = line + EVENT_MAX_SIZE + SIDECAR_ROOM_SIZE;
	char *bigger;

	if (size <= w->size)
		return true;
	bigger = realloc(w->buf, size); /* buf is empty */
	if (!bigger)
		return false;
	w->buf = w->at = bigger;
	w->limit = bigger + size - EVENT_MAX_SIZE - SIDECAR_ROOM_SIZE;
	w->size = size;
	return true;
}

static bool sidecar_append(struct sidecar_writer *w, const char *line, size_t size)
{
	if (w->error)
		return false;
	if (size > (size_t)(w->buf + w->size - SIDECAR_ROOM_SIZE - w->at) &&
	    (!sidecar_make_room(w) || !sidecar_grow(w, size)))
		return false;
	memcpy(w->at, line, size);
	w->at += size;
	w->lines++;
	return true;
}

static void sidecar_begin(struct json_writer *j, const char *type)
{
	jw_init_buffer(j);
	jw_object_begin(j);
	jw_field_string(j, "type", type);
}

static void sidecar_end(struct sidecar_writer *w, struct json_writer *j)
{
	const char *text;
	size_t size;

	jw_object_end(j);
	jw_newline(j);
	text = jw_text(j, &size);
	if (!text || !sidecar_append(w, text, size))
		w->lines_unwritten++;
	jw_release(j);
}

void sidecar_put_fact(struct sidecar_writer *w, const struct trace_item *item)
{
	char line[SWITCH_LINE_SIZE];
	struct trace_item ours;
	struct json_writer j;
	size_t size;

	size = item->type == TRACE_ITEM_SWITCH ? switch_line_put(line, &item->switched) : 0;
	if (size) {
		w->lines_unwritten += !sidecar_append(w, line, size);
		return;
	}
	if (item->type == TRACE_ITEM_RUN) {
		ours = *item;
		ours.run.format = SIDECAR_FORMAT;
		item = &ours;
	}
	sidecar_begin(&j, schema[item->type].name);
	schema_put_json(&j, item->type, schema_const_record_of(item));
	sidecar_end(w, &j);
}

/* ---- totals -------------------------------------------------------------- */

/* Overwrites the room and truncates the rest of it. */
static bool sidecar_write_totals(struct sidecar_writer *w, const char *line, size_t size)
{
	size_t sent;

	if (size > SIDECAR_ROOM_SIZE)
		return false;
	if (write_at(w->fd, line, size, w->end, &sent) < 0)
		return false;
	w->end += size;
	return ftruncate(w->fd, (off_t)w->end) == 0;
}

void sidecar_put_totals(struct sidecar_writer *w, const struct sidecar_totals *totals)
{
	struct json_writer j;
	const char *text;
	size_t size;

	sidecar_flush(w);
	sidecar_begin(&j, "totals");
	schema_put_json(&j, TRACE_ITEM_TOTALS, totals);
	jw_object_end(&j);
	jw_newline(&j);
	text = jw_text(&j, &size);
	if (!text || !sidecar_write_totals(w, text, size)) {
		w->lines_unwritten++;
		if (!w->error)
			w->error = -EIO;
	}
	jw_release(&j);
}

/* ---- events -------------------------------------------------------------- */

#define PUT(p, text) ((char *)memcpy(p, text, sizeof(text) - 1) + sizeof(text) - 1)

static bool sidecar_is_plain(const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c >= 0x7f || c == '"' || c == '\\')
			return false;
	}
	return true;
}

/* A name may contain any bytes: a name that needs escapes goes through the JSON writer. */
static char *sidecar_put_name(char *p, const char *name, size_t size)
{
	struct json_writer j;
	const char *text;

	if (sidecar_is_plain(name, size)) {
		p = PUT(p, "\"");
		p = (char *)memcpy(p, name, size) + size;
		return PUT(p, "\"");
	}
	jw_init_buffer(&j);
	jw_string_n(&j, name, size);
	text = jw_text(&j, &size);
	p = text ? (char *)memcpy(p, text, size) + size : PUT(p, "null");
	jw_release(&j);
	return p;
}

static char *sidecar_put_word(char *p, const struct schema_field *f, uint64_t value)
{
	const char *word = schema_word(f, value);

	if (!word)
		return fmt_u64(p, value); /* of a later version */
	p = PUT(p, "\"");
	p = stpcpy(p, word);
	return PUT(p, "\"");
}

/* As schema_put_json(), for the types that events have and without a JSON writer. */
static inline char *sidecar_put_field(char *p, const struct schema_field *f,
				      const struct trace_event *ev)
{
	p = (char *)memcpy(p, f->member, f->member_size) + f->member_size;
	switch ((enum schema_type)f->type) {
	case SCHEMA_BOOL:
		return PUT(p, "true");
	case SCHEMA_ADDR:
		p = fmt_hex16(PUT(p, "\"0x"), schema_number(f, ev));
		return PUT(p, "\"");
	case SCHEMA_REASON:
		return sidecar_put_word(p, f, ev->reason);
	case SCHEMA_NAME:
		return sidecar_put_name(p, ev->name, ev->name_size);
	default:
		return fmt_u64(p, schema_number(f, ev));
	}
}

static char *sidecar_put_fields(char *p, const struct trace_event *ev)
{
	const char *kind = trace_kind_name(ev->kind);
	size_t i;

	p = PUT(p, "{\"type\":\"");
	p = stpcpy(p, kind ? kind : "unknown");
	p = PUT(p, "\"");
	SCHEMA_UNROLL
	for (i = 0; i < SCHEMA_EVENT_FIELDS; i++) {
		const struct schema_field *f = &schema_event_fields[i];

		if (f->key && schema_is_of_kind(f, ev->kind) &&
		    (f->absent == SCHEMA_WRITTEN || schema_is_reported(f, ev)))
			p = sidecar_put_field(p, f, ev);
	}
	return PUT(p, "}\n");
}

static char *sidecar_writer_put_event(char *p, const struct trace_event *ev)
{
	struct trace_event cut;

	if (ev->name_size <= TRACE_NAME_MAX)
		return sidecar_put_fields(p, ev);
	cut = *ev;
	cut.name_size = TRACE_NAME_MAX;
	cut.flags |= TRACE_NAME_CUT;
	return sidecar_put_fields(p, &cut);
}

void sidecar_put_event(struct sidecar_writer *w, const struct trace_event *ev)
{
	if (w->at >= w->limit && !sidecar_make_room(w)) {
		w->lines_unwritten++;
		w->events_unwritten++;
		return;
	}
	w->at = sidecar_writer_put_event(w->at, ev);
	w->lines++;
	w->events++;
}

/* ---- open and close ------------------------------------------------------ */

static int sidecar_release(struct sidecar_writer *w, int rc)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w->path);
	free(w->buf);
	w->path = w->buf = w->at = w->limit = NULL;
	w->fd = -1;
	return rc;
}

int sidecar_writer_open(struct sidecar_writer *w, const char *path, struct err *err)
{
	memset(w, 0, sizeof(*w));
	w->fd = -1;
	w->path = strdup(path);
	w->buf = malloc(BUFFER_SIZE);
	if (!w->path || !w->buf)
		return sidecar_release(w, err_set(err, -ENOMEM, "no memory to write '%s'", path));
	w->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	if (w->fd < 0)
		return sidecar_release(w, err_errno(err, "cannot create '%s'", path));
	w->size = BUFFER_SIZE;
	w->at = w->buf;
	w->limit = w->buf + BUFFER_SIZE - EVENT_MAX_SIZE - SIDECAR_ROOM_SIZE;
	w->error = write_room(w);
	if (w->error < 0) {
		err_set(err, w->error, "cannot write '%s': %s", path, strerror(-w->error));
		return sidecar_release(w, w->error);
	}
	return 0;
}

static int sidecar_say_failure(const struct sidecar_writer *w, struct err *err)
{
	return err_set(err, w->error ? w->error : -ENOMEM,
		       "cannot write '%s': %s; %llu lines of it are missing", w->path,
		       strerror(w->error ? -w->error : ENOMEM),
		       (unsigned long long)w->lines_unwritten);
}

int sidecar_writer_close(struct sidecar_writer *w, struct err *err)
{
	int rc = 0;

	if (!w->buf)
		return 0;
	if (sidecar_flush(w) < 0 || w->lines_unwritten)
		rc = sidecar_say_failure(w, err);
	if (close(w->fd) < 0 && errno != EINTR && !rc)
		rc = err_errno(err, "cannot write '%s' to its end", w->path);
	w->fd = -1;
	return sidecar_release(w, rc);
}
