/* SPDX-License-Identifier: MIT */
/* jsonl_reader.c - read the JSON lines of a trace as a stream. */
#include "trace/jsonl_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "trace/jsonl_parse.h"

int jsonl_reader_open(struct jsonl_reader *r, const char *path, struct err *err)
{
	int rc;

	memset(r, 0, sizeof(*r));
	rc = lines_open(&r->lines, path, JSONL_LINE_MAX, err);
	if (rc == -ENOENT)
		err_hint(err, "'corotracer run -o FILE -- PROGRAM' writes a trace");
	return rc;
}

int jsonl_reader_open_fd(struct jsonl_reader *r, int fd, const char *name, struct err *err)
{
	memset(r, 0, sizeof(*r));
	return lines_open_fd(&r->lines, fd, name, JSONL_LINE_MAX, err);
}

static void note_garbage(struct jsonl_stats *s, const char *reason)
{
	s->garbage++;
	if (s->nr_first == JSONL_GARBAGE_FIRST)
		return;
	s->first[s->nr_first].line = s->lines;
	s->first[s->nr_first].reason = reason;
	s->nr_first++;
}

/* Returns the problem of the line; NULL: the line is an event. */
static const char *problem_of(struct line *line, struct trace_event *ev)
{
	const char *problem;

	if (line->too_long)
		return "it is too long: 1 MiB or more";
	problem = jsonl_parse(line->text, line->size, ev);
	if (problem && problem != jsonl_no_memory && line->cut && line->text[line->size - 1] != '}')
		return "the file ends in the middle of it";
	return problem;
}

int jsonl_next(struct jsonl_reader *r, struct trace_event *ev, struct err *err)
{
	struct line line;
	int rc;

	while ((rc = lines_next(&r->lines, &line, err)) > 0) {
		const char *problem;

		r->stats.lines++;
		if (line.size && line.text[line.size - 1] == '\r')
			line.size--;
		if (line.text[0] != '{' && line_is_blank(&line))
			continue;
		problem = problem_of(&line, ev);
		if (!problem) {
			r->stats.events++;
			return 1;
		}
		if (problem == jsonl_no_memory)
			return err_set(err, -ENOMEM, "no memory to parse line %" PRIu64 " of '%s'",
				       r->stats.lines, r->lines.name);
		note_garbage(&r->stats, problem);
		r->stats.cut = line.cut;
	}
	return rc;
}

void jsonl_reader_close(struct jsonl_reader *r)
{
	lines_close(&r->lines);
}
