/* SPDX-License-Identifier: MIT */
/* timeline_marks.h - build the arguments of a slice or an instant. */
#ifndef EXPORT_TIMELINE_MARKS_H
#define EXPORT_TIMELINE_MARKS_H

#include "export/timeline.h"

static inline void add_arg(struct timeline_mark *m, struct timeline_arg arg)
{
	if (m->nr_args < TIMELINE_ARGS_MAX)
		m->args[m->nr_args++] = arg;
}

static inline void arg_number(struct timeline_mark *m, enum timeline_key key, uint64_t number)
{
	add_arg(m, (struct timeline_arg){ .key = key, .number = number });
}

/* For values where 0 means none. */
static inline void arg_if(struct timeline_mark *m, enum timeline_key key, uint64_t number)
{
	if (number)
		arg_number(m, key, number);
}

static inline void arg_text(struct timeline_mark *m, enum timeline_key key, const char *text)
{
	if (text)
		add_arg(m, (struct timeline_arg){ .key = key, .type = ARG_TEXT, .text = text });
}

static inline void arg_true(struct timeline_mark *m, enum timeline_key key, bool is)
{
	if (is)
		add_arg(m, (struct timeline_arg){ .key = key, .type = ARG_TRUE });
}

static inline void arg_pointer(struct timeline_mark *m, enum timeline_key key, uint64_t number)
{
	if (number)
		add_arg(m,
			(struct timeline_arg){ .key = key, .type = ARG_POINTER, .number = number });
}

static inline void arg_resource(struct timeline_mark *m, const struct trace_event *ev)
{
	if (ev->flags & TRACE_HAS_RESOURCE || ev->resource)
		arg_number(m, KEY_RESOURCE, ev->resource);
}

/* The array is not cleared, for speed: an event creates several of these. */
static inline void mark_init(struct timeline *tl, struct timeline_mark *m, enum timeline_word word,
			     enum timeline_category category)
{
	m->name = &tl->words[word];
	m->category = category;
	m->flow = 0;
	m->flow_ends = false;
	m->site = 0;
	m->frame = NULL;
	m->nr_args = m->nr_fields = 0;
}

static inline void mark_site(const struct timeline *tl, struct timeline_mark *m, uint32_t site)
{
	m->site = site && timeline_site(tl, site) ? site : 0;
}

#endif
