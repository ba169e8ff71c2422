/* SPDX-License-Identifier: MIT */
/* top_n.h - the few coroutines with the most lost events. */
#ifndef BASE_TOP_N_H
#define BASE_TOP_N_H

#include <stdint.h>
#include <stdio.h>

#include <corotracer/ctp.h>

#define WORST_MAX 5

struct worst_coroutine {
	uint32_t station; /* TRACE_NO_STATION: none */
	uint64_t probe_id, written, lost;
	const char *name; /* NULL or "": none, or no longer known */
};

/* All zero: an empty list. */
struct worst {
	uint32_t nr;
	struct worst_coroutine at[WORST_MAX]; /* most lost first; name points into names[] */
	char names[WORST_MAX][CTP_EXT_NAME_SIZE + 1];
};

static inline void top_n_worst_place(struct worst *w, uint32_t to, const struct worst_coroutine *co)
{
	w->at[to] = *co;
	snprintf(w->names[to], sizeof(w->names[to]), "%s", co->name ? co->name : "");
	w->at[to].name = w->names[to];
}

static inline void worst_note(struct worst *w, const struct worst_coroutine *co)
{
	uint32_t at = w->nr < WORST_MAX ? w->nr++ : WORST_MAX;

	while (at > 0 && w->at[at - 1].lost < co->lost) {
		if (at < WORST_MAX)
			top_n_worst_place(w, at, &w->at[at - 1]);
		at--;
	}
	if (at < WORST_MAX)
		top_n_worst_place(w, at, co);
}

/* The copies must point to their own names[]. */
static inline void worst_copy(struct worst *to, const struct worst *from)
{
	uint32_t i;

	*to = *from;
	for (i = 0; i < to->nr; i++)
		to->at[i].name = to->names[i];
}

#endif
