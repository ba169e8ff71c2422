/* SPDX-License-Identifier: MIT */
/* report_group.c - texts about one group of findings that several forms of a report share. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "analyze/report.h"
#include "base/text.h"

const char *report_evidence(const struct report *r, const struct group *g, unsigned i, char *buf,
			    size_t size)
{
	const struct evidence *e = &g->finding.evidence[i];
	struct report_place where;

	if (i >= g->finding.nr_evidence)
		return NULL;
	if (e->site || e->addr) {
		report_place_of(r, g->has_coro ? g->example.pid : 0, e->site, e->addr, &where);
		snprintf(buf, size, "%s at %s", e->text, where.text);
	} else {
		snprintf(buf, size, "%s", e->text);
	}
	return buf;
}

const char *report_hint(const struct group *g)
{
	return g->finding.hint[0] ? g->finding.hint : g->detector->advice;
}

enum confidence report_confidence_of(const struct group *g, const struct affected *most_certain,
				     const struct affected *co)
{
	if (co->confidence == most_certain->confidence || co->confidence > g->confidence)
		return g->confidence;
	return (enum confidence)co->confidence;
}

/* ---- names of coroutines -------------------------------------------------- */

#define NAME_MAX_BYTES 60

struct name_list {
	char *buf;
	size_t size, used;
	unsigned nr;
};

static void name_list_add(struct name_list *list, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void name_list_add(struct name_list *list, const char *fmt, ...)
{
	va_list args;
	int nr;

	va_start(args, fmt);
	nr = vsnprintf(list->buf + list->used, list->size - list->used, fmt, args);
	va_end(args);
	if (nr > 0)
		list->used += (size_t)nr < list->size - list->used ? (size_t)nr
								   : list->size - list->used - 1;
}

/* Bytes of a name that are shown: up to NAME_MAX_BYTES, not cut inside a character. */
static int name_size(const char *name)
{
	int size = (int)strnlen(name, NAME_MAX_BYTES);

	while (name[size] && size > 0 && ((unsigned char)name[size] & 0xc0) == 0x80)
		size--;
	return size;
}

static void name_list_put(struct name_list *list, const struct report *r, const struct affected *co)
{
	const struct model *m = &r->analysis->model;

	name_list_add(list, "%s%" PRIu64, list->nr++ ? ", " : "", co->probe_id);
	if (co->name) {
		const char *name = strtab_text(&m->names, co->name - 1);
		int size = name_size(name);

		name_list_add(list, " '%.*s%s'", size, name, name[size] ? "..." : "");
	}
}

/*
 * Add up to @max names of the coroutines that the group is sure about (or, !@is_sure, of the
 * others).  Returns how many there are.
 */
static uint32_t name_list_of(struct name_list *list, const struct report *r, const struct group *g,
			     const struct affected *const *all, bool is_sure, unsigned max)
{
	uint32_t i, nr = 0;

	list->nr = 0;
	for (i = 0; i < g->affected.nr; i++) {
		if ((report_confidence_of(g, all[0], all[i]) == g->confidence) != is_sure)
			continue;
		if (nr++ < max)
			name_list_put(list, r, all[i]);
	}
	return nr;
}

static void name_list_more(struct name_list *list, uint64_t nr)
{
	char count[TEXT_SIZE];

	if (nr)
		name_list_add(list, " and %s more", text_count(count, nr));
}

bool report_names(const struct report *r, const struct group *g, unsigned max, char *buf,
		  size_t size)
{
	const struct affected **all = affected_sorted(&r->analysis->findings.affected,
						      &g->affected);
	struct name_list list = { .buf = buf, .size = size };
	uint32_t sure, others = 0, i;

	buf[0] = '\0';
	if (!all)
		return false;
	for (i = 0; i < g->affected.nr; i++)
		others += report_confidence_of(g, all[0], all[i]) != g->confidence;
	sure = name_list_of(&list, r, g, all, true, max);
	name_list_more(&list, sure - list.nr + (others ? 0 : g->affected.omitted));
	if (others) {
		name_list_add(&list, "; less sure: ");
		name_list_of(&list, r, g, all, false, max);
		name_list_more(&list, others - list.nr + g->affected.omitted);
	}
	return true;
}
