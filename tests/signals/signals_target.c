/* SPDX-License-Identifier: MIT */
/*
 * signals_target.c - coroutines of a C program that work for requests of a user.
 *
 *	signals_target WAITS MICROSECONDS
 *
 * Coroutine "request" has a traceparent and creates "helper", which has none of its own.  Both wait
 * WAITS times, that long.  "worker" has no traceparent.  "stuck" waits until the end.  Prints
 *"ready" and goes on when its standard input ends.
 */
#include <corotracer/corotracer.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char traceparent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
static const char second[] = "00-11111111111111111111111111111111-2222222222222222-00";

static void wait_once(struct corotracer_coro *co, struct corotracer_coro *waker, useconds_t us)
{
	corotracer_await(co, CTP_REASON_TIMER, us);
	usleep(us);
	corotracer_wake(co, waker);
	corotracer_resume(co);
}

int main(int argc, char **argv)
{
	struct corotracer_coro request, helper, worker, stuck;
	int i, waits = argc > 1 ? atoi(argv[1]) : 3;
	useconds_t us = argc > 2 ? (useconds_t)atoi(argv[2]) : 100;

	corotracer_init();
	corotracer_spawn(&request, "request", NULL);
	corotracer_resume(&request);
	corotracer_set_traceparent(&request, traceparent);
	corotracer_spawn(&helper, "helper", &request);
	corotracer_resume(&helper);
	corotracer_spawn(&worker, "worker", NULL);
	corotracer_resume(&worker);
	corotracer_spawn(&stuck, "stuck", NULL);
	corotracer_resume(&stuck);
	corotracer_set_traceparent(&stuck, second);
	corotracer_await(&stuck, CTP_REASON_CHANNEL_RECV, 7);
	for (i = 0; i < waits; i++) {
		wait_once(&request, NULL, us);
		wait_once(&helper, &request, us);
		wait_once(&worker, NULL, us);
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	corotracer_end(&helper);
	corotracer_set_traceparent(&request, NULL);
	wait_once(&request, NULL, us);
	corotracer_end(&request);
	corotracer_end(&worker);
	return 0;
}
