/* SPDX-License-Identifier: MIT */
/* filter_coroutines.c - --site and --kind of the commands that judge coroutines. */
#include "filter_coroutines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "trace/schema.h"
#include "trace_foreach.h"
#include "base/io.h"

struct filter_choosing {
	struct filter_coroutines *to;
	struct trace_filter filter;
	struct u64map all;
	const char *trace;
};

static int filter_choose_no_memory(const struct filter_choosing *c, struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for the coroutines of '%s'", c->trace);
}

static int filter_choose_item(void *arg, const struct trace_item *item, struct err *err)
{
	struct filter_choosing *c = arg;
	struct trace_item own = *item;

	trace_filter_note(&c->filter, item);
	if (item->type != TRACE_ITEM_EVENT || !item->event.probe_id)
		return 0;
	if (c->filter.parts && trace_parts_of(c->filter.parts, item) != c->filter.part)
		return 0;
	if (u64map_put(&c->all, item->event.probe_id, 1) < 0)
		return filter_choose_no_memory(c, err);
	if (trace_filter_passes(&c->filter, &own) &&
	    u64map_put(&c->to->ids, item->event.probe_id, 1) < 0)
		return filter_choose_no_memory(c, err);
	return 0;
}

/* "suspend,wake" */
static void filter_put_kinds(FILE *out, unsigned kinds)
{
	const char *comma = "";
	unsigned kind;

	for (kind = 0; kind < NR_TRACE_KINDS; kind++) {
		if (!(kinds >> kind & 1))
			continue;
		fprintf(out, "%s%s", comma, schema_kinds[kind].name);
		comma = ",";
	}
}

static char *filter_describe(const struct filter_coroutines *c, const struct trace_filter *f)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "Only %s of ", number_text(c->nr));
	fprintf(out, "%s coroutine%s:", number_text(c->of), number_plural(c->of));
	if (f->site)
		fprintf(out, " --site '%s'", f->site);
	if (f->kinds) {
		fputs(" --kind ", out);
		filter_put_kinds(out, f->kinds);
	}
	fputs(".", out);
	return io_end_memory(out, &text) < 0 ? NULL : text;
}

static int filter_choose_read(struct filter_choosing *c, struct err *err)
{
	struct trace_reader *reader = trace_reader_open(c->trace, err);
	int rc;

	if (!reader)
		return err->code;
	rc = read_trace(c->trace, reader, filter_choose_item, c, err);
	trace_reader_close(reader);
	return rc;
}

int filter_coroutines_choose(struct filter_coroutines *to, const char *trace,
			     struct trace_filter *filter, struct err *err)
{
	struct filter_choosing c = { .to = to, .filter = *filter, .trace = trace };
	int rc;

	if (!filter->site && !filter->kinds)
		return 0;
	if (!strcmp(trace, "-")) {
		err_set(err, -ESPIPE,
			"cannot choose coroutines by --site and --kind from standard input: the "
			"trace is read twice");
		err_hint(err, "save the trace to a file first");
		return err->code;
	}
	rc = filter_choose_read(&c, err);
	to->nr = u64map_count(&to->ids);
	to->of = u64map_count(&c.all);
	to->is_set = true;
	to->text = rc ? NULL : filter_describe(to, filter);
	if (!rc && !to->text)
		rc = filter_choose_no_memory(&c, err);
	trace_filter_release(&c.filter);
	u64map_release(&c.all);
	filter->site = NULL;
	filter->kinds = 0;
	return rc;
}

void filter_coroutines_release(struct filter_coroutines *c)
{
	u64map_release(&c->ids);
	free(c->text);
	*c = (struct filter_coroutines){ .is_set = false };
}
