/* SPDX-License-Identifier: MIT */
/*
 * test_why_sample.c - when `why --sample` looks, what it counts as missed, and how it ends.
 *
 * The clock, the signals and the looks are the test's: a look and a wait take as long as it says.
 */
#include "why_sample.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>

#include "base/monotonic.h"
#include "captured.h"
#include "cmd.h"
#include "inspect/sampler.h"
#include "why_types.h"

#define START   (1000 * NS_PER_SEC)
#define WALL_NS (INT64_C(1700000000) * 1000000000 + 123)
#define LOOKS   64

/* ---- the test's side of the program ------------------------------------------------- */

static struct {
	uint64_t now;
	/* What is to happen. */
	int opens, prepares;
	int looks[LOOKS];         /* what each look returns */
	uint64_t takes_ns[LOOKS]; /* how long it takes */
	int signal_at;            /* the wait that a signal ends; -1: none */
	int interrupted_at;       /* the wait that fails with EINTR after 1 ms; -1: none */
	uint64_t late_ns;         /* the first wait takes longer */
	int output;               /* what the output returns */
	bool has_no_types;
	/* What has happened. */
	uint64_t at[LOOKS]; /* times of the looks, since the start */
	int nr_looks, nr_waits, nr_closed, nr_freed, nr_outputs;
	struct profile_run run; /* that was written */
	struct wait_profile profile;
	char ended_by[16], name[32];
	bool may_stop, has_wrong_rules, was_unblocked;
	const char *types, *expected; /* of an invalid option */
} story;

static int rules_object;

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	uint64_t ns = id == CLOCK_REALTIME ? (uint64_t)WALL_NS : story.now;

	*t = (struct timespec){ (time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC) };
	return 0;
}

int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *t);
int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *t)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP };
	int wait = story.nr_waits++;
	size_t i;

	(void)info;
	for (i = 0; i < 3; i++)
		CHECK(sigismember(set, all[i]) == 1);
	CHECK(sigismember(set, SIGUSR1) == 0);
	CHECK(sigismember(set, SIGQUIT) == 0);
	if (wait == story.signal_at)
		return SIGTERM;
	if (wait == story.interrupted_at) {
		story.now += NS_PER_MS;
		errno = EINTR;
		return -1;
	}
	story.now += (uint64_t)t->tv_sec * NS_PER_SEC + (uint64_t)t->tv_nsec;
	if (!wait)
		story.now += story.late_ns;
	errno = EAGAIN;
	return -1;
}

struct type_rules *why_types_load(const char *path, struct err *err)
{
	story.types = path;
	if (!story.has_no_types)
		return (struct type_rules *)&rules_object;
	err_set(err, -ENOENT, "no such types");
	return NULL;
}

void type_rules_free(struct type_rules *rules)
{
	CHECK((void *)rules == (void *)&rules_object);
	story.nr_freed++;
}

int sampler_open(struct sampler *s, pid_t pid, struct err *err)
{
	story.may_stop = s->may_stop;
	story.has_wrong_rules = (const void *)s->rules != (const void *)&rules_object;
	CHECK_EQ(pid, 42);
	snprintf(s->image.name, sizeof(s->image.name), "worker");
	s->stopped_ns = 77;
	return story.opens ? err_set(err, story.opens, "cannot open") : 0;
}

int sampler_prepare(struct sampler *s, struct err *err)
{
	(void)s;
	return story.prepares ? err_set(err, story.prepares, "cannot prepare") : 0;
}

int sampler_look(struct sampler *s, struct err *err)
{
	int look = story.nr_looks++, rc = story.looks[look];
	sigset_t mask;

	CHECK(look < LOOKS - 1);
	CHECK_EQ(err->code, 0);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	story.was_unblocked |= !sigismember(&mask, SIGINT) || !sigismember(&mask, SIGTERM) ||
			       !sigismember(&mask, SIGHUP) || sigismember(&mask, SIGQUIT);
	story.at[look] = story.now - START;
	story.now += story.takes_ns[look];
	s->profile->looks += !rc;
	s->profile->losses.failed += rc < 0;
	return rc ? err_set(err, rc, "look %d failed", look) : 0;
}

const char *sampler_problem(const struct sampler *s)
{
	(void)s;
	return "a problem";
}

void sampler_close(struct sampler *s)
{
	(void)s;
	story.nr_closed++;
}

int why_sample_output(const struct profile_run *run, const struct why_sample_options *o,
		      struct err *err)
{
	(void)o;
	story.nr_outputs++;
	story.run = *run;
	story.profile = *run->profile;
	snprintf(story.ended_by, sizeof(story.ended_by), "%s", run->ended_by);
	snprintf(story.name, sizeof(story.name), "%s", run->name);
	return story.output ? err_set(err, story.output, "cannot write") : 0;
}

bool opt_invalid(const struct opt_use *use, const char *expected)
{
	(void)use;
	story.expected = expected;
	return false;
}

/* ---- runs ----------------------------------------------------------------------------- */

static struct why_sample_options options;
static bool has_exited;

static void story_begin(uint64_t period_ms, uint64_t duration_ms)
{
	memset(&story, 0, sizeof(story));
	story.now = START;
	story.signal_at = story.interrupted_at = -1;
	options = (struct why_sample_options){ .period_ns = period_ms * NS_PER_MS,
					       .duration_ns = duration_ms * NS_PER_MS };
}

/* What it said. */
static const char *sample(int status)
{
	sigset_t before, after;
	const char *said;

	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	sigprocmask(SIG_SETMASK, &before, NULL);
	has_exited = !has_exited;
	captured_begin(stderr);
	CHECK_EQ(why_sample(42, &options, &has_exited), status);
	said = captured_end();
	sigprocmask(SIG_SETMASK, NULL, &after);
	CHECK(sigismember(&after, SIGUSR2) && !sigismember(&after, SIGINT));
	CHECK(!story.was_unblocked);
	CHECK_EQ(story.nr_closed, !story.has_no_types);
	CHECK_EQ(story.nr_freed, !story.has_no_types);
	return said;
}

static void check_times(size_t nr, ...)
{
	va_list args;
	size_t i;

	CHECK_EQ(story.nr_looks, nr);
	va_start(args, nr);
	for (i = 0; i < nr; i++)
		CHECK_EQ(story.at[i], (uint64_t)va_arg(args, unsigned) * NS_PER_MS);
	va_end(args);
}

static void looks_are_at_equal_distances(void)
{
	story_begin(100, 400);
	options.stacks = true;
	options.types = "dir";
	story.takes_ns[0] = story.takes_ns[2] = 30 * NS_PER_MS;
	story.takes_ns[1] = 99 * NS_PER_MS;
	CHECK_STR(sample(EXIT_OK), "");
	check_times(4u, 0u, 100u, 200u, 300u);
	CHECK(!has_exited);
	CHECK(story.may_stop && !story.has_wrong_rules);
	CHECK_STR(story.types, "dir");
	CHECK_EQ(story.nr_outputs, 1);
	CHECK_STR(story.ended_by, "duration");
	CHECK_STR(story.name, "worker");
	CHECK_STR(story.run.problem, "a problem");
	CHECK_EQ(story.run.pid, 42);
	CHECK(story.run.has_stacks);
	CHECK_EQ(story.run.stopped_ns, 77);
	CHECK_EQ(story.run.start_ns, WALL_NS);
	CHECK_EQ(story.run.elapsed_ns, 400 * NS_PER_MS); /* until the end of the last period */
	CHECK_EQ(story.profile.period_ns, 100 * NS_PER_MS);
	CHECK_EQ(story.profile.losses.late, 0);
	CHECK_EQ(story.profile.looks, 4);
}

static void a_part_of_a_period_has_a_look(void)
{
	story_begin(100, 201);
	CHECK_STR(sample(EXIT_OK), "");
	check_times(3u, 0u, 100u, 200u);
	CHECK_EQ(story.run.elapsed_ns, 201 * NS_PER_MS);
	CHECK(!story.may_stop && !story.run.has_stacks);
	story_begin(100, 200);
	CHECK_STR(sample(EXIT_OK), "");
	check_times(2u, 0u, 100u);
	story_begin(100, 1);
	CHECK_STR(sample(EXIT_OK), "");
	check_times(1u, 0u);
}

static void looks_that_are_due_during_a_look_are_left_out(void)
{
	story_begin(100, 800);
	story.takes_ns[1] = 350 * NS_PER_MS; /* until 450: those at 200 and 300 are over */
	CHECK_STR(sample(EXIT_OK), "");
	check_times(6u, 0u, 100u, 450u, 500u, 600u, 700u);
	CHECK_EQ(story.profile.losses.late, 2);
	CHECK_EQ(story.profile.looks, 6);
	/* Beyond the end. */
	story_begin(100, 500);
	story.takes_ns[1] = 10 * NS_PER_SEC;
	CHECK_STR(sample(EXIT_OK), "");
	check_times(2u, 0u, 100u);
	CHECK_EQ(story.profile.losses.late, 3);
	CHECK_STR(story.ended_by, "duration");
	CHECK_EQ(story.run.elapsed_ns, 10100 * NS_PER_MS);
	/* The first look takes place even if the time is over. */
	story_begin(100, 300);
	story.late_ns = NS_PER_SEC;
	CHECK_STR(sample(EXIT_OK), "");
	check_times(1u, 1000u);
	CHECK_EQ(story.profile.losses.late, 2);
}

static void a_signal_ends_it(void)
{
	story_begin(100, 0);
	story.signal_at = 3;
	CHECK_STR(sample(EXIT_OK), "");
	check_times(3u, 0u, 100u, 200u);
	CHECK_STR(story.ended_by, "signal");
	CHECK_EQ(story.run.elapsed_ns, 200 * NS_PER_MS);
	CHECK(!has_exited);
	/* While it waits for the end of the last period. */
	story_begin(100, 200);
	story.signal_at = 2;
	CHECK_STR(sample(EXIT_OK), "");
	check_times(2u, 0u, 100u);
	CHECK_STR(story.ended_by, "signal");
	CHECK_EQ(story.run.elapsed_ns, 100 * NS_PER_MS);
	/* Before the first look. */
	story_begin(100, 0);
	story.signal_at = 0;
	CHECK_STR(sample(EXIT_FAILED), "corotracer why: cannot sample process 42: a signal came "
				       "before the first look\n");
	CHECK_EQ(story.nr_outputs, 0);
}

static void an_interrupted_wait_goes_on(void)
{
	story_begin(100, 300);
	story.interrupted_at = 1;
	CHECK_STR(sample(EXIT_OK), "");
	check_times(3u, 0u, 100u, 200u);
	CHECK_EQ(story.profile.losses.late, 0);
}

static void the_end_of_the_process_is_not_a_failure(void)
{
	story_begin(100, 0);
	story.looks[2] = -ESRCH;
	CHECK_STR(sample(EXIT_OK), "");
	CHECK_EQ(story.nr_looks, 3);
	CHECK(has_exited);
	CHECK_STR(story.ended_by, "exit");
	CHECK_EQ(story.profile.losses.failed, 0);
	CHECK_EQ(story.profile.looks, 2);
	CHECK_EQ(story.run.elapsed_ns, 200 * NS_PER_MS);
	/* With a duration, there is nothing to wait for either. */
	story_begin(100, 5000);
	story.looks[1] = -ESRCH;
	CHECK_STR(sample(EXIT_OK), "");
	CHECK_EQ(story.run.elapsed_ns, 100 * NS_PER_MS);
	CHECK_STR(story.ended_by, "exit");
	story_begin(100, 0);
	story.looks[0] = -ESRCH;
	CHECK_STR(sample(EXIT_FAILED), "corotracer why: look 0 failed\n");
	CHECK(has_exited);
	CHECK_EQ(story.nr_outputs, 0);
}

static void failures_in_succession_end_it(void)
{
	int i;

	story_begin(100, 0);
	for (i = 1; i < 10; i++)
		story.looks[i] = -EPERM; /* nine */
	for (i = 11; i < 21; i++)
		story.looks[i] = -EPERM; /* ten */
	CHECK_STR(sample(EXIT_FAILED), "corotracer why: look 20 failed\n");
	CHECK_EQ(story.nr_looks, 21);
	CHECK(!has_exited);
	CHECK_EQ(story.nr_outputs, 1); /* what the looks before have seen */
	CHECK_STR(story.ended_by, "error");
	CHECK_EQ(story.profile.looks, 2);
	CHECK_EQ(story.profile.losses.failed, 19);
	story_begin(100, 0);
	for (i = 0; i < 10; i++)
		story.looks[i] = -EPERM;
	CHECK_STR(sample(EXIT_FAILED), "corotracer why: look 9 failed\n");
	CHECK_EQ(story.nr_outputs, 0);
	/* All of a short run. */
	story_begin(100, 200);
	story.looks[0] = story.looks[1] = -EPERM;
	CHECK_STR(sample(EXIT_FAILED), "corotracer why: look 1 failed\n");
}

static void a_process_that_cannot_be_opened_is_an_error(void)
{
	story_begin(100, 200);
	story.opens = -ESRCH;
	CHECK_STR(sample(EXIT_FAILED), "corotracer why: cannot open\n");
	CHECK(has_exited);
	story_begin(100, 200);
	story.opens = -EPERM;
	CHECK_STR(sample(EXIT_FAILED), "corotracer why: cannot open\n");
	CHECK(!has_exited);
	story_begin(100, 200);
	story.prepares = -ESRCH;
	CHECK_STR(sample(EXIT_FAILED), "corotracer why: cannot prepare\n");
	CHECK(has_exited);
	story_begin(100, 200);
	story.prepares = -EACCES;
	CHECK_STR(sample(EXIT_FAILED), "corotracer why: cannot prepare\n");
	CHECK(!has_exited);
	CHECK_EQ(story.nr_looks + story.nr_outputs, 0);
	/* It changed meanwhile: later looks see what it became. */
	story_begin(100, 200);
	story.prepares = -ESTALE;
	CHECK_STR(sample(EXIT_OK), "");
	CHECK_EQ(story.nr_looks, 2);
}

static void other_failures_are_told(void)
{
	story_begin(100, 200);
	story.has_no_types = true;
	CHECK_STR(sample(EXIT_FAILED), "corotracer why: no such types\n");
	CHECK(!has_exited);
	CHECK_EQ(story.nr_looks, 0);
	story_begin(100, 200);
	story.output = -ENOSPC;
	CHECK_STR(sample(EXIT_FAILED), "corotracer why: cannot write\n");
	CHECK_EQ(story.nr_looks, 2);
}

static uint64_t parse_rate(const char *text)
{
	struct opt_use use = { .option = "--sample", .value = text };
	uint64_t period = 0;

	story.expected = NULL;
	CHECK_EQ(why_sample_parse_rate(&period, &use), !story.expected);
	if (story.expected)
		CHECK_STR(story.expected, "looks per second, from 0.001/s to 1000/s");
	return period;
}

static void a_rate_is_looks_per_second(void)
{
	static const char *const wrong[] = { "",     "x",      "/s",   "10/m",  "10/s ",
					     "10s",  "nan",    "0",    "-1",    "0.0009",
					     "1001", "1000.1", "1e-9", "1e999", "1e-999" };
	size_t i;

	CHECK_EQ(parse_rate("10/s"), 100000000);
	CHECK_EQ(parse_rate("10"), 100000000);
	CHECK_EQ(parse_rate("0.001"), 1000000000000);
	CHECK_EQ(parse_rate("1000/s"), 1000000);
	CHECK_EQ(parse_rate("3"), 333333333);
	CHECK_EQ(parse_rate("6/s"), 166666667); /* rounded */
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(parse_rate(wrong[i]), 0);
		CHECK(story.expected != NULL);
	}
}

int main(void)
{
	RUN(looks_are_at_equal_distances);
	RUN(a_part_of_a_period_has_a_look);
	RUN(looks_that_are_due_during_a_look_are_left_out);
	RUN(a_signal_ends_it);
	RUN(an_interrupted_wait_goes_on);
	RUN(the_end_of_the_process_is_not_a_failure);
	RUN(failures_in_succession_end_it);
	RUN(a_process_that_cannot_be_opened_is_an_error);
	RUN(other_failures_are_told);
	RUN(a_rate_is_looks_per_second);
	return 0;
}
