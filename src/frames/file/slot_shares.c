/* SPDX-License-Identifier: MIT */
/* slot_shares.c - count how often texts occur. */
#include "frames/file/slot_shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int shares_add(struct shares *s, const char *text, size_t size)
{
	char copy[SHARES_TEXT + 1];
	int64_t number;

	if (!s->counts)
		s->counts = calloc(SHARES_MAX, sizeof(*s->counts));
	if (!s->counts)
		return -ENOMEM;
	size = size < SHARES_TEXT ? size : SHARES_TEXT;
	memcpy(copy, text, size);
	copy[size] = '\0';
	number = s->texts.nr < SHARES_MAX ? strtab_intern(&s->texts, copy)
					  : strtab_find(&s->texts, copy);
	if (number == -ENOMEM)
		return -ENOMEM;
	s->nr++;
	if (number < 0)
		s->others++;
	else
		s->counts[number]++;
	return 0;
}

static bool is_before(const struct share *a, const struct share *b)
{
	return a->nr != b->nr ? a->nr > b->nr : strcmp(a->text, b->text) < 0;
}

size_t shares_top(const struct shares *s, struct share *top, size_t max)
{
	size_t i, at, nr = 0;

	for (i = 0; i < s->texts.nr; i++) {
		struct share one = { strtab_text(&s->texts, i), s->counts[i] };

		if (!one.nr)
			continue;
		for (at = nr; at > 0 && is_before(&one, &top[at - 1]); at--) {
			if (at < max)
				top[at] = top[at - 1];
		}
		if (at < max)
			top[at] = one;
		nr += nr < max;
	}
	return nr;
}

size_t shares_different(const struct shares *s)
{
	size_t i, nr = 0;

	for (i = 0; i < s->texts.nr; i++)
		nr += s->counts[i] > 0;
	return nr;
}

void shares_reset(struct shares *s)
{
	if (s->counts)
		memset(s->counts, 0, SHARES_MAX * sizeof(*s->counts));
	if (s->texts.nr >= SHARES_MAX)
		strtab_release(&s->texts);
	s->nr = s->others = 0;
}

void shares_release(struct shares *s)
{
	strtab_release(&s->texts);
	free(s->counts);
	*s = (struct shares){ 0 };
}
