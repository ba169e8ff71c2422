/* SPDX-License-Identifier: MIT */
/* section_slice_cpu.c - columns of the sections "slices/N" about processor time. */
#include "view/section_slice_cpu.h"

#include <errno.h>

/* A slice with more waits has only their sums. */
#define SLICE_WAITS 1000u

struct wait_list {
	uint64_t at; /* end of the last wait, or begin of the slice */
	uint64_t after[SLICE_WAITS], ns[SLICE_WAITS];
	size_t nr;
};

static void wait_list_take(void *ctx, const struct time_span *span, bool is_blocked)
{
	struct wait_list *list = ctx;

	if (list->nr < SLICE_WAITS) {
		list->after[list->nr] = span->from_ts - list->at;
		list->ns[list->nr] = (span->to_ts - span->from_ts) << 1 | is_blocked;
	}
	list->nr++;
	list->at = span->to_ts;
}

static size_t cpu_columns_add_waits(struct cpu_columns *to, const struct view *v,
				    const struct slice *slice)
{
	const struct model *m = view_model(v);
	struct wait_list list;
	size_t i;

	list.at = slice->start;
	list.nr = 0;
	switch_times_each(&v->analysis->switches, m->thread_counts[slice->thread].tid, slice->start,
			  slice->end, wait_list_take, &list);
	if (list.nr > SLICE_WAITS)
		return 0;
	for (i = 0; i < list.nr; i++) {
		bytes_add_varint(&to->wait_after, list.after[i]);
		bytes_add_varint(&to->wait_ns, list.ns[i]);
	}
	to->nr_waits += list.nr;
	return list.nr;
}

bool cpu_columns_add(struct cpu_columns *to, const struct view *v, const struct slice *slice)
{
	const char *call;
	struct cpu_sums sums = slice_cpu_of(v, slice, &call);
	int64_t number = call ? strtab_intern(&to->calls, call) : -1;
	bool has_waits = sums.queued_ns + sums.blocked_ns > 0;

	if (call && number < 0)
		to->error = -ENOMEM;
	bytes_add_varint(&to->queued, sums.queued_ns);
	bytes_add_varint(&to->blocked, sums.blocked_ns);
	bytes_add_varint(&to->call, (uint64_t)(number + 1));
	bytes_add_varint(&to->waits, has_waits ? cpu_columns_add_waits(to, v, slice) : 0);
	return sums.slices > 0;
}

int cpu_columns_put(struct cpu_columns *from, struct view_columns *c, size_t rows)
{
	struct bytes *const all[] = { &from->queued, &from->blocked,    &from->call,
				      &from->waits,  &from->wait_after, &from->wait_ns };
	static const char *const names[] = { "queued", "blocked",    "call",
					     "waits",  "wait_after", "wait_ns" };
	size_t i;

	jw_key(&c->header, "calls");
	jw_array_begin(&c->header);
	for (i = 0; i < from->calls.nr; i++)
		jw_string(&c->header, strtab_text(&from->calls, i));
	jw_array_end(&c->header);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		columns_add_bytes(c, names[i], COLUMN_V, all[i], i < 4 ? rows : from->nr_waits);
		bytes_release(all[i]);
	}
	strtab_release(&from->calls);
	return from->error;
}
