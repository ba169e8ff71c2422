/* SPDX-License-Identifier: MIT */
/*
 * program.c - a traced program that counts its own events.
 *
 *	truth_program FILE [KEY=VALUE ...]
 *
 *	threads=2      threads that write events
 *	coroutines=9   per thread
 *	rounds=40      of resume and suspend
 *	hold=0         milliseconds between the last event and the exit
 *	init=1         0: the threads attach, not main
 *	wait=0         1: after the last event, print "ready" and continue at a line of input;
 *	               the threads exist until then
 *	stop=0         1: the collector is stopped while the events are written, and while
 *	               the program waits
 *	kill=0         1: end by SIGKILL
 *	status=0       exit status
 *
 * FILE receives one JSON object before the program ends: every coroutine with the number of
 * its events and with the time of its creation and of its last transition, each as [before,
 * after] the call; the events of each kind; the threads; the time just before the end.  The
 * counts are of calls: whether the events arrive in the trace does not change them.  Times
 * are CLOCK_MONOTONIC in nanoseconds.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum kind { BIRTH, WAKE, END, DESTROY, CLOSE, ACQUIRE, RELEASE, CONTEXT, NR_KINDS };

static const char *const kind_names[NR_KINDS] = { "birth", "wake",    "end",     "destroy",
						  "close", "acquire", "release", "context" };

struct span {
	uint64_t before, after;
};

struct coroutine {
	struct corotracer_coro trace;
	char name[32];
	uint64_t id, resumes, suspends, wakes;
	struct span birth, last;
	const char *state;
	const char *reason;
	uint64_t resource;
	unsigned line;
	bool gone;
};

struct thread {
	pthread_t handle;
	unsigned number;
	uint64_t tid;
	uint64_t kinds[NR_KINDS];
	struct coroutine *coroutines;
};

static struct {
	uint64_t threads, coroutines, rounds, hold, init, wait, stop, kill, status;
} options = { 2, 9, 40, 0, 1, 0, 0, 0, 0 };

static struct thread *threads;
static pthread_barrier_t written, released;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void *zeroed(uint64_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size);

	if (!p)
		exit(97);
	return p;
}

/* ---- events ------------------------------------------------------------------- */

static void begin(struct thread *t, struct coroutine *co, const struct coroutine *parent)
{
	co->birth.before = now_ns();
	corotracer_spawn(&co->trace, co->name, parent ? &parent->trace : NULL);
	co->birth.after = now_ns();
	co->id = corotracer_id(&co->trace);
	co->state = "born";
	t->kinds[BIRTH]++;
}

static void resume(struct coroutine *co)
{
	co->last.before = now_ns();
	corotracer_resume(&co->trace);
	co->last.after = now_ns();
	co->state = "running";
	co->resumes++;
}

/* Three sites, so that a command which groups by site has several groups. */
static void suspend(struct coroutine *co, unsigned number)
{
	co->resource = 100 + number % 4;
	co->last.before = now_ns();
	switch (number % 3) {
	case 0:
		co->line = __LINE__ + 1;
		corotracer_await(&co->trace, CTP_REASON_TIMER, co->resource);
		co->reason = "timer";
		break;
	case 1:
		co->line = __LINE__ + 1;
		corotracer_await(&co->trace, CTP_REASON_IO_READ, co->resource);
		co->reason = "io-read";
		break;
	default:
		co->line = __LINE__ + 1;
		corotracer_await(&co->trace, CTP_REASON_MUTEX, co->resource);
		co->reason = "mutex";
	}
	co->last.after = now_ns();
	co->state = "suspended";
	co->suspends++;
}

static void work(struct thread *t, struct coroutine *co, unsigned number, uint64_t round)
{
	if (round && number) {
		/* Each has two wakers; the more frequent one is not always the last. */
		bool is_outside = round % 4 == 2 || round % 13 == 0;

		corotracer_wake(&co->trace, is_outside ? NULL : &t->coroutines[0].trace);
		co->wakes++;
		t->kinds[WAKE]++;
	}
	resume(co);
	if (number % 4 == 1) {
		corotracer_acquired(&co->trace, 7000 + t->number);
		corotracer_released(&co->trace, 7000 + t->number);
		t->kinds[ACQUIRE]++;
		t->kinds[RELEASE]++;
	}
	if (number % 4 == 2 && round % 8 == 7) {
		corotracer_closing(&co->trace, 900 + number);
		t->kinds[CLOSE]++;
	}
	if (number % 4 == 3 && round % 8 == 1) {
		corotracer_set_traceparent(
			&co->trace, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
		t->kinds[CONTEXT]++;
	}
	suspend(co, number);
}

/*
 * Of four coroutines one finishes and is destroyed, one ends unfinished, and two are not destroyed.
 */
static void leave(struct thread *t, struct coroutine *co, unsigned number)
{
	co->gone = number % 4 >= 2;
	if (number == 0)
		resume(co); /* and runs when the program exits */
	if (number % 4 == 3) {
		resume(co);
		corotracer_done(&co->trace);
		t->kinds[END]++;
	}
	if (!co->gone)
		return;
	corotracer_end(&co->trace);
	t->kinds[number % 4 == 3 ? DESTROY : END]++;
}

/* ---- threads ------------------------------------------------------------------- */

static void *run_thread(void *arg)
{
	struct thread *t = arg;
	uint64_t round;
	unsigned i;

	t->tid = (uint64_t)syscall(SYS_gettid);
	for (i = 0; i < options.coroutines; i++) {
		struct coroutine *co = &t->coroutines[i];

		snprintf(co->name, sizeof(co->name), "t%u-c%u", t->number, i);
		begin(t, co, i ? &t->coroutines[0] : NULL);
	}
	/* Coroutine i works in every round, every second round or every third round. */
	for (round = 0; round < options.rounds; round++)
		for (i = 0; i < options.coroutines; i++)
			if (round % (1 + i % 3) == 0)
				work(t, &t->coroutines[i], i, round);
	for (i = 0; i < options.coroutines; i++)
		leave(t, &t->coroutines[i], i);
	pthread_barrier_wait(&written);
	pthread_barrier_wait(&released);
	return NULL;
}

static void start_threads(void)
{
	unsigned i;

	pthread_barrier_init(&written, NULL, (unsigned)options.threads + 1);
	pthread_barrier_init(&released, NULL, (unsigned)options.threads + 1);
	threads = zeroed(options.threads, sizeof(*threads));
	for (i = 0; i < options.threads; i++) {
		threads[i].number = i;
		threads[i].coroutines = zeroed(options.coroutines, sizeof(struct coroutine));
		if (pthread_create(&threads[i].handle, NULL, run_thread, &threads[i]) != 0)
			exit(97);
	}
	pthread_barrier_wait(&written);
}

static void end_threads(void)
{
	unsigned i;

	pthread_barrier_wait(&released);
	for (i = 0; i < options.threads; i++)
		pthread_join(threads[i].handle, NULL);
}

/* ---- the report ------------------------------------------------------------------ */

static void put_coroutine(FILE *f, const struct thread *t, const struct coroutine *co)
{
	fprintf(f,
		"{\"id\":%llu,\"name\":\"%s\",\"tid\":%llu,\"resumes\":%llu,\"suspends\":%llu,"
		"\"wakes\":%llu,",
		(unsigned long long)co->id, co->name, (unsigned long long)t->tid,
		(unsigned long long)co->resumes, (unsigned long long)co->suspends,
		(unsigned long long)co->wakes);
	fprintf(f,
		"\"birth\":[%llu,%llu],\"last\":[%llu,%llu],\"state\":\"%s\",\"reason\":\"%s\","
		"\"resource\":%llu,\"line\":%u,\"gone\":%s}",
		(unsigned long long)co->birth.before, (unsigned long long)co->birth.after,
		(unsigned long long)co->last.before, (unsigned long long)co->last.after, co->state,
		co->reason ? co->reason : "", (unsigned long long)co->resource, co->line,
		co->gone ? "true" : "false");
}

static void put_kinds(FILE *f)
{
	unsigned kind;

	fputs("\"kinds\":{", f);
	for (kind = 0; kind < NR_KINDS; kind++) {
		uint64_t sum = 0, i;

		for (i = 0; i < options.threads; i++)
			sum += threads[i].kinds[kind];
		fprintf(f, "%s\"%s\":%llu", kind ? "," : "", kind_names[kind],
			(unsigned long long)sum);
	}
	fputs("}", f);
}

static void put_truth(const char *path, uint64_t start)
{
	FILE *f = fopen(path, "w");
	uint64_t i, k;

	if (!f)
		exit(97);
	fprintf(f, "{\"pid\":%d,\"start\":%llu,\"threads\":[", (int)getpid(),
		(unsigned long long)start);
	for (i = 0; i < options.threads; i++)
		fprintf(f, "%s%llu", i ? "," : "", (unsigned long long)threads[i].tid);
	fputs("],", f);
	put_kinds(f);
	fputs(",\"coroutines\":[", f);
	for (i = 0; i < options.threads; i++)
		for (k = 0; k < options.coroutines; k++) {
			fputs(i || k ? ",\n" : "\n", f);
			put_coroutine(f, &threads[i], &threads[i].coroutines[k]);
		}
	fprintf(f, "],\"exit\":%llu}\n", (unsigned long long)now_ns());
	if (fclose(f) != 0)
		exit(97);
}

/* ---- options ----------------------------------------------------------------------- */

static bool set_option(const char *word)
{
	static const struct {
		const char *key;
		uint64_t *value;
	} known[] = {
		{ "threads=", &options.threads }, { "coroutines=", &options.coroutines },
		{ "rounds=", &options.rounds },   { "hold=", &options.hold },
		{ "init=", &options.init },       { "wait=", &options.wait },
		{ "stop=", &options.stop },       { "kill=", &options.kill },
		{ "status=", &options.status },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t length = strlen(known[i].key);

		if (strncmp(word, known[i].key, length) == 0) {
			*known[i].value = strtoull(word + length, NULL, 10);
			return true;
		}
	}
	fprintf(stderr, "truth_program: unknown option '%s'\n", word);
	return false;
}

int main(int argc, char **argv)
{
	uint64_t start = now_ns();
	int i;

	for (i = 2; i < argc; i++)
		if (!set_option(argv[i]))
			return 98;
	if (argc < 2)
		return 98;
	if (options.init)
		corotracer_init();
	if (options.stop)
		kill(getppid(), SIGSTOP);
	start_threads();
	if (options.wait) {
		put_truth(argv[1], start);
		puts("ready");
		fflush(stdout);
		(void)getchar();
	}
	if (options.stop)
		kill(getppid(), SIGCONT);
	end_threads();
	usleep((useconds_t)options.hold * 1000);
	put_truth(argv[1], start);
	if (options.kill)
		kill(getpid(), SIGKILL);
	return (int)options.status;
}
