/* SPDX-License-Identifier: MIT */
/*
 * test_why_launch.c - programs that `why -- CMD` starts: when one hangs, how it ends, and that none
 * is left.
 *
 * Time is the test's: it passes only while the tool sleeps.
 */
#include "why_launch.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "captured.h"
#include "count_open.h"

static uint64_t now; /* of the test's clock */
static unsigned nr_sleeps;
static unsigned kill_at;   /* the sleep at which the program is killed; 0: none */
static unsigned really_us; /* what a sleep takes of real time */
static unsigned first_really_us;
static pid_t pid;

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){ (time_t)(now / NS_PER_SEC), (long)(now % NS_PER_SEC) };
	return 0;
}

int __real_nanosleep(const struct timespec *t, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *t, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *t, struct timespec *rest)
{
	struct timespec real = { .tv_nsec = 1000L * (nr_sleeps ? really_us : first_really_us) };

	(void)rest;
	now += (uint64_t)t->tv_sec * NS_PER_SEC + (uint64_t)t->tv_nsec;
	CHECK(++nr_sleeps < 100000);
	if (nr_sleeps == kill_at)
		kill(pid, SIGKILL);
	return __real_nanosleep(&real, NULL);
}

static uint64_t begin_ns;

static void time_begin(unsigned first_us, unsigned us)
{
	now = begin_ns = 1000 * NS_PER_SEC;
	nr_sleeps = kill_at = 0;
	first_really_us = first_us;
	really_us = us;
}

static uint64_t passed_ms(void)
{
	return (now - begin_ns) / NS_PER_MS;
}

static void check_none_left(void)
{
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
}

/* "sh -c @script" */
static enum why_launch_result launch(const char *script, struct why_launch_options o, int *status)
{
	char sh[] = "sh", c[] = "-c", text[512];
	char *argv[] = { sh, c, text, NULL };

	snprintf(text, sizeof(text), "%s", script);
	*status = -1;
	return why_launch(argv, &o, &pid, status);
}

static const struct why_launch_options for_a_hang = { .hang_ns = 500 * NS_PER_MS };

static void the_status_of_a_program_that_ends_is_given(void)
{
	struct why_launch_options after = { .after_ns = 3600 * NS_PER_SEC };
	unsigned fds = count_open();
	int status;

	time_begin(1000, 1000);
	CHECK_EQ(launch("exit 7", for_a_hang, &status), WHY_LAUNCH_ENDED);
	CHECK_EQ(status, 7);
	CHECK_EQ(launch("kill -9 $$", for_a_hang, &status), WHY_LAUNCH_ENDED);
	CHECK_EQ(status, 128 + SIGKILL);
	CHECK_EQ(launch("exit 0", after, &status), WHY_LAUNCH_ENDED);
	CHECK_EQ(status, 0);
	CHECK_EQ(launch("kill -15 $$", after, &status), WHY_LAUNCH_ENDED);
	CHECK_EQ(status, 128 + SIGTERM);
	check_none_left();
	CHECK_EQ(count_open(), fds);
}

static void a_program_that_cannot_be_started_is_an_error(void)
{
	char name[] = "/nonexistent/program";
	char *argv[] = { name, NULL };
	int status;

	time_begin(1000, 1000);
	captured_begin(stderr);
	CHECK_EQ(why_launch(argv, &for_a_hang, &pid, &status), WHY_LAUNCH_FAILED);
	CHECK_STR(captured_end(), "corotracer why: cannot start '/nonexistent/program': No such "
				  "file or directory\n");
	CHECK_EQ(passed_ms(), 0);
	check_none_left();
}

static void its_output_goes_to_standard_error_if_asked(void)
{
	struct why_launch_options o = for_a_hang;
	int status;

	time_begin(1000, 1000);
	captured_begin(stdout);
	CHECK_EQ(launch("echo output", o, &status), WHY_LAUNCH_ENDED);
	CHECK_STR(captured_end(), "output\n");
	o.stdout_to_stderr = true;
	captured_begin(stderr);
	CHECK_EQ(launch("echo output", o, &status), WHY_LAUNCH_ENDED);
	CHECK_STR(captured_end(), "output\n");
}

static void a_time_after_the_start_is_kept(void)
{
	struct why_launch_options o = { .after_ns = 300 * NS_PER_MS, .hang_ns = NS_PER_SEC };
	int status;

	time_begin(1000, 1000);
	CHECK_EQ(launch("exec sleep 100", o, &status), WHY_LAUNCH_HANGS);
	CHECK_EQ(passed_ms(), 300);
	CHECK_EQ(status, -1);
	CHECK_EQ(kill(pid, 0), 0);
	begin_ns = now;
	really_us = 25000; /* it has two seconds, as it would have */
	why_launch_end(pid);
	CHECK(passed_ms() < 2000);
	check_none_left();
}

static void a_program_that_sleeps_hangs(void)
{
	unsigned fds = count_open();
	int status;

	time_begin(100000, 1000);
	CHECK_EQ(launch("exec sleep 100", for_a_hang, &status), WHY_LAUNCH_HANGS);
	/* A first look, and 500 ms in which no look differs; a busy machine needs more. */
	CHECK(passed_ms() >= 600);
	CHECK_EQ(passed_ms() % 100, 0);
	CHECK(passed_ms() < 60000);
	CHECK_EQ(status, -1);
	why_launch_end(pid);
	check_none_left();
	CHECK_EQ(count_open(), fds);
}

static void a_program_that_runs_does_not_hang(void)
{
	int status;

	time_begin(30000, 30000);
	kill_at = 12;
	CHECK_EQ(launch("while :; do :; done", for_a_hang, &status), WHY_LAUNCH_ENDED);
	CHECK_EQ(status, 128 + SIGKILL);
	CHECK(passed_ms() >= 1200);
	check_none_left();
}

/* A child of this program that waits; it ignores SIGTERM, or has stopped itself. */
static pid_t start_child(bool ignores, bool stops)
{
	int fds[2], status;
	char byte;
	pid_t child;

	CHECK_EQ(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		alarm(100);
		if (ignores)
			signal(SIGTERM, SIG_IGN);
		CHECK_EQ(write(fds[1], "x", 1), 1);
		if (stops)
			raise(SIGSTOP);
		for (;;)
			pause();
	}
	CHECK_EQ(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	if (stops)
		CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
	return child;
}

static void a_program_is_ended_if_need_be_by_force(void)
{
	time_begin(25000, 25000);
	why_launch_end(start_child(false, false));
	CHECK(passed_ms() < 2000);
	check_none_left();
	time_begin(25000, 25000);
	why_launch_end(start_child(false, true));
	CHECK(passed_ms() < 2000);
	check_none_left();
	time_begin(100, 100);
	why_launch_end(start_child(true, false));
	CHECK_EQ(passed_ms(), 2000); /* the time that it has to end by itself */
	check_none_left();
}

static void the_end_of_a_program_is_waited_for(void)
{
	pid_t child;

	time_begin(1000, 1000);
	pid = start_child(false, false);
	kill_at = 20;
	CHECK_EQ(why_launch_wait(pid), 128 + SIGKILL);
	CHECK(passed_ms() >= 20 * 25);
	child = fork();
	if (child == 0)
		_exit(9);
	CHECK_EQ(why_launch_wait(child), 9);
	check_none_left();
}

int main(void)
{
	alarm(100);
	unsetenv("LD_PRELOAD"); /* a leak checker of the test is not for its programs */
	RUN(the_status_of_a_program_that_ends_is_given);
	RUN(a_program_that_cannot_be_started_is_an_error);
	RUN(its_output_goes_to_standard_error_if_asked);
	RUN(a_time_after_the_start_is_kept);
	RUN(a_program_that_sleeps_hangs);
	RUN(a_program_that_runs_does_not_hang);
	RUN(a_program_is_ended_if_need_be_by_force);
	RUN(the_end_of_a_program_is_waited_for);
	return 0;
}
