/* SPDX-License-Identifier: MIT */
/*
 * lanes_target.c - programs that overrun rings of eight slots, and a checker of their traces.
 *
 *	lanes_target turns N EVENTS             N coroutines in turns, EVENTS in all
 *	lanes_target one-hot N EVENTS           one of N has nearly all of them
 *	lanes_target bursts N EVENTS            64 at a time, one coroutine after another
 *	lanes_target threads T EVENTS           T threads, EVENTS each, 16 coroutines each
 *	lanes_target short TOTAL ALIVE          TOTAL coroutines of four events, ALIVE at a time
 *	lanes_target alive N                    N coroutines of two events, all alive at once
 *	lanes_target pass TOTAL                 created on one thread, destroyed on another
 *	lanes_target churn THREADS              THREADS threads start and end, ten at a time
 *	lanes_target wander T N EVENTS          N coroutines wander between T threads
 *	lanes_target forks N EVENTS             N forked children, while the parent writes
 *	lanes_target clock EVENTS FILE          the time before and after each event, into FILE
 *	lanes_target stopped N EVENTS           while the collector is stopped
 *	lanes_target many-threads T EVENTS      T threads at once, EVENTS each
 *	lanes_target leader ROUNDS              a daemon whose first thread ends before the others
 *	lanes_target endless N                  until killed; prints "ready" first
 *	lanes_target untold N EVENTS            exits without destroying its coroutines
 *
 * Event k of a coroutine, from 0: even a resume, odd a suspend at address k.  Prints on
 * stderr what it wrote: "target: EVENTS events of COROUTINES".
 *
 *	lanes_target check                      check JSON lines on standard input
 *
 * One object on stdout: how many events of how many coroutines (ids); of these complete
 * (every event, in order, from the first on), in_order (events missing, but none
 * twice and none out of order) and broken (corrupt); how often time went back within a
 * coroutine or a thread.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct co {
	struct corotracer_coro trace;
	uint64_t k;
};

static uint64_t nr_events, nr_coroutines; /* [shared] */

static uint64_t arg(char **argv, int i)
{
	return argv[i] ? strtoull(argv[i], NULL, 0) : 0;
}

static void die(const char *why)
{
	fprintf(stderr, "lanes_target: %s\n", why);
	exit(97);
}

static void *zeroed(uint64_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size);

	if (!p)
		die("no memory");
	return p;
}

static void sleep_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&ts, NULL);
}

/* ---- events ---------------------------------------------------------------------------- */

static void begin(struct co *co, const char *name)
{
	co->k = 0;
	corotracer_begin(&co->trace, name);
	ctp_fetch_add_relaxed(&nr_coroutines, 1u);
}

static inline void step(struct co *co)
{
	uint64_t k = co->k++;

	if (k % 2)
		corotracer_suspend(&co->trace, (const void *)(uintptr_t)k);
	else
		corotracer_resume(&co->trace);
}

static void count(uint64_t events)
{
	ctp_fetch_add_relaxed(&nr_events, events);
}

static struct co *begin_all(uint64_t nr)
{
	struct co *cos = zeroed(nr, sizeof(*cos));
	uint64_t i;

	for (i = 0; i < nr; i++)
		begin(&cos[i], NULL);
	return cos;
}

static void end_all(struct co *cos, uint64_t nr)
{
	uint64_t i;

	for (i = 0; i < nr; i++)
		corotracer_end(&cos[i].trace);
	free(cos);
}

static void take_turns(struct co *cos, uint64_t nr, uint64_t events)
{
	uint64_t k;

	for (k = 0; k < events; k++)
		step(&cos[k % nr]);
	count(events);
}

static int do_turns(char **argv)
{
	uint64_t nr = arg(argv, 2);
	struct co *cos = begin_all(nr);

	take_turns(cos, nr, arg(argv, 3));
	end_all(cos, nr);
	return 0;
}

static int do_untold(char **argv)
{
	uint64_t nr = arg(argv, 2);
	struct co *cos = begin_all(nr);

	take_turns(cos, nr, arg(argv, 3));
	free(cos); /* the collector sees no end of these coroutines */
	return 0;
}

static int do_one_hot(char **argv)
{
	uint64_t nr = arg(argv, 2), events = arg(argv, 3), k;
	struct co *cos = begin_all(nr);

	for (k = 0; k < events; k++)
		step(k % 1000 ? &cos[0] : &cos[k / 1000 % nr]);
	count(events);
	end_all(cos, nr);
	return 0;
}

static int do_bursts(char **argv)
{
	uint64_t nr = arg(argv, 2), events = arg(argv, 3), k;
	struct co *cos = begin_all(nr);

	for (k = 0; k < events; k++)
		step(&cos[k / 64 % nr]);
	count(events);
	end_all(cos, nr);
	return 0;
}

static int do_stopped(char **argv)
{
	uint64_t nr = arg(argv, 2);
	pid_t collector = getppid();
	struct co *cos = begin_all(nr);

	kill(collector, SIGSTOP);
	take_turns(cos, nr, arg(argv, 3));
	kill(collector, SIGCONT);
	end_all(cos, nr);
	return 0;
}

static int do_endless(char **argv)
{
	uint64_t nr = arg(argv, 2);
	struct co *cos = begin_all(nr);

	fputs("ready\n", stderr);
	for (;;)
		take_turns(cos, nr, 1000);
	return 0;
}

/* ---- many short-lived coroutines ------------------------------------------------------------- */

static int do_short(char **argv)
{
	uint64_t total = arg(argv, 2), alive = arg(argv, 3), i;
	struct co *ring = zeroed(alive, sizeof(*ring));

	for (i = 0; i < total; i++) {
		struct co *co = &ring[i % alive];

		/* Two events after its creation, two before it makes room for the next. */
		if (i >= alive) {
			step(co);
			step(co);
			corotracer_end(&co->trace);
		}
		begin(co, NULL);
		step(co);
		step(co);
	}
	for (i = 0; i < alive && i < total; i++) {
		step(&ring[i]);
		step(&ring[i]);
		corotracer_end(&ring[i].trace);
	}
	count(4 * total);
	free(ring);
	return 0;
}

/* The collector's memory without the region, in bytes. */
static uint64_t collector_memory(void)
{
	char path[64], line[256];
	uint64_t kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)getppid());
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "RssAnon:", 8))
			kib = strtoull(line + 8, NULL, 10);
	if (f)
		fclose(f);
	return kib * 1024;
}

static int do_alive(char **argv)
{
	uint64_t nr = arg(argv, 2), i, before = collector_memory();
	struct co *cos = zeroed(nr, sizeof(*cos));

	for (i = 0; i < nr; i++) {
		begin(&cos[i], NULL);
		step(&cos[i]);
		step(&cos[i]);
	}
	count(2 * nr);
	sleep_us(300000); /* time for the collector to see them all */
	fprintf(stderr, "collector grew by %llu bytes\n",
		(unsigned long long)(collector_memory() - before));
	end_all(cos, nr);
	return 0;
}

/* ---- threads ------------------------------------------------------------------------------------
 */

static void run_threads(uint64_t nr, void *(*run)(void *), void *arg_of_all)
{
	pthread_t *threads = zeroed(nr, sizeof(*threads));
	uint64_t i;

	for (i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, run, arg_of_all) != 0)
			die("no thread");
	for (i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static uint64_t events_each;

static void *run_turns(void *unused)
{
	struct co *cos = begin_all(16);

	(void)unused;
	take_turns(cos, 16, events_each);
	end_all(cos, 16);
	return NULL;
}

static int do_threads(char **argv)
{
	events_each = arg(argv, 3);
	run_threads(arg(argv, 2), run_turns, NULL);
	return 0;
}

/* All threads have, or need, a lane at the same time. */
static pthread_barrier_t together;

static void *run_together(void *unused)
{
	struct co co;

	(void)unused;
	begin(&co, NULL);
	take_turns(&co, 1, events_each);
	pthread_barrier_wait(&together);
	corotracer_end(&co.trace);
	return NULL;
}

static int do_many_threads(char **argv)
{
	events_each = arg(argv, 3);
	pthread_barrier_init(&together, NULL, (unsigned)arg(argv, 2));
	run_threads(arg(argv, 2), run_together, NULL);
	return 0;
}

static void say(void)
{
	fprintf(stderr, "target: %llu events of %llu\n", (unsigned long long)nr_events,
		(unsigned long long)nr_coroutines);
}

/* Slow enough for the collector to notice that the first thread has ended. */
static void *run_rounds(void *rounds)
{
	uint64_t k;
	struct co co;

	begin(&co, NULL);
	for (k = 0; k < *(const uint64_t *)rounds; k++) {
		take_turns(&co, 1, 20);
		sleep_us(1000);
	}
	corotracer_end(&co.trace);
	say();
	return NULL;
}

/*
 * As a daemon it closes all descriptors that it did not open; the process then looks like a zombie.
 */
static int do_leader(char **argv)
{
	static uint64_t rounds;
	pthread_t rest;
	long fd, most = sysconf(_SC_OPEN_MAX);

	rounds = arg(argv, 2);
	free(begin_all(1)); /* so that there is a connection to close */
	for (fd = 3; fd < (most < 65536 ? most : 65536); fd++)
		close((int)fd);
	if (pthread_create(&rest, NULL, run_rounds, &rounds) != 0)
		die("no thread");
	pthread_detach(rest);
	pthread_exit(NULL);
}

static void *run_short_thread(void *unused)
{
	struct co co;

	(void)unused;
	begin(&co, "in a thread of its own");
	take_turns(&co, 1, 20);
	corotracer_end(&co.trace);
	return NULL;
}

static int do_churn(char **argv)
{
	uint64_t i;

	for (i = 0; i < arg(argv, 2) / 10; i++)
		run_threads(10, run_short_thread, NULL);
	return 0;
}

/* A queue with one element; its lock hands the coroutine over, as in a scheduler. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct co place[256];
	uint64_t put, taken, total;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void *run_consumer(void *unused)
{
	(void)unused;
	for (;;) {
		struct co co;

		pthread_mutex_lock(&queue.lock);
		while (queue.taken == queue.put && queue.taken < queue.total)
			pthread_cond_wait(&queue.changed, &queue.lock);
		if (queue.taken == queue.total) {
			pthread_mutex_unlock(&queue.lock);
			return NULL;
		}
		co = queue.place[queue.taken++ % 256];
		pthread_cond_broadcast(&queue.changed);
		pthread_mutex_unlock(&queue.lock);
		step(&co);
		step(&co);
		corotracer_end(&co.trace);
	}
}

static int do_pass(char **argv)
{
	pthread_t consumer;
	uint64_t i;

	queue.total = arg(argv, 2);
	if (pthread_create(&consumer, NULL, run_consumer, NULL) != 0)
		die("no thread");
	for (i = 0; i < queue.total; i++) {
		struct co co;

		begin(&co, NULL);
		step(&co);
		step(&co);
		pthread_mutex_lock(&queue.lock);
		while (queue.put - queue.taken == 256)
			pthread_cond_wait(&queue.changed, &queue.lock);
		queue.place[queue.put++ % 256] = co;
		pthread_cond_broadcast(&queue.changed);
		pthread_mutex_unlock(&queue.lock);
	}
	pthread_join(consumer, NULL);
	count(4 * queue.total);
	return 0;
}

/* A thread that finds a coroutine free uses it for one or two events. */
static struct wanderer {
	struct co co;
	uint32_t taken; /* [shared] */
} * wanderers;
static uint64_t nr_wanderers;

static void *run_wander(void *unused)
{
	uint64_t at = (uint64_t)(uintptr_t)&unused / 64, left = events_each;

	while (left) {
		struct wanderer *w = &wanderers[at++ % nr_wanderers];

		/* The hand-over: acquire pairs with the release below, as in any lock. */
		if (__atomic_exchange_n(&w->taken, 1u, __ATOMIC_ACQUIRE))
			continue;
		step(&w->co);
		left--;
		__atomic_store_n(&w->taken, 0u, __ATOMIC_RELEASE);
	}
	count(events_each);
	return NULL;
}

static int do_wander(char **argv)
{
	uint64_t i, threads = arg(argv, 2);

	nr_wanderers = arg(argv, 3);
	wanderers = zeroed(nr_wanderers, sizeof(*wanderers));
	for (i = 0; i < nr_wanderers; i++)
		begin(&wanderers[i].co, NULL);
	events_each = arg(argv, 4) / threads;
	run_threads(threads, run_wander, NULL);
	for (i = 0; i < nr_wanderers; i++)
		corotracer_end(&wanderers[i].co.trace);
	free(wanderers);
	return 0;
}

/* ---- processes
 * ------------------------------------------------------------------------------------ */

static void live_as_child(struct co *inherited, uint64_t nr, uint64_t events)
{
	struct co *own;

	/* Inherited coroutines must write nothing: their events would be out of order. */
	take_turns(inherited, nr, 100);
	own = begin_all(4);
	take_turns(own, 4, events);
	take_turns(inherited, nr, 100);
	end_all(own, 4);
	end_all(inherited, nr);
}

static int do_forks(char **argv)
{
	uint64_t children = arg(argv, 2), events = arg(argv, 3), i;
	struct co *cos = begin_all(8);
	int status;

	for (i = 0; i < children; i++) {
		pid_t pid;

		take_turns(cos, 8, events);
		pid = fork();
		if (pid == 0) {
			live_as_child(cos, 8, events);
			_exit(0);
		}
		if (pid < 0)
			die("no child");
		count(events); /* the child's */
		nr_coroutines += 4;
	}
	take_turns(cos, 8, events);
	for (i = 0; i < children; i++)
		if (wait(&status) < 0 || status != 0)
			die("a child failed");
	end_all(cos, 8);
	return 0;
}

/* ---- the clock
 * ---------------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int do_clock(char **argv)
{
	uint64_t events = arg(argv, 2), k;
	uint64_t *before = zeroed(events, sizeof(*before)), *after = zeroed(events, sizeof(*after));
	struct co co;
	FILE *f;

	begin(&co, NULL);
	for (k = 0; k < events; k++) {
		before[k] = now_ns();
		step(&co);
		after[k] = now_ns();
		/* Sometimes the collector sleeps in between, sometimes it polls fast. */
		if (k % 1000 == 999)
			sleep_us(k % 10000 == 9999 ? 300000 : 3000);
	}
	count(events);
	corotracer_end(&co.trace);
	f = fopen(argv[3], "w");
	for (k = 0; f && k < events; k++)
		fprintf(f, "%llu %llu\n", (unsigned long long)before[k],
			(unsigned long long)after[k]);
	free(before);
	free(after);
	return f && fclose(f) == 0 ? 0 : 1;
}

/* ---- the judge
 * ------------------------------------------------------------------------------------------- */

struct judged {
	uint64_t events;
	uint64_t next; /* the lowest number that its next event can have */
	uint64_t ts;
	uint64_t missing;
	bool broken;
};

struct thread_seen {
	uint64_t tid, ts;
};

static struct judged *judged;
static uint64_t room;
static struct thread_seen seen[65536];
static uint64_t back_coroutine, back_thread, max_id;

static uint64_t member(const char *line, const char *key, int base)
{
	const char *at = strstr(line, key);

	if (!at)
		die("a line that is no event");
	return strtoull(at + strlen(key), NULL, base);
}

static struct judged *judged_of(uint64_t id)
{
	if (id > 200000000u)
		die("an id that no coroutine can have");
	while (id >= room) {
		uint64_t more = room ? 2 * room : 1024;

		judged = reallocarray(judged, more, sizeof(*judged));
		if (!judged)
			die("no memory");
		memset(judged + room, 0, (more - room) * sizeof(*judged));
		room = more;
	}
	if (id > max_id)
		max_id = id;
	return &judged[id];
}

/* The address of a suspend is its number; the number of a resume is even. */
static void judge_number(struct judged *j, uint64_t addr, bool is_active)
{
	uint64_t k = is_active ? j->next + j->next % 2 : addr;

	if (is_active ? addr != 0 : k % 2 == 0 || k < j->next)
		j->broken = true;
	else
		j->missing += k - j->next;
	j->next = k + 1;
}

static void judge_thread(uint64_t tid, uint64_t ts)
{
	struct thread_seen *s = &seen[tid % 65536];

	if (s->tid == tid && ts < s->ts)
		back_thread++;
	s->tid = tid;
	s->ts = ts;
}

static void judge(const char *line)
{
	struct judged *j = judged_of(member(line, "\"probe_id\":", 10));
	uint64_t ts = member(line, "\"ts\":", 10);

	judge_number(j, member(line, "\"addr\":\"", 16),
		     strstr(line, "\"is_active\":true") != NULL);
	judge_thread(member(line, "\"tid\":", 10), ts);
	back_coroutine += j->events && ts <= j->ts;
	j->ts = ts;
	j->events++;
}

static int do_check(char **argv)
{
	uint64_t events = 0, ids = 0, complete = 0, in_order = 0, broken = 0, missing = 0, i;
	static char line[65536];

	(void)argv;
	while (fgets(line, sizeof(line), stdin)) {
		judge(line);
		events++;
	}
	for (i = 0; i < room; i++) {
		if (!judged[i].events)
			continue;
		ids++;
		missing += judged[i].missing;
		if (judged[i].broken)
			broken++;
		else if (judged[i].missing)
			in_order++;
		else
			complete++;
	}
	printf("{\"events\":%llu,\"ids\":%llu,\"max_id\":%llu,\"complete\":%llu,\"in_order\":%llu,"
	       "\"broken\":%llu,\"missing_inside\":%llu,\"back_coroutine\":%llu,"
	       "\"back_thread\":%llu}\n",
	       (unsigned long long)events, (unsigned long long)ids, (unsigned long long)max_id,
	       (unsigned long long)complete, (unsigned long long)in_order,
	       (unsigned long long)broken, (unsigned long long)missing,
	       (unsigned long long)back_coroutine, (unsigned long long)back_thread);
	free(judged);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **argv);
	} deeds[] = {
		{ "turns", do_turns },     { "one-hot", do_one_hot },
		{ "bursts", do_bursts },   { "threads", do_threads },
		{ "short", do_short },     { "alive", do_alive },
		{ "pass", do_pass },       { "churn", do_churn },
		{ "wander", do_wander },   { "forks", do_forks },
		{ "clock", do_clock },     { "stopped", do_stopped },
		{ "endless", do_endless }, { "many-threads", do_many_threads },
		{ "untold", do_untold },   { "leader", do_leader },
		{ "check", do_check },
	};
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		int status;

		if (strcmp(argv[1], deeds[i].name) != 0)
			continue;
		/* Early, as one should: a thread that comes while another joins waits 20 ms at
		 * most. */
		if (deeds[i].run != do_check)
			corotracer_init();
		status = deeds[i].run(argv);
		if (deeds[i].run != do_check)
			say();
		return status;
	}
	fputs("lanes_target: see the head of lanes_target.c\n", stderr);
	return 98;
}
