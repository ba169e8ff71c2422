/* SPDX-License-Identifier: MIT */
/*
 * test_run_awaits.c - what `run --awaits` keeps of the looks at a program, and when it looks.
 *
 * Looks, clock and waits are the test's: it decides when a wait is over, and what a look finds.
 */
#include "run_awaits.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "held_locks.h"
#include "process_look.h"

#define START (500 * NS_PER_SEC)

static struct {
	uint64_t now, takes_ns, until;
	const char *result; /* of a look, as JSON; NULL: it fails */
	bool has_ended;     /* the process */
	bool is_untimed;    /* the last wait had no end */
	pid_t looked_at;
	int nr_looks, nr_taken, nr_joined;
	bool can_be_interrupted, is_for_nothing;
} world;

static sem_t is_waiting, may_go_on;

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){ (time_t)(world.now / NS_PER_SEC), (long)(world.now % NS_PER_SEC) };
	return 0;
}

int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result)
{
	world.nr_joined++;
	return __real_pthread_join(thread, result);
}

static void wait_for_test(pthread_mutex_t *lock)
{
	sem_post(&is_waiting);
	CHECK_EQ(pthread_mutex_unlock(lock), 0);
	while (sem_wait(&may_go_on) < 0)
		;
	CHECK_EQ(pthread_mutex_lock(lock), 0);
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	(void)cond;
	world.is_untimed = true;
	wait_for_test(lock);
	return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until)
{
	(void)cond;
	world.is_untimed = false;
	world.until = (uint64_t)until->tv_sec * NS_PER_SEC + (uint64_t)until->tv_nsec;
	wait_for_test(lock);
	return ETIMEDOUT;
}

int __wrap_pthread_cond_signal(pthread_cond_t *cond);
int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	(void)cond;
	sem_post(&may_go_on);
	return 0;
}

bool __wrap_process_thread_ended(uint32_t pid, uint32_t tid);
bool __wrap_process_thread_ended(uint32_t pid, uint32_t tid)
{
	CHECK_EQ(pid, tid);
	CHECK_EQ(pid, world.looked_at);
	return world.has_ended;
}

bool process_look_begin(struct process_look *look, pid_t pid)
{
	sigset_t mask;

	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	world.can_be_interrupted |= !sigismember(&mask, SIGINT) || !sigismember(&mask, SIGCHLD);
	world.is_for_nothing |= !look->is_unwanted || *look->is_unwanted;
	world.looked_at = pid;
	world.nr_looks++;
	look->ts = world.now;
	return true;
}

json_t *process_look_take(struct process_look *look, char why[LOOK_WHY_SIZE])
{
	CHECK_EQ(look->ts, world.now);
	world.nr_taken++;
	world.now += world.takes_ns;
	if (world.result) {
		json_t *found = json_loads(world.result, 0, NULL);

		CHECK(found != NULL);
		return found;
	}
	snprintf(why, LOOK_WHY_SIZE, "look %d failed", world.nr_looks);
	return NULL;
}

/* ---- steps ---------------------------------------------------------------------------- */

static void begin(void)
{
	sem_init(&is_waiting, 0, 0);
	sem_init(&may_go_on, 0, 0);
	world.now = START;
	CHECK(run_awaits_begin());
	sem_wait(&is_waiting);
}

/* A program connected while the thread waited. */
static void connect_program(pid_t pid)
{
	run_awaits_connected(pid);
	sem_wait(&is_waiting);
}

/* The time of the next look has come; it finds @result. */
static void look(const char *result, uint64_t takes_ns)
{
	int before = world.nr_looks;

	world.result = result;
	world.takes_ns = takes_ns;
	world.now = world.until;
	sem_post(&may_go_on);
	sem_wait(&is_waiting);
	CHECK_EQ(world.nr_looks, before + 1);
	CHECK_EQ(world.nr_taken, world.nr_looks);
	CHECK(!world.is_untimed);
}

static void end(void)
{
	run_awaits_end();
	CHECK(!world.can_be_interrupted && !world.is_for_nothing);
	run_awaits_end(); /* nothing to do */
	CHECK_EQ(world.nr_joined, 1);
}

/* "function file:line" of a coroutine that waits since @since; "" if nothing was found. */
static const char *place(uint64_t id, uint64_t since)
{
	static char text[256];
	struct sidecar_coroutine co = { .probe_id = id, .since_ts = since };
	struct trace_site site = { .file = "unset", .function = "unset" };

	if (run_awaits_find(&co, &site))
		snprintf(text, sizeof(text), "%s %s:%" PRIu32, site.function, site.file, site.line);
	else
		text[0] = '\0';
	return text;
}

/* ---- tests: each in its own process, the state is the process's ---------------------------- */

static void looks_are_a_twentieth_of_the_time(void)
{
	begin();
	CHECK(world.is_untimed); /* for the first process */
	run_awaits_connected(0);
	run_awaits_connected(-1);
	sem_post(&may_go_on); /* woken without a process */
	sem_wait(&is_waiting);
	CHECK(world.is_untimed);
	connect_program(11);
	CHECK(!world.is_untimed);
	CHECK_EQ(world.until, START + 300 * NS_PER_MS);
	/* Woken too early, it waits for the rest. */
	world.now += 299 * NS_PER_MS;
	sem_post(&may_go_on);
	sem_wait(&is_waiting);
	CHECK_EQ(world.nr_looks, 0);
	CHECK_EQ(world.until, START + 300 * NS_PER_MS);
	look("{\"groups\": []}", 10 * NS_PER_MS);
	CHECK_EQ(world.looked_at, 11);
	CHECK_EQ(world.until, START + 600 * NS_PER_MS); /* 300 ms after its begin */
	look("{\"groups\": []}", 100 * NS_PER_MS);
	CHECK_EQ(world.until, START + 2600 * NS_PER_MS); /* 19 times 100 ms after its end */
	/* Processes take turns. */
	run_awaits_connected(12);
	sem_wait(&is_waiting);
	look(NULL, 0);
	CHECK_EQ(world.looked_at, 11);
	look(NULL, 0);
	CHECK_EQ(world.looked_at, 12);
	CHECK_EQ(world.nr_looks, 4);
	end();
	CHECK_EQ(world.nr_looks, 4);
}

static void sixteen_processes_are_looked_at(void)
{
	pid_t pid;
	int i, last = 0;

	begin();
	for (pid = 1; pid <= 16; pid++)
		connect_program(pid);
	run_awaits_connected(17); /* one too many: no wake-up */
	for (i = 0; i < 34; i++) {
		look("{}", 0);
		last = world.looked_at > last ? world.looked_at : last;
		CHECK_EQ(world.looked_at, 1 + i % 16);
	}
	CHECK_EQ(last, 16);
	end();
}

static const char found[] =
	"{\"groups\": ["
	/* The innermost exact level that is not of a library. */
	"{\"stack\": [{\"file\": \"/a/guess.rs\", \"line\": 1, \"exact\": false, \"function\": "
	"\"g\"},"
	"            {\"line\": 2, \"exact\": true, \"function\": \"nowhere\"},"
	"            {\"file\": \"/home/u/.cargo/registry/src/t/x.rs\", \"line\": 3, \"exact\": "
	"true},"
	"            {\"file\": \"/app/main.rs\", \"line\": 44, \"exact\": true, \"function\": "
	"\"work\"},"
	"            {\"file\": \"/app/outer.rs\", \"line\": 5, \"exact\": true, \"function\": "
	"\"o\"}],"
	" \"traced\": [{\"id\": 7, \"suspended_at\": null}, {\"id\": 8, \"suspended_at\": null},"
	"             {\"id\": 9, \"suspended_at\": {\"line\": 1}}, {\"id\": 0, \"suspended_at\": "
	"null},"
	"             {\"id\": -3, \"suspended_at\": null}, {\"suspended_at\": null}, {\"id\": "
	"10}]},"
	/* Libraries alone: the innermost of them, without a function. */
	"{\"stack\": [{\"file\": \"/x/.cargo/git/y.rs\", \"line\": 6, \"exact\": true},"
	"            {\"file\": \"/rustc/abc/z.rs\", \"line\": 7, \"exact\": true, \"function\": "
	"\"z\"}],"
	" \"traced\": [{\"id\": 20, \"suspended_at\": null}]},"
	"{\"stack\": [{\"file\": \"/t/lib/rustlib/z.rs\", \"line\": 8, \"exact\": true},"
	"            {\"file\": \"/usr/local/cargo/registry/z.rs\", \"line\": 9, \"exact\": true},"
	"            {\"file\": \"/rustc/q.rs\", \"line\": 9, \"exact\": true},"
	"            {\"file\": \"/own.rs\", \"line\": 10, \"exact\": true, \"function\": "
	"\"own\"}],"
	" \"traced\": [{\"id\": 21, \"suspended_at\": null}]},"
	/* No place. */
	"{\"stack\": [{\"file\": \"/a.rs\", \"line\": 1, \"exact\": false}],"
	" \"traced\": [{\"id\": 22, \"suspended_at\": null}]},"
	"{\"stack\": [], \"traced\": [{\"id\": 23, \"suspended_at\": null}]}]}";

static void the_place_of_a_wait_is_the_await_of_the_program(void)
{
	const uint64_t looked = START + 300 * NS_PER_MS;

	begin();
	connect_program(11);
	CHECK_STR(place(7, 0), "");
	look(found, 5);
	CHECK_STR(place(7, 0), "work /app/main.rs:44");
	CHECK_STR(place(7, looked), "work /app/main.rs:44");
	CHECK_STR(place(7, looked + 1), ""); /* this wait is another one */
	CHECK_STR(place(8, looked), "work /app/main.rs:44");
	CHECK_STR(place(9, 0), ""); /* it says where it waits */
	CHECK_STR(place(0, 0), "");
	CHECK_STR(place((uint64_t)-3, 0), "");
	CHECK_STR(place(10, 0), "");
	CHECK_STR(place(20, 0), " /x/.cargo/git/y.rs:6");
	CHECK_STR(place(21, 0), "own /own.rs:10");
	CHECK_STR(place(22, 0), "");
	CHECK_STR(place(23, 0), "");
	/* A later look is newer. */
	look("{\"groups\": [{\"stack\": [{\"file\": \"/app/b.rs\", \"line\": 2, \"exact\": true,"
	     "\"function\": \"b\"}], \"traced\": [{\"id\": 7, \"suspended_at\": null}]}]}",
	     5);
	CHECK_STR(place(7, looked + 1), "b /app/b.rs:2");
	CHECK_STR(place(8, looked), "work /app/main.rs:44");
	CHECK_STR(place(8, looked + 1), "");
	CHECK(!run_awaits_missing());
	end();
	CHECK_STR(place(7, 0), "");
}

static void many_coroutines_are_kept(void)
{
	static char text[1 << 16];
	size_t size = 0;
	unsigned id;

	for (id = 1; id <= 300; id++)
		size += (size_t)snprintf(text + size, sizeof(text) - size,
					 "%s{\"stack\": [{\"file\": \"f%u.rs\", \"line\": %u, "
					 "\"exact\": true}], \"traced\": [{\"id\": %u, "
					 "\"suspended_at\": null}]}",
					 id == 1 ? "{\"groups\": [" : ", ", id % 7, id, id);
	snprintf(text + size, sizeof(text) - size, "]}");
	begin();
	connect_program(11);
	look(text, 0);
	look(text, 0);
	for (id = 1; id <= 300; id++) {
		char wanted[64];

		snprintf(wanted, sizeof(wanted), " f%u.rs:%u", id % 7, id);
		CHECK_STR(place(id, 0), wanted);
	}
	CHECK_STR(place(301, 0), "");
	end();
}

static void a_reason_is_given_if_no_look_succeeded(void)
{
	begin();
	CHECK(!run_awaits_missing());
	connect_program(11);
	world.has_ended = true;
	look(NULL, 0); /* there was nothing to look at */
	CHECK(!run_awaits_missing());
	world.has_ended = false;
	look(NULL, 0);
	CHECK_STR(run_awaits_missing(), "look 2 failed");
	look(NULL, 0);
	CHECK_STR(run_awaits_missing(), "look 3 failed");
	look("{}", 0);
	CHECK(!run_awaits_missing());
	end();
	CHECK(!run_awaits_missing());
}

/* Nothing was begun. */
static void an_end_without_a_begin_is_nothing(void)
{
	run_awaits_end();
	CHECK_STR(place(1, 0), "");
}

static void run_alone(void (*test)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(20);
		test();
		exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

#define RUN_ALONE(test)                     \
	do {                                \
		fflush(stdout);             \
		run_alone(test);            \
		printf("ok - %s\n", #test); \
	} while (0)

int main(void)
{
	RUN_ALONE(looks_are_a_twentieth_of_the_time);
	RUN_ALONE(sixteen_processes_are_looked_at);
	RUN_ALONE(the_place_of_a_wait_is_the_await_of_the_program);
	RUN_ALONE(many_coroutines_are_kept);
	RUN_ALONE(a_reason_is_given_if_no_look_succeeded);
	RUN_ALONE(an_end_without_a_begin_is_nothing);
	return 0;
}
