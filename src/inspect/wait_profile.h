/* SPDX-License-Identifier: MIT */
/*
 * wait_profile.h - where tasks spend their time, added up over many looks at a process.
 *
 *	struct wait_profile profile = { .period_ns = 100000000 };
 *
 *	place = wait_profile_place(&profile, &inspect_place);
 *	level = wait_profile_level(&profile, outer_level, place);
 *	wait_profile_add(&profile, level, PROFILE_WAITING, 1);
 *	wait_profile_end_look(&profile);
 *	...
 *	wait_profile_sort(&profile);
 *
 * A task that is seen in one look stands for one period of time.  The profile has copies of all
 * names: the inspection that they come from may be released.  Functions that return a number
 * return 0 if there is no memory; numbers begin with 1.
 */
#ifndef INSPECT_WAIT_PROFILE_H
#define INSPECT_WAIT_PROFILE_H

#include "base/strtab.h"
#include "base/u64map.h"
#include "inspect/inspection.h"

enum profile_state {
	PROFILE_WAITING,
	PROFILE_READY,   /* in the queue of its runtime */
	PROFILE_RUNNING, /* a thread runs it */
	PROFILE_STATES,
};

/* Strings are owned by the profile. */
struct profile_place {
	char *function;
	char *file;   /* NULL: unknown */
	char *awaits; /* NULL: unknown */
	uint32_t line;
	bool is_exact; /* false: the line of the function */
	bool is_initial;
};

struct profile_level {
	uint32_t parent; /* the level that awaits this one; 0: none */
	uint32_t place;
	uint32_t depth;
};

/* Tasks with the same stack and state. */
struct profile_stack {
	uint32_t level; /* the innermost one */
	enum profile_state state;
	uint64_t samples;   /* tasks, summed over the looks */
	uint64_t most;      /* tasks in one look, at most */
	uint64_t this_look; /* tasks in the look that is in progress */
};

/* What the looks did not see. */
struct profile_losses {
	uint64_t late;         /* looks left out: the one before took too long */
	uint64_t failed;       /* looks that failed */
	uint64_t changed;      /* tasks that ran while they were read, summed over the looks */
	uint64_t threads;      /* threads whose native stack is unknown, the same */
	uint64_t unnamed;      /* running coroutines whose frame is unknown, the same */
	uint64_t bytes_failed; /* memory that could not be read, the same */
	uint64_t reloads;      /* changes of the modules or of the program */
};

/* All zero but the period: empty. */
struct wait_profile {
	uint64_t period_ns;
	uint64_t looks;                /* that succeeded */
	uint64_t look_ns, look_max_ns; /* time that they took, in total and at most */
	uint64_t look_cpu_ns;          /* processor time, in total */
	uint64_t samples[PROFILE_STATES];
	struct profile_losses losses;
	struct profile_stack *stacks;
	size_t nr_stacks, room_stacks;
	struct profile_level *levels;
	size_t nr_levels, room_levels;
	struct profile_place *places;
	size_t nr_places, room_places;
	struct strtab place_keys;
	struct u64map by_level; /* parent and place to a level */
	struct u64map by_stack; /* level and state to 1 + number of a stack */
};

uint32_t wait_profile_place(struct wait_profile *p, const struct inspect_place *place);

/* @parent 0: an outermost level. */
uint32_t wait_profile_level(struct wait_profile *p, uint32_t parent, uint32_t place);

/* 0 or -ENOMEM. */
int wait_profile_add(struct wait_profile *p, uint32_t level, enum profile_state state,
		     uint64_t tasks);

/* Add the tasks of the look that is in progress to the sums, or forget them. */
void wait_profile_end_look(struct wait_profile *p);
void wait_profile_drop_look(struct wait_profile *p);

/* Sort the stacks, largest first; nothing may be added after it. */
void wait_profile_sort(struct wait_profile *p);

uint64_t wait_profile_samples(const struct wait_profile *p);

/* Tasks times seconds. */
double wait_profile_seconds(const struct wait_profile *p, uint64_t samples);

const struct profile_level *wait_profile_level_at(const struct wait_profile *p, uint32_t level);
const struct profile_place *wait_profile_place_at(const struct wait_profile *p, uint32_t level);

/* "waiting". */
const char *profile_state_name(enum profile_state state);

void wait_profile_release(struct wait_profile *p);

#endif
