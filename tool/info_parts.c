/* SPDX-License-Identifier: MIT */
/* info_parts.c - the parts of a merged trace: what each of them is, and how much of it there is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "info.h"
#include "trace/schema.h"

static struct info_part *info_parts_count_of(struct info_parts *p, uint64_t number)
{
	size_t i;

	for (i = 0; i < p->nr; i++) {
		if (p->parts.list[i].number == number)
			return &p->counts[i];
	}
	return NULL;
}

static int info_parts_add_event(struct info_parts *p, const struct trace_item *item)
{
	struct info_part *count = info_parts_count_of(p, trace_parts_of(&p->parts, item));

	if (!count)
		return 0;
	if (trace_is_transition(&item->event))
		count->events++;
	else
		count->others++;
	return item->event.probe_id ? u64map_put(&count->coroutines, item->event.probe_id, 1) : 0;
}

int info_parts_add(struct info_parts *p, const struct trace_item *item)
{
	struct info_part *more;

	if (item->type == TRACE_ITEM_EVENT)
		return p->nr ? info_parts_add_event(p, item) : 0;
	if (trace_parts_note(&p->parts, item) < 0)
		return -ENOMEM;
	if (item->type != TRACE_ITEM_PART)
		return 0;
	more = reallocarray(p->counts, p->nr + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->counts = more;
	memset(&more[p->nr++], 0, sizeof(*more));
	return 0;
}

static void info_parts_print_command(struct printer *p, const struct sidecar_run *run)
{
	size_t i;

	for (i = 0; i < run->nr_command && !p->is_json; i++) {
		print_text(p, "%s", i ? " " : ": ");
		text_put_word(p->file, run->command[i]);
	}
}

static void info_parts_print_end(struct printer *p, const struct trace_part *part)
{
	if (!part->has_totals)
		print_text(p, ", no totals");
	else if (part->totals.signal > 0)
		print_text(p, ", killed by signal %d", part->totals.signal);
	else if (part->totals.exit_status > 0)
		print_text(p, ", exit status %d", part->totals.exit_status);
	if (!part->is_whole)
		print_text(p, ", incomplete");
}

static void info_parts_print_one(struct printer *p, const struct trace_part *part,
				 const struct info_part *count)
{
	print_object(p, NULL);
	info_label(p, "");
	print_text(p, "%llu  ", (unsigned long long)part->number);
	print_safe(p, part->name ? part->name : "", 0);
	info_parts_print_command(p, &part->run);
	print_text(p, "\n");
	info_label(p, "");
	print_count(p, "events", "   %s transitions", count->events);
	print_count(p, "others", ", %s other events", count->others);
	print_count(p, "coroutines_seen", ", %s coroutines", u64map_count(&count->coroutines));
	if (p->is_json)
		schema_put_json(&p->json, TRACE_ITEM_PART, part);
	info_parts_print_end(p, part);
	print_text(p, "\n");
	print_object_end(p);
}

void info_parts_print(struct printer *p, const struct info_parts *parts)
{
	size_t i;

	if (!parts->nr)
		return;
	print_text(p, "\n");
	info_label(p, "parts");
	print_text(p, "%zu traces were merged\n", parts->nr);
	print_list(p, "parts");
	for (i = 0; i < parts->nr; i++)
		info_parts_print_one(p, &parts->parts.list[i], &parts->counts[i]);
	print_list_end(p);
}

void info_parts_release(struct info_parts *p)
{
	size_t i;

	for (i = 0; i < p->nr; i++)
		u64map_release(&p->counts[i].coroutines);
	free(p->counts);
	trace_parts_release(&p->parts);
}
