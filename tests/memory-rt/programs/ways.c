/* SPDX-License-Identifier: MIT */
/*
 * ways.c - ways for a process to begin and to end.  ways HOW [ARGUMENT]
 *
 * In each of them the process that the test asks about makes 1000 writes of 2 bytes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned short table[1000];

static void work(void)
{
	int i;

	for (i = 0; i < 1000; i++)
		table[i] = (unsigned short)i;
}

static void forking(void)
{
	pid_t child;

	work();
	child = fork();
	work();
	if (child == 0)
		exit(0);
	waitpid(child, NULL, 0);
}

/* A fork without fork handlers: the child must not touch its parent's trace. */
static void raw_forking(void)
{
	long child;

	work();
	child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		work();
		syscall(SYS_exit_group, 0);
	}
	waitpid((pid_t)child, NULL, 0);
}

static void vforking(void)
{
	pid_t child = vfork();

	if (child == 0) {
		execlp("true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	work();
}

static void *keep_failing(void *unused)
{
	for (;;)
		execl("/nonexistent", "nonexistent", (char *)NULL);
	return unused;
}

/* Three threads ask for a complete file, again and again, until the process ends. */
static void exec_storm(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 3; i++)
		pthread_create(&thread, NULL, keep_failing, NULL);
	usleep(2000);
	work();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "fork")) {
		forking();
	} else if (!strcmp(how, "clone")) {
		raw_forking();
	} else if (!strcmp(how, "vfork")) {
		vforking();
	} else if (!strcmp(how, "_exit")) {
		work();
		_exit(3);
	} else if (!strcmp(how, "exec")) {
		work();
		execl(argv[0], argv[0], "exit", (char *)NULL);
	} else if (!strcmp(how, "exec-fails")) {
		work();
		execl("/nonexistent", "nonexistent", (char *)NULL);
		work();
	} else if (!strcmp(how, "exec-storm")) {
		exec_storm();
	} else if (!strcmp(how, "execvp")) {
		work();
		execvp(argc > 2 ? argv[2] : "true", argv + 2);
	} else if (!strcmp(how, "crash")) {
		work();
		raise(SIGSEGV);
	} else if (!strcmp(how, "kill")) {
		work();
		kill(getpid(), SIGKILL);
	} else if (!strcmp(how, "flood")) { /* until killed */
		puts("ready");
		fflush(stdout);
		for (;;)
			work();
	} else {
		work();
	}
	return 0;
}
