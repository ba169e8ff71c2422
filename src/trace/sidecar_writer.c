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

void sidecar_json_run(struct json_writer *j, const struct sidecar_run *run)
{
	size_t i;

	jw_field_u64(j, "format", run->format);
	jw_field_string(j, "tool", run->tool);
	jw_key(j, "command");
	jw_array_begin(j);
	for (i = 0; i < run->nr_command; i++)
		jw_string(j, run->command[i]);
	jw_array_end(j);
	jw_field_u64(j, "pid", run->pid);
	jw_field_u64(j, "start_ts", run->start_ts);
	jw_field_u64(j, "start_realtime", run->start_realtime);
	if (run->hostname)
		jw_field_string(j, "hostname", run->hostname);
	jw_field_string(j, "arch", run->arch);
	jw_field_u64(j, "stations", run->stations);
}

void sidecar_put_run(struct sidecar_writer *w, const struct sidecar_run *run)
{
	struct sidecar_run ours = *run;
	struct json_writer j;

	ours.format = SIDECAR_FORMAT;
	sidecar_begin(&j, "run");
	sidecar_json_run(&j, &ours);
	sidecar_end(w, &j);
}

void sidecar_json_process(struct json_writer *j, const struct sidecar_process *process)
{
	jw_field_u64(j, "pid", process->pid);
	jw_field_u64(j, "uid", process->uid);
	jw_field_u64(j, "connected_ts", process->connected_ts);
}

void sidecar_put_process(struct sidecar_writer *w, const struct sidecar_process *process)
{
	struct json_writer j;

	sidecar_begin(&j, "process");
	sidecar_json_process(&j, process);
	sidecar_end(w, &j);
}

void sidecar_put_module(struct sidecar_writer *w, const struct sidecar_module *module)
{
	struct json_writer j;

	sidecar_begin(&j, "module");
	jw_field_u64(&j, "pid", module->pid);
	jw_field_u64(&j, "start", module->start);
	jw_field_u64(&j, "end", module->end);
	jw_field_u64(&j, "offset", module->offset);
	jw_field_string(&j, "path", module->path ? module->path : "");
	if (module->build_id)
		jw_field_string(&j, "build_id", module->build_id);
	sidecar_end(w, &j);
}

void sidecar_put_cpu(struct sidecar_writer *w, const struct trace_cpu *cpu)
{
	struct json_writer j;

	sidecar_begin(&j, "cpu");
	jw_field_u64(&j, "pid", cpu->pid);
	jw_field_u64(&j, "tid", cpu->tid);
	jw_field_u64(&j, "from_ts", cpu->from_ts);
	jw_field_u64(&j, "to_ts", cpu->to_ts);
	jw_field_u64(&j, "cpu_ns", cpu->cpu_ns);
	jw_field_u64(&j, "queued_ns", cpu->queued_ns);
	jw_field_string(&j, "state", cpu->state ? cpu->state : "");
	if (cpu->call)
		jw_field_string(&j, "call", cpu->call);
	sidecar_end(w, &j);
}

void sidecar_put_descriptor(struct sidecar_writer *w, const struct trace_descriptor *descriptor)
{
	struct json_writer j;

	sidecar_begin(&j, "descriptor");
	jw_field_u64(&j, "pid", descriptor->pid);
	jw_field_u64(&j, "probe_id", descriptor->probe_id);
	jw_field_u64(&j, "from_ts", descriptor->from_ts);
	jw_field_u64(&j, "to_ts", descriptor->to_ts);
	if (descriptor->probe_id) {
		jw_field_u64(&j, "fd", descriptor->fd);
		jw_field_u64(&j, "unread", descriptor->unread);
	}
	if (descriptor->kind)
		jw_field_string(&j, "kind", descriptor->kind);
	if (descriptor->ready)
		jw_field_string(&j, "ready", descriptor->ready);
	if (descriptor->watch)
		jw_field_string(&j, "watch", descriptor->watch);
	sidecar_end(w, &j);
}

void sidecar_put_site(struct sidecar_writer *w, const struct trace_site *site)
{
	struct json_writer j;

	sidecar_begin(&j, "site");
	jw_field_u64(&j, "id", site->id);
	jw_field_string(&j, "file", site->file ? site->file : "");
	jw_field_u64(&j, "line", site->line);
	jw_field_string(&j, "function", site->function ? site->function : "");
	jw_field_u64(&j, "pid", site->pid);
	sidecar_end(w, &j);
}

void sidecar_put_gap(struct sidecar_writer *w, const struct trace_gap *gap)
{
	struct json_writer j;

	sidecar_begin(&j, "gap");
	jw_field_u64(&j, "from_ts", gap->from_ts);
	jw_field_u64(&j, "to_ts", gap->to_ts);
	if (gap->lane != TRACE_LANE_STATIONS)
		jw_field_u64(&j, "lane", gap->lane);
	jw_field_u64(&j, "pid", gap->pid);
	jw_field_u64(&j, "tid", gap->tid);
	jw_field_u64(&j, "transitions", gap->transitions);
	jw_field_u64(&j, "others", gap->others);
	sidecar_end(w, &j);
}

static void put_u64_or_null(struct json_writer *j, const char *key, uint64_t value, bool there)
{
	if (there)
		jw_field_u64(j, key, value);
	else
		jw_field_null(j, key);
}

/* Reported members, in the order of a transition's members. */
static void sidecar_put_state(struct json_writer *j, const struct sidecar_coroutine *c)
{
	char addr[2 + 16 + FMT_SLACK] = "0x";

	if (c->parent)
		jw_field_u64(j, "parent", c->parent);
	if (c->birth_site)
		jw_field_u64(j, "birth_site", c->birth_site);
	if (trace_state_name(c->state)) {
		jw_field_string(j, "state", trace_state_name(c->state));
		jw_field_u64(j, "since_ts", c->since_ts);
	}
	if (c->addr) {
		*fmt_hex16(addr + 2, c->addr) = '\0';
		jw_field_string(j, "addr", addr);
	}
	if (c->site)
		jw_field_u64(j, "site", c->site);
	if (c->reason && trace_reason_name(c->reason))
		jw_field_string(j, "reason", trace_reason_name(c->reason));
	if (c->has_resource)
		jw_field_u64(j, "resource", c->resource);
}

void sidecar_put_coroutine(struct sidecar_writer *w, const struct sidecar_coroutine *coroutine)
{
	const struct sidecar_coroutine *c = coroutine;
	struct json_writer j;

	sidecar_begin(&j, "coroutine");
	put_u64_or_null(&j, "station", c->station, c->station != TRACE_NO_STATION);
	jw_field_u64(&j, "probe_id", c->probe_id);
	jw_field_u64(&j, "pid", c->pid);
	jw_field_string(&j, "name", c->name);
	if (c->name_truncated)
		jw_field_bool(&j, "name_truncated", true);
	jw_field_u64(&j, "birth_ts", c->birth_ts);
	put_u64_or_null(&j, "death_ts", c->death_ts, c->death_ts != 0);
	jw_field_bool(&j, "dead", c->dead);
	jw_field_string(&j, "writer", c->writer ? c->writer : "unknown");
	jw_field_u64(&j, "written", c->written);
	jw_field_u64(&j, "collected", c->collected);
	jw_field_u64(&j, "lost", c->lost);
	jw_field_u64(&j, "garbage", c->garbage);
	sidecar_put_state(&j, c);
	sidecar_end(w, &j);
}

/* ---- totals -------------------------------------------------------------- */

void sidecar_json_totals(struct json_writer *j, const struct sidecar_totals *t)
{
	jw_field_bool(j, "complete", t->complete);
	jw_field_u64(j, "written", t->written);
	jw_field_u64(j, "collected", t->collected);
	jw_field_u64(j, "lost", t->lost);
	jw_field_u64(j, "lost_overwritten", t->lost_overwritten);
	jw_field_u64(j, "lost_full", t->lost_full);
	jw_field_u64(j, "lost_output", t->lost_output);
	jw_field_u64(j, "garbage", t->garbage);
	jw_field_u64(j, "unfinished", t->unfinished);
	jw_field_u64(j, "coroutines", t->coroutines);
	jw_field_u64(j, "without_station", t->without_station);
	jw_field_u64(j, "others_written", t->others_written);
	jw_field_u64(j, "others_collected", t->others_collected);
	jw_field_u64(j, "others_lost", t->others_lost);
	jw_field_u64(j, "forgotten", t->forgotten);
	jw_field_u64(j, "others_forgotten", t->others_forgotten);
	jw_field_u64(j, "waits", t->waits);
	jw_field_u64(j, "wait_ns", t->wait_ns);
	put_u64_or_null(j, "exit_status", (uint64_t)(unsigned)t->exit_status, t->exit_status >= 0);
	put_u64_or_null(j, "signal", (uint64_t)(unsigned)t->signal, t->signal > 0);
	jw_field_u64(j, "end_ts", t->end_ts);
}

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
	sidecar_json_totals(&j, totals);
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

static char *sidecar_put_key(char *p, const char *key)
{
	p = PUT(p, ",\"");
	p = stpcpy(p, key);
	return PUT(p, "\":");
}

static char *sidecar_put_told(char *p, const char *key, uint64_t value)
{
	return value ? fmt_u64(sidecar_put_key(p, key), value) : p;
}

static char *put_flag(char *p, const char *key, unsigned set)
{
	return set ? PUT(sidecar_put_key(p, key), "true") : p;
}

static char *put_addr(char *p, uint64_t addr)
{
	if (!addr)
		return p;
	p = PUT(sidecar_put_key(p, "addr"), "\"0x");
	p = fmt_hex16(p, addr);
	return PUT(p, "\"");
}

static char *sidecar_put_reason(char *p, unsigned reason)
{
	const char *name = trace_reason_name(reason);

	if (!reason)
		return p;
	p = sidecar_put_key(p, "reason");
	if (!name)
		return fmt_u64(p, reason);
	p = PUT(p, "\"");
	p = stpcpy(p, name);
	return PUT(p, "\"");
}

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
static char *sidecar_put_name(char *p, const struct trace_event *ev)
{
	size_t size = ev->name_size < TRACE_NAME_MAX ? ev->name_size : TRACE_NAME_MAX;
	struct json_writer j;
	const char *text;

	if (!ev->name || !size)
		return p;
	p = sidecar_put_key(p, "name");
	if (sidecar_is_plain(ev->name, size)) {
		p = PUT(p, "\"");
		p = (char *)memcpy(p, ev->name, size) + size;
		return PUT(p, "\"");
	}
	jw_init_buffer(&j);
	jw_string_n(&j, ev->name, size);
	text = jw_text(&j, &size);
	p = text ? (char *)memcpy(p, text, size) + size : PUT(p, "null");
	jw_release(&j);
	return p;
}

static char *sidecar_writer_put_event(char *p, const struct trace_event *ev)
{
	const char *kind = trace_kind_name(ev->kind);
	unsigned cut = ev->flags & TRACE_NAME_CUT || ev->name_size > TRACE_NAME_MAX;

	p = PUT(p, "{\"type\":\"");
	p = stpcpy(p, kind ? kind : "unknown");
	p = PUT(p, "\",\"ts\":");
	p = fmt_u64(p, ev->ts);
	p = PUT(p, ",\"probe_id\":");
	p = fmt_u64(p, ev->probe_id);
	p = PUT(p, ",\"tid\":");
	p = fmt_u64(p, ev->tid);
	p = put_addr(p, ev->addr);
	p = sidecar_put_told(p, "seq", ev->seq);
	if (ev->station != TRACE_NO_STATION)
		p = fmt_u64(sidecar_put_key(p, "station"), ev->station);
	p = sidecar_put_told(p, "site", ev->site);
	p = sidecar_put_reason(p, ev->reason);
	if (ev->flags & TRACE_HAS_RESOURCE)
		p = fmt_u64(sidecar_put_key(p, "resource"), ev->resource);
	p = sidecar_put_told(p, ev->kind == TRACE_BIRTH ? "parent" : "waker", ev->peer);
	p = sidecar_put_told(p, "seen", ev->seen);
	p = sidecar_put_told(p, "pid", ev->pid);
	p = sidecar_put_told(p, "written", ev->written);
	p = sidecar_put_told(p, "lost", ev->lost);
	p = put_flag(p, "destroyed", ev->flags & TRACE_DESTROYED);
	p = put_flag(p, "was_suspended", ev->flags & TRACE_WAS_SUSPENDED);
	p = put_flag(p, "cancelled", ev->flags & TRACE_CANCELLED);
	p = sidecar_put_name(p, ev);
	p = put_flag(p, "name_truncated", cut);
	return PUT(p, "}\n");
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
