/* SPDX-License-Identifier: MIT */
/*
 * top_groups.h - the coroutines of a picture summed up: by kind, by site, or by what they wait for.
 */
#ifndef TOP_TOP_GROUPS_H
#define TOP_TOP_GROUPS_H

#include "analyze/histogram.h"
#include "base/strtab.h"
#include "top/top_rows.h"

enum top_grouping {
	TOP_BY_KIND,     /* names that differ in a number are one kind */
	TOP_BY_PLACE,    /* where they wait, or waited last */
	TOP_BY_RESOURCE, /* locks, channels and descriptors that they wait for */
};

struct top_group {
	const char *label;       /* owned by the table of names */
	uint32_t name;           /* its number there */
	uint64_t nr;             /* coroutines */
	uint64_t running, ready; /* of these */
	uint64_t waiting;
	double rate;
	struct histogram waits; /* how long those that wait have waited */
	struct top_looks looks;
	/* Of a resource: */
	uint64_t holder; /* id of the coroutine that took it last and has not released it; 0:
			    unknown */
	uint64_t resource;
	uint32_t pid;
	bool is_lock;
};

/* All zero: empty. */
struct top_groups {
	enum top_grouping by;
	struct top_group *at;
	size_t nr, room;
	struct strtab names;     /* of all groups so far */
	struct top_looks *looks; /* by number of the name */
	size_t looks_room;
	struct u64map numbers; /* name to 1 + index in at, of this picture */
};

/*
 * Sums up the chosen rows.  @is_new: the picture is new, and counts as a look.  Another grouping
 * than before starts again.  0 or -ENOMEM.
 */
int top_groups_make(struct top_groups *g, enum top_grouping by, const struct top_picture *p,
		    const struct top_rows *rows, struct top_places *places,
		    const struct top_choice *choice, bool is_new);
void top_groups_release(struct top_groups *g);

/* Size of "worker" in "worker-17". */
size_t top_kind_size(const char *name);

#endif
