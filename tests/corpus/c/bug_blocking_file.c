/* SPDX-License-Identifier: MIT */
/*
 * bug_blocking_file.c - the audit log is a named pipe that is written without O_NONBLOCK; its
 * reader is slow.
 *
 * corpus: bug
 * class: blocking
 * at: @before|@after
 * victims: audit
 * never: starvation, lost-wakeup
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "loop_sync.h"

static int audit_pipe[2];

static void *read_audit(void *arg)
{
	static char data[65536];

	(void)arg;
	for (;;) {
		nanosleep(&(struct timespec){ 0, 60000000 }, NULL);
		(void)!read(audit_pipe[0], data, sizeof(data));
	}
	return NULL;
}

/* A batch of entries that is larger than the pipe. */
static void append_entries(void)
{
	static char entries[150000];

	memset(entries, '-', sizeof(entries));
	(void)!write(audit_pipe[1], entries, sizeof(entries));
}

static void write_audit(void *arg)
{
	int i;

	(void)arg;
	for (i = 0;; i++) {
		fiber_sleep(15); /* @before */
		if (i % 8 == 7)
			append_entries();
		fiber_sleep(10); /* @after */
	}
}

/* Seven connections with a request every 5 ms: they are late while the other one blocks. */
static void serve_connection(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(5);
}

int main(void)
{
	int i;
	pthread_t thread;

	if (pipe(audit_pipe) != 0)
		abort();
	pthread_create(&thread, NULL, read_audit, NULL);

	for (i = 0; i < 7; i++)
		loop_spawn(serve_connection, NULL, "conn-%d", i);
	loop_spawn(write_audit, NULL, "audit");
	loop_run(1800);
	return 0;
}
