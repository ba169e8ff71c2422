/* SPDX-License-Identifier: MIT */
/*
 * quick.c - a program that saves its frames as soon as it is attached, and ends.
 *
 *	quick HOW FRAMES
 *
 * HOW it ends: return (from main), exit (in a second thread), _exit, kill (itself), exec
 * (another program), leader (the main thread ends, and the second one goes on for longer than a
 * collector waits between two looks at the buffer's owner), late (saves one more frame in a
 * destructor that runs after those of the generated code).
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ppt-Quick.h"

static const char *how = "";
static unsigned long frames;

static void save(uint64_t n)
{
	struct ppt_Quick_f f = { 0 };

	f.n = n;
	ppt_Quick_f_snapshot_took_start(&f);
	ppt_Quick_f_snapshot_took_end(&f);
	ppt_Quick_f_save(&f);
}

/* Destructors run from the highest priority number to the lowest. */
__attribute__((destructor(101))) static void save_late(void)
{
	struct timespec wait = { 0, 50000000 };

	if (strcmp(how, "late") != 0)
		return;
	save(0);
	nanosleep(&wait, NULL); /* the collector polls meanwhile */
}

static void *work(void *arg)
{
	struct timespec pause = { 0, 15000000 };
	unsigned long n;

	(void)arg;
	for (n = 1; n <= frames; n++) {
		save(n);
		if (!strcmp(how, "leader"))
			nanosleep(&pause, NULL);
	}
	if (!strcmp(how, "exit"))
		exit(0);
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "exec"))
		execl("/bin/sleep", "sleep", "20", (char *)NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec wait = { 0, 20000 };
	pthread_t thread;

	how = argc > 1 ? argv[1] : "return";
	frames = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	puts("ready");
	fflush(stdout);
	while (!ppt_Quick_attached())
		nanosleep(&wait, NULL);
	if (strcmp(how, "exit") != 0 && strcmp(how, "leader") != 0) {
		work(NULL);
		return 0;
	}
	pthread_create(&thread, NULL, work, NULL);
	if (!strcmp(how, "leader"))
		pthread_exit(NULL);
	pthread_join(thread, NULL);
	return 0;
}
