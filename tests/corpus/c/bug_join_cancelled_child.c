/* SPDX-License-Identifier: MIT */
/*
 * bug_join_cancelled_child.c - a time limit cancels the child and destroys it; only the normal end
 * of a child wakes its parent.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: parent-12
 */
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_PARENTS 60

struct pair {
	struct corotracer_coro parent, child;
	int due; /* the tick in which the child returns */
	int limit;
	bool is_running;
};

static struct pair pairs[NR_PARENTS];

static void pair_start(struct pair *p, int number, int tick)
{
	char name[32];

	snprintf(name, sizeof(name), "parent-%d", number);
	corotracer_spawn(&p->parent, name, NULL);
	corotracer_resume(&p->parent);
	snprintf(name, sizeof(name), "child-%d", number);
	corotracer_spawn(&p->child, name, &p->parent);
	corotracer_await(&p->parent, CTP_REASON_JOIN, corotracer_id(&p->child)); /* @stuck */
	corotracer_resume(&p->child);
	p->due = tick + (number == 12 ? 50 : 3 + number % 5);
	p->limit = tick + 20;
	p->is_running = true;
	corotracer_await(&p->child, CTP_REASON_USER, p);
}

static void pair_finish(struct pair *p)
{
	corotracer_wake(&p->child, NULL);
	corotracer_resume(&p->child);
	corotracer_wake(&p->parent, &p->child);
	corotracer_end(&p->child);
	corotracer_resume(&p->parent);
	corotracer_end(&p->parent);
	p->is_running = false;
}

static void pair_cancel(struct pair *p)
{
	corotracer_finish(&p->child, CTP_END_CANCELLED);
	corotracer_end(&p->child);
	p->is_running = false;
}

int main(void)
{
	int i, tick;

	corotracer_init();
	for (tick = 0; tick < 300; tick++) {
		if (tick % 5 == 0)
			pair_start(&pairs[tick / 5], tick / 5, tick);
		for (i = 0; i < NR_PARENTS; i++) {
			if (pairs[i].is_running && pairs[i].due == tick)
				pair_finish(&pairs[i]);
			else if (pairs[i].is_running && pairs[i].limit == tick)
				pair_cancel(&pairs[i]);
		}
		nanosleep(&(struct timespec){ 0, 6000000 }, NULL);
	}
	return 0;
}
