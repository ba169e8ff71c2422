/* SPDX-License-Identifier: MIT */
/*
 * flight_target.c - programs to inspect while they run, or after they crashed.
 *
 *	flight_target stuck           coroutines with various wait reasons; prints "ready", sleeps
 *	flight_target flood T N       T threads with 16 coroutines each, N transitions a thread as
 *	                              fast as they can (0: until SIGTERM); prints how many in all
 *	flight_target later T N       the same, once there is a byte on stdin
 *	flight_target churn N         N coroutines that are created, run and destroyed; one stays
 *
 * SIGUSR2 is reported at once, and counted at the end.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COROUTINES 16

static volatile sig_atomic_t over, usr2;

static void on_signal(int sig)
{
	if (sig != SIGUSR2)
		over = 1;
	else if (++usr2)
		(void)!write(STDOUT_FILENO, "usr2\n", 5);
}

static void ready(void)
{
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
}

/* ---- stuck ------------------------------------------------------------------------ */

static int do_stuck(char **argv)
{
	static struct corotracer_coro reader, locker, woken, runner, fresh, gone;

	(void)argv;
	corotracer_begin(&runner, "runner");
	corotracer_resume(&runner);
	corotracer_spawn(&reader, "reader", &runner);
	corotracer_resume(&reader);
	corotracer_await(&reader, CTP_REASON_IO_READ, 7); /* the reader waits here */
	usleep(20000);
	corotracer_spawn(&locker, "locker", &runner);
	corotracer_resume(&locker);
	corotracer_await(&locker, CTP_REASON_MUTEX, 0xabcdef00);
	corotracer_begin(&woken, "woken");
	corotracer_resume(&woken);
	corotracer_suspend(&woken, (void *)(uintptr_t)0x1234);
	corotracer_wake(&woken, &runner);
	corotracer_begin(&gone, "gone");
	corotracer_resume(&gone);
	corotracer_end(&gone);
	corotracer_begin(&fresh, "a name of more than thirty-two bytes is cut");
	ready();
	while (!over)
		pause();
	return 0;
}

/* ---- flood ------------------------------------------------------------------------- */

static long per_thread;
static unsigned long made[64];

static void *flood(void *arg)
{
	unsigned long *count = arg, n = 0;
	struct corotracer_coro cos[COROUTINES];
	int i;

	for (i = 0; i < COROUTINES; i++)
		corotracer_begin(&cos[i], "flooder");
	while (!over && (!per_thread || n < (unsigned long)per_thread)) {
		struct corotracer_coro *co = &cos[n / 2 % COROUTINES];

		if (n % 2)
			corotracer_suspend(co, co);
		else
			corotracer_resume(co);
		n++;
	}
	for (i = 0; i < COROUTINES; i++)
		corotracer_end(&cos[i]);
	*count = n;
	return NULL;
}

static int do_flood(char **argv)
{
	int nr = argv[2] ? atoi(argv[2]) : 1, i;
	unsigned long sum = 0;
	char go;
	pthread_t threads[64];

	per_thread = argv[2] && argv[3] ? atol(argv[3]) : 0;
	corotracer_init();
	ready();
	if (!strcmp(argv[1], "later") && read(STDIN_FILENO, &go, 1) != 1)
		return 1;
	for (i = 0; i < nr && i < 64; i++)
		pthread_create(&threads[i], NULL, flood, &made[i]);
	for (i = 0; i < nr && i < 64; i++) {
		pthread_join(threads[i], NULL);
		sum += made[i];
	}
	printf("made %lu usr2 %d\n", sum, usr2);
	return 0;
}

/* ---- churn --------------------------------------------------------------------------- */

static int do_churn(char **argv)
{
	long nr = argv[2] ? atol(argv[2]) : 1000, i;
	struct corotracer_coro stays, comes;

	corotracer_begin(&stays, "stays");
	corotracer_resume(&stays);
	corotracer_suspend(&stays, &stays);
	for (i = 0; i < nr; i++) {
		char name[32];

		snprintf(name, sizeof(name), "guest %ld", i);
		corotracer_begin(&comes, name);
		corotracer_resume(&comes);
		corotracer_suspend(&comes, &comes);
		corotracer_end(&comes);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_handler = on_signal;
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGUSR2, &act, NULL);
	alarm(600); /* if the test does not end it */
	if (argc > 1 && !strcmp(argv[1], "stuck"))
		return do_stuck(argv);
	if (argc > 1 && (!strcmp(argv[1], "flood") || !strcmp(argv[1], "later")))
		return do_flood(argv);
	if (argc > 1 && !strcmp(argv[1], "churn"))
		return do_churn(argv);
	return 2;
}
