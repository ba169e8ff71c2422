/* SPDX-License-Identifier: MIT */
/*
 * clean_reused_pool.c - the structs of coroutines are reused for the next request, and so are their
 * addresses; some stay in the pool.
 *
 * corpus: clean
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_SLOTS 12

struct request {
	struct corotracer_coro trace;
	int steps_left;
};

static struct request slots[NR_SLOTS];

static struct request *request_start(int number)
{
	char name[32];
	int i;

	for (i = 0; i < NR_SLOTS; i++) {
		if (slots[i].steps_left)
			continue;
		memset(&slots[i], 0, sizeof(slots[i]));
		snprintf(name, sizeof(name), "request-%d", number);
		corotracer_spawn(&slots[i].trace, name, NULL);
		slots[i].steps_left = 3 + number % 5;
		return &slots[i];
	}
	return NULL;
}

static void request_step(struct request *r)
{
	corotracer_wake(&r->trace, NULL);
	corotracer_resume(&r->trace);
	if (--r->steps_left == 0)
		corotracer_end(&r->trace);
	else
		corotracer_await(&r->trace, CTP_REASON_USER, r);
}

int main(void)
{
	int i, tick, number = 0;

	corotracer_init();
	for (tick = 0; tick < 300; tick++) {
		if (tick < 280 && request_start(number))
			number++;
		for (i = 0; i < NR_SLOTS; i++) {
			if (slots[i].steps_left)
				request_step(&slots[i]);
		}
		nanosleep(&(struct timespec){ 0, 4000000 }, NULL);
	}
	return 0;
}
