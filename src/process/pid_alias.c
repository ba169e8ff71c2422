/* SPDX-License-Identifier: MIT */
/* pid_alias.c - a table of pids in another pid namespace. */
#include "process/pid_alias.h"

#include <stdbool.h>

#include <stddef.h>

#include "process/file_owner.h"

void pid_alias_set(struct pid_aliases *a, uint32_t inner, uint32_t outer)
{
	uint32_t i;

	if (!inner || inner == outer)
		return;
	for (i = 0; i < a->nr && a->inner[i] != inner; i++)
		;
	/* A number that is used again belongs to the newest process. */
	if (i == PID_ALIASES)
		i = outer % PID_ALIASES;
	a->inner[i] = inner;
	a->outer[i] = outer;
	if (i >= a->nr)
		a->nr = i + 1;
}

void pid_alias_add(struct pid_aliases *a, uint32_t outer)
{
	struct file_owner owner;
	struct err ignored;

	if (file_owner_of((pid_t)outer, &owner, &ignored) == 0)
		pid_alias_set(a, owner.inner, outer);
}

/* 0: not in the table. */
static uint32_t pid_alias_find(const struct pid_aliases *a, uint32_t inner)
{
	uint32_t i;

	for (i = 0; i < a->nr; i++) {
		if (a->inner[i] == inner)
			return a->outer[i];
	}
	return 0;
}

static bool pid_alias_is_own(const struct pid_aliases *a, uint32_t inner)
{
	uint32_t i;

	for (i = 0; i < PID_OWN; i++) {
		if (a->own[i] == inner)
			return true;
	}
	return false;
}

uint32_t pid_alias_outer(struct pid_aliases *a, uint32_t inner)
{
	uint32_t outer = a ? pid_alias_find(a, inner) : 0;

	if (outer || !a || !a->learn || pid_alias_is_own(a, inner))
		return outer ? outer : inner;
	a->learn(a->ctx);
	outer = pid_alias_find(a, inner);
	if (outer)
		return outer;
	a->own[a->next_own++ % PID_OWN] = inner;
	return inner;
}
