/* SPDX-License-Identifier: MIT */
/*
 * test_process_look.c - `corotracer why` as a process of its own: how it is started, its limits,
 * what becomes of its output.
 *
 * This program is also the one that is started, in place of `corotracer why`.
 */
#include "process_look.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "count_open.h"

#define MANNER "CT_TEST_MANNER"

static bool has_no_file, has_no_process;

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags)
{
	return has_no_file ? -1 : __real_memfd_create(name, flags);
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	return has_no_process ? -1 : __real_fork();
}

/* ---- the process ---------------------------------------------------------------------------- */

static unsigned long long limit_of(int resource)
{
	struct rlimit limit;

	CHECK_EQ(getrlimit(resource, &limit), 0);
	return limit.rlim_cur;
}

static bool is_null(int fd)
{
	struct stat st, null;

	return fstat(fd, &st) == 0 && stat("/dev/null", &null) == 0 && st.st_rdev == null.st_rdev;
}

static void print_facts(char *const *argv)
{
	sigset_t mask;
	int sig, nr_blocked = 0, death = 0;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (sig = 1; sig < 32; sig++)
		nr_blocked += sigismember(&mask, sig) > 0;
	prctl(PR_GET_PDEATHSIG, &death);
	printf("{\"words\":\"%s %s %s %s %s\",\"cpu\":%llu,\"memory\":%llu,\"size\":%llu,"
	       "\"nice\":%d,\"blocked\":%d,\"group\":%d,\"null\":%d,\"death\":%d}",
	       argv[0], argv[1], argv[2], argv[3], argv[4], limit_of(RLIMIT_CPU),
	       limit_of(RLIMIT_AS) >> 30, limit_of(RLIMIT_FSIZE) >> 20,
	       getpriority(PRIO_PROCESS, 0), nr_blocked, getpgid(0) == getpid(),
	       is_null(0) && is_null(2), death);
	fflush(stdout);
}

static int act(char *const *argv)
{
	const char *manner = getenv(MANNER);

	if (!strcmp(manner, "facts"))
		print_facts(argv);
	else if (!strcmp(manner, "text"))
		puts("not JSON");
	else if (!strcmp(manner, "large"))
		return ftruncate(STDOUT_FILENO, (off_t)256 << 20) == 0 ? 0 : 9;
	else if (!strcmp(manner, "fails"))
		return 3;
	else if (!strcmp(manner, "stays"))
		pause();
	return 0;
}

/* ---- the test ------------------------------------------------------------------------------- */

static struct process_look look;
static char why[LOOK_WHY_SIZE];

static void begin(const char *manner)
{
	setenv(MANNER, manner, 1);
	look = (struct process_look){ 0 };
	CHECK(process_look_begin(&look, 42));
	CHECK(look.child > 0);
}

static void check_all_is_gone(unsigned before)
{
	CHECK_EQ(look.child, 0);
	CHECK_EQ(count_open(), before);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
}

static long long number_of(const json_t *found, const char *key)
{
	return json_integer_value(json_object_get(found, key));
}

static void it_looks_within_limits(void)
{
	int usual_nice = getpriority(PRIO_PROCESS, 0);
	uint64_t before_ns = monotonic_clock_ns(CLOCK_MONOTONIC);
	unsigned before = count_open();
	sigset_t set;
	json_t *found;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	begin("facts");
	CHECK(look.ts >= before_ns && look.ts <= monotonic_clock_ns(CLOCK_MONOTONIC));
	found = process_look_take(&look, why);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	CHECK(found != NULL);
	CHECK_STR(json_string_value(json_object_get(found, "words")),
		  "corotracer why --json -p 42");
	CHECK_EQ(number_of(found, "cpu"), 60);
	CHECK_EQ(number_of(found, "size"), 256);
#ifndef __SANITIZE_ADDRESS__
	CHECK_EQ(number_of(found, "memory"), 8);
#endif
	CHECK_EQ(number_of(found, "nice"), usual_nice > 10 ? usual_nice : 10);
	CHECK_EQ(number_of(found, "blocked"), 0);
	CHECK_EQ(number_of(found, "group"), 1);
	CHECK_EQ(number_of(found, "null"), 1);
	CHECK_EQ(number_of(found, "death"), SIGKILL); /* with the collector */
	json_decref(found);
	check_all_is_gone(before);
}

static void fail(const char *manner, const char *reason)
{
	unsigned before = count_open();

	begin(manner);
	CHECK(!process_look_take(&look, why));
	CHECK_STR(why, reason);
	check_all_is_gone(before);
}

static void failures_have_a_reason(void)
{
	fail("text", "the result of the look at the program is unusable");
	fail("nothing", "the result of the look at the program is unusable");
	fail("large", "the result of the look at the program is unusable");
	fail("fails", "the look at the program failed with exit status 3");
	look = (struct process_look){ 0 };
	CHECK(!process_look_take(&look, why));
	CHECK_STR(why, "the look at the program could not be started");
}

static void one_that_cannot_be_started_leaves_nothing(void)
{
	unsigned before = count_open();

	look = (struct process_look){ 0 };
	has_no_file = true;
	CHECK(!process_look_begin(&look, 42));
	has_no_file = false;
	check_all_is_gone(before);
	has_no_process = true;
	CHECK(!process_look_begin(&look, 42));
	has_no_process = false;
	check_all_is_gone(before);
}

static void it_ends_if_it_is_not_wanted(void)
{
	unsigned before = count_open();
	bool is_unwanted = true;

	begin("stays");
	process_look_end(&look);
	check_all_is_gone(before);
	process_look_end(&look); /* it has ended */
	begin("stays");
	look.is_unwanted = &is_unwanted;
	CHECK(!process_look_take(&look, why));
	check_all_is_gone(before);
}

static void a_lower_priority_stays(void)
{
	CHECK_EQ(setpriority(PRIO_PROCESS, 0, 15), 0);
	it_looks_within_limits();
}

int main(int argc, char **argv)
{
	alarm(20);
	if (argc > 1)
		return act(argv);
	RUN(it_looks_within_limits);
	RUN(failures_have_a_reason);
	RUN(one_that_cannot_be_started_leaves_nothing);
	RUN(it_ends_if_it_is_not_wanted);
	if (getpriority(PRIO_PROCESS, 0) < 15)
		RUN(a_lower_priority_stays);
	return 0;
}
