/* SPDX-License-Identifier: MIT */
/*
 * test_serve_collector.c - which collector is asked, how often, and what is known of its silence.
 *
 * The collectors, the clock and the pauses are the test's: it decides when a pause is over.
 */
#include "serve_collector.h"

#include <errno.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "held_locks.h"
#include "collect/collector_client.h"

/* ---- collectors --------------------------------------------------------------------- */

static struct {
	uint64_t now;
	/* Answers. */
	int look;               /* of the search */
	const char *outputs[4]; /* a running collector each; NULL: it does not answer */
	int codes[4];           /* why not */
	int ask;                /* of the question */
	uint64_t lost, others_lost;
	int create; /* of pthread_create() */
	/* What was done. */
	int nr_looks, nr_asks;
	char asked[64];
	uint64_t pause_ns;
	clockid_t clock;
} world;

static sem_t is_pausing, may_go_on;
static int pause_result;
static char scratch[64], trace[128], other[128];

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){ (time_t)(world.now / NS_PER_SEC), (long)(world.now % NS_PER_SEC) };
	return 0;
}

int __wrap_running_look(struct all_running *all, const char *region, size_t *left, struct err *err);
int __wrap_running_look(struct all_running *all, const char *region, size_t *left, struct err *err)
{
	CHECK(!region);
	world.nr_looks++;
	*left = 0;
	if (world.look)
		return err_set(err, world.look, "no look");
	all->at = calloc(4, sizeof(*all->at));
	CHECK(all->at != NULL);
	for (; all->nr < 4 && (world.outputs[all->nr] || world.codes[all->nr]); all->nr++) {
		struct running *r = &all->at[all->nr];

		CHECK(asprintf(&r->region, "region %zu", all->nr) > 0);
		r->err.code = world.codes[all->nr];
		if (!r->err.code)
			r->status = json_pack("{s:s}", "output", world.outputs[all->nr]);
	}
	return 0;
}

json_t *__wrap_running_ask(const char *region, const char *request, int timeout_ms,
			   struct err *err);
json_t *__wrap_running_ask(const char *region, const char *request, int timeout_ms, struct err *err)
{
	world.nr_asks++;
	snprintf(world.asked, sizeof(world.asked), "%s: %s %d", region, request, timeout_ms);
	if (!world.ask)
		return json_pack("{s:I,s:I}", "lost", (json_int_t)world.lost, "others_lost",
				 (json_int_t)world.others_lost);
	err_set(err, world.ask, "no answer");
	return NULL;
}

/* ---- pauses ---------------------------------------------------------------------------- */

int __wrap_pthread_condattr_setclock(pthread_condattr_t *attr, clockid_t clock);
int __wrap_pthread_condattr_setclock(pthread_condattr_t *attr, clockid_t clock)
{
	(void)attr;
	world.clock = clock;
	return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until)
{
	int result;

	(void)cond;
	world.pause_ns = (uint64_t)until->tv_sec * NS_PER_SEC + (uint64_t)until->tv_nsec -
			 world.now;
	sem_post(&is_pausing);
	CHECK_EQ(pthread_mutex_unlock(lock), 0);
	sem_wait(&may_go_on);
	result = pause_result;
	CHECK_EQ(pthread_mutex_lock(lock), 0);
	return result;
}

/* Of the end: it wakes the thread. */
int __wrap_pthread_cond_signal(pthread_cond_t *cond);
int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	(void)cond;
	pause_result = 0;
	sem_post(&may_go_on);
	return 0;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	int rc = world.create ? world.create : __real_pthread_create(thread, attr, run, arg);

	if (!rc)
		sem_wait(&is_pausing); /* the thread is faster than its creator */
	return rc;
}

static struct collector_watch watch;

static void begin(const char *path)
{
	sem_init(&is_pausing, 0, 0);
	sem_init(&may_go_on, 0, 0);
	collector_watch_start(&watch, path);
}

/* The pause is over. */
static void step(void)
{
	pause_result = ETIMEDOUT;
	sem_post(&may_go_on);
	sem_wait(&is_pausing);
}

static void world_new(void)
{
	memset(&world, 0, sizeof(world));
	world.now = 500 * NS_PER_SEC;
}

/* ---- tests -------------------------------------------------------------------------- */

static void the_writer_of_the_trace_is_asked(void)
{
	uint64_t silent = 1, lost = 1;

	world_new();
	world.codes[0] = -ETIMEDOUT;
	world.outputs[1] = other;
	world.outputs[2] = trace;
	world.outputs[3] = "/nonexistent/file";
	world.lost = 30;
	world.others_lost = 4;
	begin(trace);
	CHECK_EQ(world.clock, CLOCK_MONOTONIC);
	CHECK_EQ(world.nr_looks, 1);
	CHECK_EQ(world.nr_asks, 1);
	CHECK_STR(world.asked, "region 2: status 1000");
	CHECK_EQ(world.pause_ns, NS_PER_SEC);
	CHECK(collector_watch_get(&watch, &silent, &lost));
	CHECK_EQ(silent, 0);
	CHECK_EQ(lost, 34);
	CHECK_EQ(collector_watch_failed(&watch), 0);
	/* Once a second; the region is known now. */
	world.now += NS_PER_SEC;
	world.lost = 31;
	step();
	CHECK_EQ(world.nr_looks, 1);
	CHECK_EQ(world.nr_asks, 2);
	CHECK(collector_watch_get(&watch, &silent, &lost));
	CHECK_EQ(lost, 35);
	/* Woken for another reason, it does not ask. */
	pause_result = 0;
	sem_post(&may_go_on);
	sem_wait(&is_pausing);
	CHECK_EQ(world.nr_asks, 2);
	collector_watch_stop(&watch);
	CHECK_EQ(world.nr_asks, 2);
}

static void silence_counts_from_three_seconds_on(void)
{
	uint64_t silent, lost;

	world_new();
	world.outputs[0] = trace;
	world.lost = 5;
	begin(trace);
	world.ask = -ETIMEDOUT;
	world.now += 3 * NS_PER_SEC - 1;
	step();
	CHECK(collector_watch_get(&watch, &silent, &lost));
	CHECK_EQ(silent, 0);
	world.now += 1;
	CHECK(collector_watch_get(&watch, &silent, &lost));
	CHECK_EQ(silent, 3 * NS_PER_SEC);
	CHECK_EQ(lost, 5);
	step();
	CHECK(collector_watch_get(&watch, &silent, &lost));
	CHECK_EQ(silent, 3 * NS_PER_SEC);
	CHECK_EQ(collector_watch_failed(&watch), 0); /* it can be asked, and is silent */
	world.ask = 0;
	step();
	CHECK(collector_watch_get(&watch, &silent, &lost));
	CHECK_EQ(silent, 0);
	collector_watch_stop(&watch);
}

static void a_collector_may_come_later(void)
{
	uint64_t silent, lost;

	world_new();
	world.outputs[0] = other;
	begin(trace);
	CHECK_EQ(world.pause_ns, 5 * NS_PER_SEC);
	CHECK_EQ(world.nr_asks, 0);
	CHECK(!collector_watch_get(&watch, &silent, &lost));
	CHECK_EQ(lost, 0);
	CHECK_EQ(collector_watch_failed(&watch), 0);
	world.outputs[1] = trace;
	step();
	CHECK_EQ(world.nr_looks, 2);
	CHECK_STR(world.asked, "region 1: status 1000");
	CHECK_EQ(world.pause_ns, NS_PER_SEC);
	CHECK(collector_watch_get(&watch, &silent, &lost));
	collector_watch_stop(&watch);
}

static void a_trace_may_have_other_names(void)
{
	char link[160], later[160];

	snprintf(link, sizeof(link), "%s/link", scratch);
	snprintf(later, sizeof(later), "%s/later", scratch);
	CHECK_EQ(symlink(trace, link), 0);
	world_new();
	world.outputs[0] = trace;
	begin(link);
	CHECK_EQ(world.nr_asks, 1);
	collector_watch_stop(&watch);
	CHECK_EQ(unlink(link), 0);
	/* It does not exist yet. */
	world_new();
	world.outputs[0] = later;
	begin(later);
	CHECK_EQ(world.nr_looks, 0);
	CHECK_EQ(world.pause_ns, 5 * NS_PER_SEC);
	CHECK_EQ(collector_watch_failed(&watch), -ENOENT);
	CHECK_EQ(collector_watch_failed(&watch), 0); /* told once */
	CHECK_EQ(symlink(trace, later), 0);
	step();
	CHECK_EQ(world.nr_looks, 1);
	CHECK_EQ(world.nr_asks, 1);
	CHECK_EQ(collector_watch_failed(&watch), 0);
	collector_watch_stop(&watch);
	CHECK_EQ(unlink(later), 0);
}

/* The code that is told after a search or question that ended with @code. */
static int told_after(int look, int answer, int ask)
{
	int failed;

	world_new();
	world.look = look;
	world.codes[0] = answer;
	world.outputs[1] = trace;
	if (!answer)
		world.outputs[0] = trace;
	world.ask = ask;
	begin(trace);
	failed = collector_watch_failed(&watch);
	collector_watch_stop(&watch);
	return failed;
}

static void a_shortage_is_told(void)
{
	static const int codes[] = { -ENOMEM, -EMFILE, -ENFILE, -EAGAIN };
	size_t i;

	for (i = 0; i < 4; i++) {
		CHECK_EQ(told_after(0, codes[i], 0), codes[i]);
		CHECK_EQ(world.nr_asks, 1); /* the other one answered */
		CHECK_EQ(told_after(0, 0, codes[i]), codes[i]);
	}
	CHECK_EQ(told_after(-EMFILE, 0, 0), -EMFILE);
	CHECK_EQ(told_after(-EPERM, 0, 0), -EPERM); /* a search that fails always counts */
	CHECK_EQ(told_after(0, -EPERM, 0), 0);
	CHECK_EQ(told_after(0, 0, -ECONNREFUSED), 0);
}

static void without_a_thread_nothing_is_known(void)
{
	uint64_t silent, lost;

	world_new();
	world.create = EAGAIN;
	begin(trace);
	CHECK(!collector_watch_get(&watch, &silent, &lost));
	CHECK_EQ(collector_watch_failed(&watch), -EAGAIN);
	collector_watch_stop(&watch);
}

static void touch(const char *path)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fclose(f) == 0);
}

int main(void)
{
	alarm(20);
	snprintf(scratch, sizeof(scratch), "/tmp/corotracer-test-XXXXXX");
	CHECK(mkdtemp(scratch) != NULL);
	snprintf(trace, sizeof(trace), "%s/trace.jsonl", scratch);
	snprintf(other, sizeof(other), "%s/other.jsonl", scratch);
	touch(trace);
	touch(other);
	RUN(the_writer_of_the_trace_is_asked);
	RUN(silence_counts_from_three_seconds_on);
	RUN(a_collector_may_come_later);
	RUN(a_trace_may_have_other_names);
	RUN(a_shortage_is_told);
	RUN(without_a_thread_nothing_is_known);
	CHECK(!unlink(trace) && !unlink(other) && !rmdir(scratch));
	return 0;
}
