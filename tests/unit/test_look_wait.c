/* SPDX-License-Identifier: MIT */
/* test_look_wait.c - how a look at a program ends, and what is said about it. */
#include "look_wait.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static char why[200];

/* A child that ends with @status, by signal -@status, or not at all. */
static pid_t start_look(int status)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(60);
		if (status < 0)
			raise(-status);
		if (status == 99)
			pause();
		_exit(status);
	}
	return pid;
}

/* Wait for it; it stays a zombie, which the caller of look_wait() collects. */
static bool waits(pid_t pid, const bool *is_unwanted)
{
	bool ok;
	int status;

	snprintf(why, sizeof(why), "nothing");
	ok = look_wait(pid, is_unwanted, why, sizeof(why));
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return ok;
}

static void a_look_that_succeeds_has_no_reason(void)
{
	CHECK(waits(start_look(0), NULL));
	CHECK_STR(why, "nothing");
}

static void a_look_that_fails_says_how(void)
{
	CHECK(!waits(start_look(3), NULL));
	CHECK_STR(why, "the look at the program failed with exit status 3");
	CHECK(!waits(start_look(-SIGUSR1), NULL));
	CHECK_STR(why, "the look at the program was ended by signal 10");
}

static void a_look_that_is_not_needed_is_not_waited_for(void)
{
	bool is_unwanted = true;

	CHECK(!waits(start_look(99), &is_unwanted));
	CHECK_STR(why, "a signal ended the wait for the look at the program");
}

/* Signals that ask to stop are blocked, and pending. */
static void a_signal_ends_the_wait(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	bool is_unwanted = false;
	sigset_t set, before;
	size_t i;
	int got;

	sigemptyset(&set);
	for (i = 0; i < 3; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	for (i = 0; i < 3; i++) {
		raise(signals[i]);
		CHECK(!waits(start_look(99), &is_unwanted));
		CHECK_STR(why, "a signal ended the wait for the look at the program");
		CHECK_EQ(sigwait(&set, &got), 0);
		CHECK_EQ(got, signals[i]);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(void)
{
	RUN(a_look_that_succeeds_has_no_reason);
	RUN(a_look_that_fails_says_how);
	RUN(a_look_that_is_not_needed_is_not_waited_for);
	RUN(a_signal_ends_the_wait);
	return 0;
}
