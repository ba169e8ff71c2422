/* SPDX-License-Identifier: MIT */
/*
 * bug_woken_while_loop_sleeps.c - the loop goes once through its sessions and then sleeps in
 * epoll_wait() until the next timer.  A session that wakes one before it in the array leaves it
 * ready; when only the hour of the keep-alive is left, it never runs.
 *
 * corpus: bug
 * class: lost-wakeup|starvation
 * at: @stuck
 * victims: session-2
 * signal: TERM 2.0
 */
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_SESSIONS 8

/* A coroutine without a stack: its next step is a number. */
struct session {
	struct corotracer_coro trace;
	bool is_ready;
	int nr_steps;
	long due_ms;
};

static struct session sessions[NR_SESSIONS];

static long clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void session_wake(struct session *s, struct session *waker)
{
	corotracer_wake(&s->trace, waker ? &waker->trace : NULL);
	s->is_ready = true;
}

/* Forty rounds of chatter, fifty of session 6, whose last is a message to session 2. */
static void session_step(struct session *s, int number)
{
	corotracer_resume(&s->trace);
	s->is_ready = false;
	s->due_ms = clock_ms() + (++s->nr_steps < (number == 6 ? 50 : 40) ? 5 + number : 3600000);
	if (number == 6 && s->nr_steps % 10 == 0)
		session_wake(&sessions[2], s);
	corotracer_await(&s->trace, CTP_REASON_USER, s); /* @stuck */
}

static int next_timeout(void)
{
	long next = sessions[0].due_ms;
	int i;

	for (i = 1; i < NR_SESSIONS; i++) {
		if (sessions[i].due_ms < next)
			next = sessions[i].due_ms;
	}
	next -= clock_ms();
	return next < 0 ? 0 : (int)next;
}

int main(void)
{
	struct epoll_event ev;
	int epoll = epoll_create1(0), i;
	char name[32];

	corotracer_init();
	for (i = 0; i < NR_SESSIONS; i++) {
		snprintf(name, sizeof(name), "session-%d", i);
		corotracer_spawn(&sessions[i].trace, name, NULL);
		session_step(&sessions[i], i);
	}
	for (;;) {
		epoll_wait(epoll, &ev, 1, next_timeout());
		for (i = 0; i < NR_SESSIONS; i++) {
			if (sessions[i].due_ms <= clock_ms())
				session_wake(&sessions[i], NULL);
			if (sessions[i].is_ready)
				session_step(&sessions[i], i);
		}
	}
}
