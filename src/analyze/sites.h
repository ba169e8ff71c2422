/* SPDX-License-Identifier: MIT */
/* sites.h - the sites that a trace declares, by their id. */
#ifndef ANALYZE_SITES_H
#define ANALYZE_SITES_H

#include "base/strtab.h"
#include "base/u64map.h"
#include "trace/trace_site.h"

struct sites {
	struct u64map numbers; /* id to 1 + index */
	struct site_entry {
		uint32_t line;
		uint32_t file, function; /* index in texts */
	} * entries;
	size_t nr, room;
	struct strtab texts;
	struct site_table places;
};

/* 0 or -ENOMEM. */
int sites_add(struct sites *s, const struct trace_site *site);

/* False: the trace does not declare the site.  The strings are valid until the release. */
bool sites_find(const struct sites *s, uint32_t id, struct trace_site *out);

/* The declared site of this line; false: none is declared. */
bool sites_find_line(const struct sites *s, const char *file, uint32_t line, const char *function,
		     struct trace_site *out);

void sites_release(struct sites *s);

#endif
