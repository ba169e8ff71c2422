// SPDX-License-Identifier: MIT
/*
 * clean_fork_in_service.c - a service that saves its state from a forked child, as databases do:
 * the child has copies of all fibers and runs none of them.
 *
 * corpus: clean
 * never: deadlock, lost-wakeup, abandoned-lock, never-run, resume-after-end, double-resume
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fiber_kit.h"

static struct fk_mutex table;
static long rows;

static void client(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < 90; i++) {
		fk_lock(&table);
		rows++;
		if (i % 10 == 0)
			fk_sleep(1);
		fk_unlock(&table);
		fk_sleep(9 + me);
	}
}

static void saver(void *arg)
{
	int status;
	pid_t pid;

	(void)arg;
	for (int i = 0; i < 4; i++) {
		fk_sleep(250);
		fk_lock(&table);
		pid = fork();
		if (pid == 0) {
			usleep(30000);
			_exit(rows > 0 ? 0 : 1);
		}
		fk_unlock(&table);
		while (waitpid(pid, &status, WNOHANG) == 0)
			fk_sleep(5);
	}
}

int main(void)
{
	char name[16];

	fk_setup(1, FK_FIFO);
	for (long i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "client-%ld", i);
		fk_detach(fk_spawn(name, client, (void *)i));
	}
	fk_detach(fk_spawn("saver", saver, NULL));
	fk_run(5000);
	return 0;
}
