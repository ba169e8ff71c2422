/* SPDX-License-Identifier: MIT */
/* completeness.c - does the trace hold everything that was recorded? */
#include "trace/completeness.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "trace/trace_reader.h"

/* ---- the verdict --------------------------------------------------------- */

bool trace_totals_agree(const struct trace_stats *stats)
{
	const struct trace_completeness *c = &stats->completeness;

	return !c->has_totals || (c->expected == c->read && c->expected_others == c->read_others);
}

/* Parts of the files that could not be read, independent of the totals. */
static bool has_holes(const struct trace_stats *s)
{
	return s->completeness.unreadable || s->ctf.damaged || s->ctf.missing || s->ctf.torn ||
	       s->ct.damaged || s->ct.missing || s->ct.torn || s->lines.cut || s->packed_cut ||
	       s->sidecar.garbage;
}

/*
 * The readers of CTF and of compact traces accept only corotracer traces: missing totals mean an
 * unfinished run.
 */
static bool should_have_totals(const struct trace_stats *stats)
{
	return stats->completeness.has_run || stats->format == TRACE_FORMAT_CTF ||
	       stats->format == TRACE_FORMAT_CT;
}

enum trace_verdict trace_verdict(const struct trace_stats *stats)
{
	const struct trace_completeness *c = &stats->completeness;

	if (stats->growing)
		return TRACE_GROWING;
	if (!trace_totals_agree(stats) || has_holes(stats))
		return TRACE_INCOMPLETE;
	if (c->has_totals)
		return TRACE_COMPLETE;
	return should_have_totals(stats) ? TRACE_UNFINISHED : TRACE_UNKNOWN;
}

const char *trace_verdict_name(enum trace_verdict verdict)
{
	static const char *const names[] = {
		[TRACE_COMPLETE] = "complete",     [TRACE_UNKNOWN] = "unknown",
		[TRACE_GROWING] = "growing",       [TRACE_UNFINISHED] = "unfinished",
		[TRACE_INCOMPLETE] = "incomplete",
	};

	return names[verdict];
}

static uint64_t trace_is_less(uint64_t read, uint64_t expected)
{
	return expected > read ? expected - read : 0;
}

uint64_t trace_missing_events(const struct trace_stats *stats)
{
	const struct trace_completeness *c = &stats->completeness;

	if (!c->has_totals)
		return 0;
	return trace_is_less(c->read, c->expected) +
	       trace_is_less(c->read_others, c->expected_others);
}

/* ---- text ---------------------------------------------------------------- */

/* Clauses, joined by "; ". */
struct clauses {
	char *buf;
	size_t size, used;
};

static void __attribute__((format(printf, 2, 3)))
trace_report(struct clauses *c, const char *fmt, ...)
{
	va_list args;
	int nr;

	if (c->used && c->used + 2 < c->size) {
		memcpy(c->buf + c->used, "; ", 3);
		c->used += 2;
	}
	va_start(args, fmt);
	nr = vsnprintf(c->buf + c->used, c->size - c->used, fmt, args);
	va_end(args);
	if (nr > 0)
		c->used += (size_t)nr;
	if (c->used >= c->size)
		c->used = c->size - 1;
}

static void say_events(struct clauses *out, const char *what, uint64_t read, uint64_t expected)
{
	char a[TEXT_SIZE], b[TEXT_SIZE];

	if (read < expected)
		trace_report(out, "%s of %s %s are missing", text_count(a, expected - read),
			     text_count(b, expected), what);
	else if (read > expected)
		trace_report(out,
			     "it has %s %s and its totals say %s: one of the two is of another run",
			     text_count(a, read), what, text_count(b, expected));
}

static void say_unreadable(struct clauses *out, const struct trace_completeness *c)
{
	char count[TEXT_SIZE];

	if (!c->unreadable)
		return;
	trace_report(out, "file '%s' cannot be read: %s", c->unreadable_name,
		     strerror(c->unreadable_errno));
	if (c->unreadable > 1)
		trace_report(out, "so it is with %s more", text_count(count, c->unreadable - 1));
}

static void say_count(struct clauses *out, uint64_t nr, const char *one, const char *many)
{
	char count[TEXT_SIZE];

	if (nr)
		trace_report(out, "%s %s", text_count(count, nr), nr == 1 ? one : many);
}

static void say_holes(struct clauses *out, const struct trace_stats *s)
{
	say_unreadable(out, &s->completeness);
	say_count(out, s->ctf.damaged, "packet is damaged", "packets are damaged");
	say_count(out, s->ctf.missing, "packet is missing", "packets are missing");
	say_count(out, s->ctf.torn, "file ends inside a packet", "files end inside a packet");
	say_count(out, s->ct.damaged, "block is damaged", "blocks are damaged");
	say_count(out, s->ct.missing, "block is missing", "blocks are missing");
	if (s->ct.torn)
		trace_report(out, "the file ends inside a block");
	say_count(out, s->sidecar.garbage, "line of the sidecar is damaged",
		  "lines of the sidecar are damaged");
	if (s->packed_cut)
		trace_report(out, "the compressed data is damaged or cut off");
	if (s->lines.cut)
		trace_report(out, "the last line is cut off");
}

/* Events are missing and no file is damaged: a whole file or its end was removed. */
static bool lacks_a_stream(const struct trace_stats *s)
{
	return s->format == TRACE_FORMAT_CTF && trace_missing_events(s) && !has_holes(s) &&
	       !s->ctf.unknown;
}

const char *trace_shortage(const struct trace_stats *stats, char *buf, size_t size)
{
	const struct trace_completeness *c = &stats->completeness;
	enum trace_verdict verdict = trace_verdict(stats);
	struct clauses out = { buf, size, 0 };

	if (verdict != TRACE_UNFINISHED && verdict != TRACE_INCOMPLETE)
		return NULL;
	buf[0] = '\0';
	if (c->has_totals) {
		say_events(&out, "transitions", c->read, c->expected);
		say_events(&out, "other events", c->read_others, c->expected_others);
	}
	say_holes(&out, stats);
	if (lacks_a_stream(stats))
		trace_report(&out, "a stream file was removed, or cut between two packets");
	if (!c->has_totals && should_have_totals(stats))
		trace_report(
			&out,
			"its totals are missing: the collector was killed or is still running, "
			"or the end of the trace was cut off");
	return buf;
}

/* ---- JSON ---------------------------------------------------------------- */

static void trace_put_known(struct json_writer *j, const char *key, bool known, uint64_t value)
{
	if (known)
		jw_field_u64(j, key, value);
	else
		jw_field_null(j, key);
}

void trace_put_completeness(struct json_writer *j, const struct trace_stats *stats)
{
	const struct trace_completeness *c = &stats->completeness;
	char text[TRACE_SHORTAGE_SIZE];

	jw_key(j, "completeness");
	jw_object_begin(j);
	jw_field_string(j, "verdict", trace_verdict_name(trace_verdict(stats)));
	trace_put_known(j, "expected", c->has_totals, c->expected);
	trace_put_known(j, "expected_others", c->has_totals, c->expected_others);
	jw_field_u64(j, "read", c->read);
	jw_field_u64(j, "read_others", c->read_others);
	jw_field_u64(j, "unreadable_files", c->unreadable);
	jw_field_string(j, "missing", trace_shortage(stats, text, sizeof(text)));
	jw_object_end(j);
}
