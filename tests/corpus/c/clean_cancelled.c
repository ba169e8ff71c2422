/* SPDX-License-Identifier: MIT */
/*
 * clean_cancelled.c - of two replicas the faster one is used; the other request is cancelled while
 * it waits, and its frame is destroyed later.
 *
 * corpus: clean
 */
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_PAIRS 60

struct replica {
	struct corotracer_coro trace;
	int due; /* tick of its reply */
	bool is_over;
};

static struct replica replicas[NR_PAIRS][2];

static void replica_start(struct replica *r, int pair, char side, int due)
{
	char name[32];

	snprintf(name, sizeof(name), "request-%d%c", pair, side);
	corotracer_spawn(&r->trace, name, NULL);
	corotracer_resume(&r->trace);
	r->due = due;
	corotracer_await(&r->trace, CTP_REASON_USER, r);
}

static void replica_reply(struct replica *r, struct replica *other)
{
	corotracer_wake(&r->trace, NULL);
	corotracer_resume(&r->trace);
	r->is_over = other->is_over = true;
	corotracer_finish(&other->trace, CTP_END_CANCELLED);
	corotracer_done(&r->trace);
}

int main(void)
{
	int i, tick;

	corotracer_init();
	for (tick = 0; tick < 250; tick++) {
		if (tick % 4 == 0 && tick / 4 < NR_PAIRS) {
			i = tick / 4;
			replica_start(&replicas[i][0], i, 'a', tick + 2 + i % 7);
			replica_start(&replicas[i][1], i, 'b', tick + 2 + i % 5);
		}
		for (i = 0; i < NR_PAIRS; i++) {
			struct replica *r = replicas[i];

			if (r[0].due == tick && tick && !r[0].is_over)
				replica_reply(&r[0], &r[1]);
			else if (r[1].due == tick && tick && !r[1].is_over)
				replica_reply(&r[1], &r[0]);
			else if (r[0].is_over && tick == r[0].due + 20) {
				corotracer_end(&r[0].trace);
				corotracer_end(&r[1].trace);
			}
		}
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	}
	for (i = 0; i < NR_PAIRS; i++) {
		corotracer_end(&replicas[i][0].trace);
		corotracer_end(&replicas[i][1].trace);
	}
	return 0;
}
