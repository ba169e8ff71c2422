/* SPDX-License-Identifier: MIT */
/* trace_parts.c - the parts of a merged trace. */
#include "trace/trace_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace_reader.h"

/* ---- the parts ------------------------------------------------------------------ */

static int parts_copy_text(const char **to, const char *text)
{
	*to = text ? strdup(text) : NULL;
	return *to || !text ? 0 : -ENOMEM;
}

static int parts_copy_command(struct trace_part *to, const struct sidecar_run *run)
{
	char **words = calloc(run->nr_command + 1, sizeof(*words));

	if (!words)
		return -ENOMEM;
	to->run.command = (const char *const *)words;
	for (; to->run.nr_command < run->nr_command; to->run.nr_command++) {
		words[to->run.nr_command] = strdup(run->command[to->run.nr_command]);
		if (!words[to->run.nr_command])
			return -ENOMEM;
	}
	return 0;
}

static void parts_release_texts(struct trace_part *part)
{
	size_t i;

	for (i = 0; i < part->run.nr_command; i++)
		free((void *)part->run.command[i]);
	free((void *)part->run.command);
	free((void *)part->run.tool);
	free((void *)part->run.hostname);
	free((void *)part->run.arch);
	free((void *)part->name);
}

static int parts_add(struct trace_parts *p, const struct trace_part *part)
{
	struct trace_part *to;
	int rc = 0;

	if (p->nr == p->room) {
		size_t room = p->room ? p->room * 2 : 8;
		struct trace_part *more = reallocarray(p->list, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		p->list = more;
		p->room = room;
	}
	to = &p->list[p->nr++];
	*to = *part;
	to->run.nr_command = 0;
	to->run.command = NULL;
	rc |= parts_copy_text(&to->run.tool, part->run.tool);
	rc |= parts_copy_text(&to->run.hostname, part->run.hostname);
	rc |= parts_copy_text(&to->run.arch, part->run.arch);
	rc |= parts_copy_text(&to->name, part->name);
	return rc ? -ENOMEM : parts_copy_command(to, &part->run);
}

int trace_parts_note(struct trace_parts *p, const struct trace_item *item)
{
	if (item->type == TRACE_ITEM_PART)
		return parts_add(p, &item->part);
	if (item->type == TRACE_ITEM_PROCESS && item->process.part)
		return u64map_put(&p->pids, item->process.pid, item->process.part);
	return 0;
}

int trace_parts_read(struct trace_parts *p, const char *path, struct err *err)
{
	struct trace_reader *r = trace_reader_open(path, err);
	struct trace_item item;
	int rc = 0;

	if (!r)
		return err->code;
	/* The processes, which other facts are assigned by, are facts before the first event. */
	while (!rc && trace_next(r, &item, err) > 0 && item.type != TRACE_ITEM_EVENT &&
	       (p->nr || item.type == TRACE_ITEM_RUN || item.type == TRACE_ITEM_PART))
		rc = trace_parts_note(p, &item);
	trace_reader_close(r);
	return rc < 0 ? err_set(err, rc, "no memory for the parts of '%s'", path) : err->code;
}

const struct trace_part *trace_parts_find(const struct trace_parts *p, uint64_t number)
{
	size_t i;

	for (i = 0; i < p->nr; i++) {
		if (p->list[i].number == number)
			return &p->list[i];
	}
	return NULL;
}

void trace_parts_release(struct trace_parts *p)
{
	size_t i;

	for (i = 0; i < p->nr; i++)
		parts_release_texts(&p->list[i]);
	free(p->list);
	u64map_release(&p->pids);
	*p = (struct trace_parts){ 0 };
}

/* ---- items ---------------------------------------------------------------------- */

static uint64_t parts_of_process(const struct trace_parts *p, uint64_t pid)
{
	uint64_t number;

	return pid && u64map_get(&p->pids, pid, &number) ? number : 0;
}

/* By its coroutine; of an event without one, by its process. */
static uint64_t parts_of_coroutine(const struct trace_parts *p, uint64_t id, uint64_t pid)
{
	size_t i;

	for (i = 0; i < p->nr && (id || !pid); i++) {
		if (id >= p->list[i].ids_from && id <= p->list[i].ids_to)
			return p->list[i].number;
	}
	return parts_of_process(p, pid);
}

uint64_t trace_parts_of(const struct trace_parts *p, const struct trace_item *item)
{
	switch (item->type) {
	case TRACE_ITEM_EVENT:
		return parts_of_coroutine(p, item->event.probe_id, item->event.pid);
	case TRACE_ITEM_COROUTINE:
		return parts_of_coroutine(p, item->coroutine.probe_id, item->coroutine.pid);
	case TRACE_ITEM_PROCESS:
		return item->process.part;
	case TRACE_ITEM_GAP:
		return parts_of_process(p, item->gap.pid);
	case TRACE_ITEM_MODULE:
		return parts_of_process(p, item->module.pid);
	case TRACE_ITEM_CPU:
		return parts_of_process(p, item->cpu.pid);
	case TRACE_ITEM_SWITCH:
		return parts_of_process(p, item->switched.pid);
	case TRACE_ITEM_DESCRIPTOR:
		return parts_of_process(p, item->descriptor.pid);
	case TRACE_ITEM_WAITING:
		return parts_of_process(p, item->waiting.pid);
	case TRACE_ITEM_FRAME:
		return parts_of_process(p, item->frame.pid);
	case TRACE_ITEM_MEMORY:
		return parts_of_process(p, item->memory.pid);
	default:
		return 0;
	}
}

bool trace_parts_take(const struct trace_parts *p, const struct trace_part *part,
		      struct trace_item *item)
{
	uint64_t number = trace_parts_of(p, item);

	if (item->type == TRACE_ITEM_RUN) {
		item->run = part->run;
		return part->run.start_ts != 0;
	}
	if (item->type == TRACE_ITEM_TOTALS) {
		item->totals = part->totals;
		return part->has_totals;
	}
	return !number || number == part->number;
}
