/* SPDX-License-Identifier: MIT */
/* ship_facts.c - what the labels and the account of a run need from the facts in its blocks. */
#include "ship/ship_facts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"

#define SHIP_WANTED (1u << TRACE_ITEM_RUN | 1u << TRACE_ITEM_MODULE | 1u << TRACE_ITEM_TOTALS)

static void ship_facts_run(struct ship_facts *facts, const struct sidecar_run *run)
{
	struct ship_labels *labels = &facts->labels;

	facts->has_run = true;
	labels->start_ts = run->start_ts;
	labels->start_realtime = run->start_realtime;
	if (run->nr_command)
		snprintf(labels->service, sizeof(labels->service), "%s",
			 path_base(run->command[0]));
	if (run->hostname)
		snprintf(labels->host, sizeof(labels->host), "%s", run->hostname);
}

/* The first mapped file is the program's. */
static void ship_facts_module(struct ship_facts *facts, const struct sidecar_module *module)
{
	if (facts->has_build)
		return;
	facts->has_build = true;
	if (module->build_id)
		snprintf(facts->labels.build, sizeof(facts->labels.build), "%s", module->build_id);
	if (!facts->labels.service[0] && module->path)
		snprintf(facts->labels.service, sizeof(facts->labels.service), "%s",
			 path_base(module->path));
}

static void ship_facts_item(struct ship_facts *facts, const struct trace_item *item)
{
	if (item->type == TRACE_ITEM_RUN && !facts->has_run)
		ship_facts_run(facts, &item->run);
	else if (item->type == TRACE_ITEM_MODULE)
		ship_facts_module(facts, &item->module);
	else if (item->type == TRACE_ITEM_TOTALS) {
		facts->has_totals = true;
		facts->totals = item->totals;
	}
}

static int ship_facts_lines(struct ship_facts *facts, const struct compact_part *lines)
{
	const char *at = (const char *)lines->data, *end = at + lines->size;

	if (!lines->size || end[-1] != '\n')
		return 0;
	facts->lines.wanted = SHIP_WANTED;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct line line = { .text = at, .size = (size_t)(newline - at) };
		struct trace_item item;
		int rc = sidecar_take_line(&facts->lines, &line, &item);

		if (rc < 0)
			return rc;
		if (rc > 0)
			ship_facts_item(facts, &item);
		at = newline + 1;
	}
	return 0;
}

int ship_facts_take(struct ship_facts *facts, struct ship_follow *f, const struct ship_block *block)
{
	int rc;

	if (block->head.type != COMPACT_FACTS || !(block->head.kinds & SHIP_WANTED))
		return 0;
	rc = compact_block_load(&facts->unpacker, f->fd, block->offset, &block->head);
	if (rc > 0)
		rc = ship_facts_lines(facts, &facts->unpacker.parts[COMPACT_LINES]);
	return rc < 0 ? rc : 0;
}

void ship_facts_release(struct ship_facts *facts)
{
	compact_unpacker_release(&facts->unpacker);
	sidecar_forget(&facts->lines);
	memset(facts, 0, sizeof(*facts));
}
