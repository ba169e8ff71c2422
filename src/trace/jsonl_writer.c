/* SPDX-License-Identifier: MIT */
/*
 * jsonl_writer.c - write a trace, one JSON object per line.
 *
 * Performance
 *   Consecutive lines are mostly equal: probe_id and tid are those of a known coroutine, seq
 *   is that of the previous slot, ts changes only in its last digits.  The pieces are cached
 *   as text.  A line is five copies of fixed size, each overwriting the excess bytes of the
 *   previous one, and two numbers that are new: addr and the last eight digits of ts.  The
 *   fast path calls no function.  About 11 ns per event; fprintf() takes 220.
 *   The keys are written here and in jsonl_parse.c, not taken from schema.h: they are those of
 *   the existing coroTracer, and a cached piece spans several of them.
 *
 * Invariants
 *   - buf holds whole lines, `buffered` of them, from buf to at
 *   - the cached pieces always match the values stored with them, from the open on
 *   - 10^8 <= ts_base < 2^63, so ts - ts_base is small only for a ts that is near it
 *   - after a failure limit is buf, so that every jsonl_put() calls jsonl_make_room()
 */
#include "trace/jsonl_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/io.h"

#define BUFFER_SIZE ((size_t)256 * 1024)
/* The longest line, and the excess bytes of the last copy. */
#define LINE_MAX_SIZE 320

/* The most bytes that jsonl_put_told() adds. */
#define TOLD_MAX_SIZE (21 + 18 + 24 + 32 + 2 + FMT_SLACK)

_Static_assert(JSONL_WHO_SIZE + 16 + 8 + FMT_U64_MAX + JSONL_STATE_SIZE + 8 + TOLD_MAX_SIZE <=
		       LINE_MAX_SIZE,
	       "a line must fit behind the limit");

/* Cached coroutines: 4096 times 96 bytes fit well in a second-level cache. */
#define WHO_BITS    12

#define unlikely(x) __builtin_expect(!!(x), 0)
#define cold        __attribute__((noinline, cold))

static const char seq_key[] = "\",\"seq\":";

/* ---- pieces -------------------------------------------------------------- */

static char *put_station(char *p, uint32_t station)
{
	if (station == TRACE_NO_STATION)
		return p;
	p = stpcpy(p, ",\"station\":");
	return fmt_u64(p, station);
}

static void keep_tail(struct jsonl_writer *w, uint32_t station)
{
	char *p = stpcpy(put_station(w->tail, station), "}\n");

	w->tail_size = (uint32_t)(p - w->tail);
	w->station = station;
}

static cold void keep_who(struct jsonl_who *who, const struct trace_event *ev)
{
	char *p = who->text;

	p = stpcpy(p, "{\"probe_id\":");
	p = fmt_u64(p, ev->probe_id);
	p = stpcpy(p, ",\"tid\":");
	p = fmt_u64(p, ev->tid);
	p = stpcpy(p, ",\"addr\":\"0x");
	who->size = (uint64_t)(p - who->text);
	who->probe_id = ev->probe_id;
	who->tid = ev->tid;
}

static inline struct jsonl_who *who_place(struct jsonl_writer *w, const struct trace_event *ev)
{
	uint64_t hash = (ev->probe_id + (ev->tid << 40)) * UINT64_C(0x9e3779b97f4a7c15);

	return &w->who[hash >> (64 - WHO_BITS)];
}

static inline bool who_is(const struct jsonl_who *who, const struct trace_event *ev)
{
	return who->probe_id == ev->probe_id && who->tid == ev->tid;
}

static inline void keep_seq(struct jsonl_writer *w, uint32_t seq)
{
	w->seq = seq;
	w->seq_size = (uint64_t)(fmt_upto8(w->seq_text, seq) - w->seq_text);
}

static cold void keep_ts(struct jsonl_writer *w, uint64_t ts)
{
	uint64_t high = ts / FMT_1E8;
	int i;

	for (i = 0; i < 2; i++) {
		char *p = w->state[i];

		p = stpcpy(p, i ? ",\"is_active\":true,\"ts\":" : ",\"is_active\":false,\"ts\":");
		p = fmt_u64(p, high);
		w->state_size[i] = (uint64_t)(p - w->state[i]);
	}
	w->ts_base = high * FMT_1E8;
}

/* ---- write --------------------------------------------------------------- */

/*
 * Truncates the last @size bytes of the file, if it is a regular file that ends at this
 * position.
 */
static cold bool take_back(int fd, size_t size)
{
	struct stat st;
	off_t at = lseek(fd, 0, SEEK_CUR);

	if (at < (off_t)size || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != at)
		return false;
	return ftruncate(fd, at - (off_t)size) == 0 && lseek(fd, at - (off_t)size, SEEK_SET) >= 0;
}

/*
 * Returns the size of the whole lines in the first @size bytes of the buffer; *@nr is their
 * number.
 */
static cold size_t whole_lines(const struct jsonl_writer *w, size_t size, uint64_t *nr)
{
	const char *p = w->buf, *end = w->buf + size, *newline;

	*nr = 0;
	while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
		p = newline + 1;
		(*nr)++;
	}
	return (size_t)(p - w->buf);
}

/* A write failed after @sent bytes of the buffer. */
static cold void jsonl_give_up(struct jsonl_writer *w, int error, size_t sent)
{
	uint64_t lines;
	size_t whole = whole_lines(w, sent, &lines);

	w->error = error;
	w->written += lines;
	w->unwritten += w->buffered - lines;
	w->bytes += whole;
	if (sent > whole && !take_back(w->fd, sent - whole)) {
		w->cut = true;
		w->bytes += sent - whole;
	}
	w->buffered = 0;
	w->at = w->buf;
	w->limit = w->buf;
}

static ssize_t write_some(const struct jsonl_writer *w, const char *from, size_t size)
{
	return w->stop ? io_write_unless(w->fd, from, size, w->stop) : io_write(w->fd, from, size);
}

int jsonl_flush(struct jsonl_writer *w)
{
	size_t size = (size_t)(w->at - w->buf), sent = 0;

	while (sent < size) {
		ssize_t put = write_some(w, w->buf + sent, size - sent);

		if (put < 0) {
			jsonl_give_up(w, (int)put, sent);
			return w->error;
		}
		sent += (size_t)put;
	}
	w->bytes += size;
	w->written += w->buffered;
	w->buffered = 0;
	w->at = w->buf;
	return w->error;
}

static cold bool jsonl_make_room(struct jsonl_writer *w)
{
	if (w->before)
		w->before(w->before_ctx);
	if (!w->error && jsonl_flush(w) == 0)
		return true;
	w->unwritten++;
	return false;
}

/* ---- lines --------------------------------------------------------------- */

/* One comparison for three members: in a plain trace all are 0. */
static inline bool is_told_more(const struct trace_event *ev)
{
	return ev->site | ev->reason | ev->flags;
}

/*
 * More digits in seq than are cached, a ts with leading zeros to omit, or one that is not a
 * time: for a base that high, a small ts would seem to follow it (the difference wraps at
 * 2^64).
 */
static bool is_odd(const struct trace_event *ev)
{
	return ev->seq >= FMT_1E8 || ev->ts < FMT_1E8 || ev->ts > INT64_MAX;
}

static char *jsonl_put_reason(char *p, unsigned reason)
{
	const char *name = trace_reason_name(reason);

	p = stpcpy(p, ",\"reason\":");
	if (!name)
		return fmt_u64(p, reason); /* no name known */
	*p++ = '"';
	p = stpcpy(p, name);
	*p++ = '"';
	return p;
}

static char *jsonl_put_told(char *p, const struct trace_event *ev)
{
	p = put_station(p, ev->station);
	if (ev->site) {
		p = stpcpy(p, ",\"site\":");
		p = fmt_u64(p, ev->site);
	}
	if (ev->reason)
		p = jsonl_put_reason(p, ev->reason);
	if (ev->flags & TRACE_HAS_RESOURCE) {
		p = stpcpy(p, ",\"resource\":");
		p = fmt_u64(p, ev->resource);
	}
	return stpcpy(p, "}\n");
}

static cold void put_odd(struct jsonl_writer *w, const struct trace_event *ev)
{
	const struct jsonl_who *who = who_place(w, ev);
	char *p = w->at;

	memcpy(p, who->text, who->size);
	p = fmt_hex16(p + who->size, ev->addr);
	p = stpcpy(p, seq_key);
	p = fmt_u64(p, ev->seq);
	p = stpcpy(p,
		   ev->is_active ? ",\"is_active\":true,\"ts\":" : ",\"is_active\":false,\"ts\":");
	p = fmt_u64(p, ev->ts);
	w->at = jsonl_put_told(p, ev);
	w->buffered++;
}

/* Writes the line up to the tail, from cached pieces that match the event. */
static inline __attribute__((always_inline)) char *jsonl_put_pieces(struct jsonl_writer *w,
								    const struct trace_event *ev)
{
	const struct jsonl_who *who = who_place(w, ev);
	char *p = w->at;

	if (ev->seq != w->seq)
		keep_seq(w, (uint32_t)ev->seq);
	memcpy(p, who->text, JSONL_WHO_SIZE);
	p = fmt_hex16(p + who->size, ev->addr);
	p = stpcpy(p, seq_key);
	memcpy(p, w->seq_text, sizeof(w->seq_text));
	p += w->seq_size;
	memcpy(p, w->state[ev->is_active], JSONL_STATE_SIZE);
	p += w->state_size[ev->is_active];
	return fmt_8digits(p, (uint32_t)(ev->ts - w->ts_base));
}

/* A cached piece does not match: update it, then write the line. */
static __attribute__((noinline)) void jsonl_put_slowly(struct jsonl_writer *w,
						       const struct trace_event *ev)
{
	struct jsonl_who *who = who_place(w, ev);

	if (w->at >= w->limit && !jsonl_make_room(w))
		return;
	if (!who_is(who, ev))
		keep_who(who, ev);
	if (is_odd(ev)) {
		put_odd(w, ev);
		return;
	}
	if (ev->ts - w->ts_base >= FMT_1E8)
		keep_ts(w, ev->ts);
	if (is_told_more(ev)) {
		w->at = jsonl_put_told(jsonl_put_pieces(w, ev), ev);
		w->buffered++;
		return;
	}
	if (ev->station != w->station)
		keep_tail(w, ev->station);
	jsonl_put(w, ev);
}

void jsonl_put(struct jsonl_writer *w, const struct trace_event *ev)
{
	char *p;

	if (unlikely(w->at >= w->limit || !who_is(who_place(w, ev), ev) ||
		     ev->station != w->station || is_told_more(ev) ||
		     ev->ts - w->ts_base >= FMT_1E8 || ev->seq >= FMT_1E8)) {
		jsonl_put_slowly(w, ev);
		return;
	}
	p = jsonl_put_pieces(w, ev);
	memcpy(p, w->tail, JSONL_TAIL_SIZE);
	w->at = p + w->tail_size;
	w->buffered++;
}

/* ---- open and close ------------------------------------------------------ */

int jsonl_writer_open(struct jsonl_writer *w, int fd, const char *name, struct err *err)
{
	const struct trace_event nobody = { 0 };

	memset(w, 0, sizeof(*w));
	w->fd = fd;
	w->buf = malloc(BUFFER_SIZE);
	w->who = calloc(1 << WHO_BITS, sizeof(*w->who));
	w->name = strdup(name);
	if (!w->buf || !w->who || !w->name) {
		free(w->buf);
		free(w->who);
		free(w->name);
		close(fd);
		memset(w, 0, sizeof(*w));
		return err_set(err, -ENOMEM, "no memory to write '%s'", name);
	}
	w->at = w->buf;
	w->limit = w->buf + BUFFER_SIZE - LINE_MAX_SIZE;
	/*
	 * The other entries are all zero and match probe_id 0 and tid 0: only this entry is
	 * looked up for them.
	 */
	keep_who(who_place(w, &nobody), &nobody);
	keep_seq(w, 0);
	keep_ts(w, FMT_1E8);
	keep_tail(w, TRACE_NO_STATION);
	return 0;
}

static int jsonl_say_failure(const struct jsonl_writer *w, struct err *err)
{
	err_set(err, w->error, "cannot write '%s': %s; %llu events are in it, %llu are not",
		w->name, strerror(-w->error), (unsigned long long)w->written,
		(unsigned long long)w->unwritten);
	if (w->error == -ENOSPC || w->error == -EDQUOT)
		err_hint(err, "make room there, or write the trace to another disk");
	else if (w->error == -EFBIG)
		err_hint(err, "the limit on file sizes is in the way: see 'ulimit -f'");
	return w->error;
}

int jsonl_close(struct jsonl_writer *w, struct err *err)
{
	int rc = 0;

	if (!w->buf)
		return 0;
	if (jsonl_flush(w))
		rc = jsonl_say_failure(w, err);
	/*
	 * Some file systems report a failed write only at close.  EINTR: the file is closed
	 * nevertheless.
	 */
	if (close(w->fd) < 0 && errno != EINTR && !rc)
		rc = err_errno(err, "cannot write '%s' to its end", w->name);
	free(w->buf);
	free(w->who);
	free(w->name);
	w->buf = w->at = w->limit = w->name = NULL;
	w->who = NULL;
	w->fd = -1;
	return rc;
}
