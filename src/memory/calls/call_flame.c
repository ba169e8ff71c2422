/* SPDX-License-Identifier: MIT */
/* call_flame.c - the frames of a profile by function alone, and as folded text. */
#include "memory/calls/call_flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- frames -------------------------------------------------------------------- */

/* The number of the frame of @function in @parent; UINT32_MAX: no memory. */
static uint32_t flame_frame(struct call_flame *f, struct u64map *known, uint32_t parent,
			    uint32_t function)
{
	uint64_t *at = u64map_at(known, (uint64_t)parent << 32 | function);

	if (!at)
		return UINT32_MAX;
	if (!*at) {
		f->frames[f->nr++] = (struct profile_frame){ .parent = parent,
							     .function = function,
							     .place = UINT32_MAX };
		*at = f->nr;
	}
	return (uint32_t)*at - 1;
}

int call_flame_make(struct call_flame *f, const struct call_profile *p)
{
	uint32_t *to = calloc(p->nr_frames, sizeof(*to)), i;
	struct u64map known = { 0 };
	int rc = 0;

	*f = (struct call_flame){ .profile = p,
				  .frames = calloc(p->nr_frames, sizeof(*f->frames)) };
	if (!to || !f->frames)
		rc = -ENOMEM;
	for (i = 0; !rc && i < p->nr_frames; i++) {
		const struct profile_frame *from = &p->frames[i];

		to[i] = i ? flame_frame(f, &known, to[from->parent], from->function) : f->nr++;
		if (to[i] == UINT32_MAX) {
			rc = -ENOMEM;
			break;
		}
		f->frames[to[i]].calls += from->calls;
		call_counts_add(&f->frames[to[i]].self, &from->self);
		call_counts_add(&f->frames[to[i]].whole, &from->whole);
	}
	u64map_release(&known);
	free(to);
	return rc;
}

void call_flame_release(struct call_flame *f)
{
	free(f->frames);
	f->frames = NULL;
	f->nr = 0;
}

uint64_t call_flame_measure(const struct call_flame *f, const struct call_counts *c,
			    unsigned measure)
{
	switch (measure) {
	case CALL_MEASURE_COST:
		return call_profile_cost(f->profile, c);
	case CALL_MEASURE_ACCESSES:
		return c->n[CALL_READS] + c->n[CALL_WRITES];
	case CALL_MEASURE_READS:
		return c->n[CALL_READS];
	case CALL_MEASURE_WRITES:
		return c->n[CALL_WRITES];
	default:
		return call_counts_misses(c, measure - CALL_MEASURE_LEVEL);
	}
}

/* ---- folded text ------------------------------------------------------------------ */

/* A name without what separates the fields of a line. */
static void flame_put_name(FILE *out, const char *name)
{
	char safe[600], *at;

	text_safe(name, safe, sizeof(safe));
	for (at = safe; *at; at++) {
		if (*at == ';')
			*at = ':';
	}
	fputs(safe, out);
}

static void flame_put_stack(const struct call_flame *f, uint32_t frame, FILE *out)
{
	uint32_t path[2 * CALL_DEPTH_MAX + 2], nr = 0;

	for (; frame && nr < 2 * CALL_DEPTH_MAX + 2; frame = f->frames[frame].parent)
		path[nr++] = f->frames[frame].function;
	while (nr--) {
		flame_put_name(out, f->profile->functions[path[nr]].name);
		if (nr)
			putc(';', out);
	}
}

int call_flame_write(const struct call_flame *f, unsigned measure, FILE *out)
{
	uint32_t i;

	for (i = 1; i < f->nr; i++) {
		uint64_t value = call_flame_measure(f, &f->frames[i].self, measure);

		if (!value)
			continue;
		flame_put_stack(f, i, out);
		fprintf(out, " %llu\n", (unsigned long long)value);
	}
	return ferror(out) ? -EIO : 0;
}
