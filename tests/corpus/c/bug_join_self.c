/* SPDX-License-Identifier: MIT */
/*
 * bug_join_self.c - a worker that shuts the group down joins every member of it, itself too.
 *
 * corpus: bug
 * class: deadlock|lost-wakeup
 * at: @stuck
 * victims: member-3
 */
#include "loop_sync.h"

#define NR_MEMBERS 6

static struct fiber *members[NR_MEMBERS];
static bool is_ending;

static void end_group(void)
{
	int i;

	is_ending = true;
	for (i = 0; i < NR_MEMBERS; i++)
		fiber_join(members[i]); /* @stuck */
}

static void run_member(void *arg)
{
	int number = (int)(intptr_t)arg, round;

	for (round = 0; !is_ending; round++) {
		fiber_sleep((unsigned)(3 + number));
		if (number == 3 && round == 50)
			end_group();
	}
}

static void poll_sensor(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(15);
}

int main(void)
{
	int i;

	for (i = 0; i < NR_MEMBERS; i++)
		members[i] = loop_spawn(run_member, (void *)(intptr_t)i, "member-%d", i);
	loop_spawn(poll_sensor, NULL, "sensor");
	loop_run(1800);
	return 0;
}
