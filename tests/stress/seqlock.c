/* SPDX-License-Identifier: MIT */
/*
 * seqlock.c - a slot under two real cores: the naive order tears, the SDK's does not.
 *
 * naive   seq odd by a release store, payload, seq even by a release store; read by
 *         an acquire load, a copy, an acquire load: the order of cTP 0.x SDKs and
 *         collectors.  On aarch64 the payload may be seen before the odd mark.
 * SDK     ctp_slot_write() and ctp_slot_read().
 *
 * The payload of write n is made from n, each field differently, so that a mix of
 * two writes shows.  is_active is the field to watch: it is in the other half of
 * the line than seq.
 *
 * A run without contention proves nothing, so three counts must be high enough:
 * reads that were accepted, different writes among them, and reads that were rejected
 * because of a concurrent write.  On aarch64 the naive order must tear as well, or the
 * test could not have seen it; x86 keeps stores in order, and there its figure is
 * only printed.
 *
 * usage: seqlock [--functional]
 *   --functional   do not require the naive order to tear (under an emulator)
 */
#include <corotracer/slot.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A sanitizer adds so much code between two accesses that nothing tears. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#else
#define SANITIZED 0
#endif

#if defined(__aarch64__)
#define ARCH            "aarch64"
#define NAIVE_MUST_TEAR (!SANITIZED)
#elif defined(__x86_64__)
#define ARCH            "x86_64"
#define NAIVE_MUST_TEAR false
#else
#define ARCH            "other"
#define NAIVE_MUST_TEAR false
#endif

#define SLICE_MS        250
#define OURS_BUDGET_MS  60000 /* for enough reads; usually a fraction of a second is enough */
#define NAIVE_BUDGET_MS 20000 /* for the first torn read, where one is required */

#define ENOUGH_ACCEPTED 100000u
#define ENOUGH_DISTINCT 10000u
#define ENOUGH_REJECTED 100u

enum order { NAIVE, OURS };

/* How the two interfere. */
struct setting {
	const char *name;
	unsigned nr_slots;
	unsigned cold_lines; /* other lines that the writer touches between two writes */
};

static const struct setting settings[] = {
	{ "one slot", 1, 0 },     { "one station", CTP_SLOTS, 0 },
	{ "cold slot", 1, 96 },   { "cold station", CTP_SLOTS, 24 },
	{ "many slots", 512, 4 },
};

#define NR_SETTINGS (sizeof(settings) / sizeof(settings[0]))
#define MAX_SLOTS   512u
#define COLD_LINES  (1u << 17) /* 8 MiB: more than a core's own caches hold */

struct counts {
	uint64_t accepted;
	uint64_t distinct;
	uint64_t rejected;
	uint64_t torn;
};

static void counts_add(struct counts *sum, const struct counts *c)
{
	sum->accepted += c->accepted;
	sum->distinct += c->distinct;
	sum->rejected += c->rejected;
	sum->torn += c->torn;
}

/* One writer and one reader on the same slots. */
struct race {
	const struct setting *setting;
	enum order order;
	struct ctp_epoch *slots;
	struct counts counts; /* the reader's */
	uint64_t last[MAX_SLOTS];
	uint64_t next[MAX_SLOTS]; /* the writer's */
	uint32_t stop;
	unsigned cpu[2];
};

static unsigned char cold_memory[COLD_LINES][64] __attribute__((aligned(64)));

/* ---- the payload of write n --------------------------------------------------- */

static uint64_t mix(uint64_t n)
{
	return n * UINT64_C(0x9e3779b97f4a7c15);
}

static bool is_whole(const struct ctp_event *e)
{
	uint64_t n = e->seq / 2;

	return e->time_ns == n && e->tid == ~n && e->addr == mix(n) && e->is_active == (uint8_t)n;
}

/* ---- the naive order ------------------------------------------------------------ */

static void naive_write(struct ctp_epoch *slot, uint64_t n)
{
	__atomic_store_n(&slot->seq, 2 * n - 1, __ATOMIC_RELEASE);
	ctp_store_relaxed(&slot->addr, mix(n));
	ctp_store_relaxed(&slot->tid, ~n);
	ctp_store_relaxed(&slot->timestamp, n);
	ctp_store_relaxed(&slot->is_active, (uint8_t)n);
	__atomic_store_n(&slot->seq, 2 * n, __ATOMIC_RELEASE);
}

static int naive_read(const struct ctp_epoch *slot, uint64_t seq, struct ctp_event *out)
{
	if (__atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE) != seq)
		return 0;
	ctp_slot_copy(slot, out);
	out->seq = seq;
	return __atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE) == seq;
}

/* ---- the two threads --------------------------------------------------------------- */

static void pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		perror("sched_setaffinity");
}

/* Push the slot out of the core's nearest caches. */
static void touch_cold_lines(unsigned nr, uint64_t *position)
{
	for (unsigned i = 0; i < nr; i++) {
		volatile unsigned char *line = cold_memory[(*position)++ % COLD_LINES];

		*line = (unsigned char)(*line + 1);
	}
}

static void *write_until_stopped(void *arg)
{
	struct race *race = arg;
	uint64_t position = 0;

	pin(race->cpu[0]);
	while (!ctp_load_relaxed(&race->stop)) {
		for (unsigned i = 0; i < race->setting->nr_slots; i++) {
			uint64_t n = ++race->next[i];

			touch_cold_lines(race->setting->cold_lines, &position);
			if (race->order == OURS)
				ctp_slot_write(&race->slots[i], 2 * n, n, ~n, mix(n), (uint8_t)n);
			else
				naive_write(&race->slots[i], n);
		}
	}
	return NULL;
}

static void read_once(struct race *race, struct ctp_epoch *slot, uint64_t *last)
{
	uint64_t seq = ctp_load_relaxed(&slot->seq);
	struct ctp_event e;
	int ok;

	if (seq == 0)
		return;
	if (seq % 2) {
		race->counts.rejected++;
		return;
	}
	ok = race->order == OURS ? ctp_slot_read(slot, seq, &e) : naive_read(slot, seq, &e);
	if (!ok) {
		race->counts.rejected++;
		return;
	}
	race->counts.accepted++;
	race->counts.distinct += seq != *last;
	race->counts.torn += !is_whole(&e);
	*last = seq;
}

static void *read_until_stopped(void *arg)
{
	struct race *race = arg;

	pin(race->cpu[1]);
	while (!ctp_load_relaxed(&race->stop))
		for (unsigned i = 0; i < race->setting->nr_slots; i++)
			read_once(race, &race->slots[i], &race->last[i]);
	return NULL;
}

static void sleep_ms(long ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* Run both threads for a slice of time; adds to @sum. */
static void race_once(enum order order, const struct setting *setting, const unsigned *cpu,
		      struct counts *sum)
{
	static struct ctp_epoch slots[MAX_SLOTS];
	static struct race race;
	pthread_t writer, reader;

	memset(&race, 0, sizeof(race));
	memset(slots, 0, sizeof(slots));
	race.setting = setting;
	race.order = order;
	race.slots = slots;
	memcpy(race.cpu, cpu, sizeof(race.cpu));
	if (pthread_create(&writer, NULL, write_until_stopped, &race) != 0 ||
	    pthread_create(&reader, NULL, read_until_stopped, &race) != 0) {
		fprintf(stderr, "cannot create a thread\n");
		exit(1);
	}
	sleep_ms(SLICE_MS);
	ctp_store_relaxed(&race.stop, 1u);
	pthread_join(writer, NULL);
	pthread_join(reader, NULL);
	counts_add(sum, &race.counts);
}

/* ---- the result ---------------------------------------------------------------------- */

static void print_row(enum order order, const char *setting, const struct counts *c)
{
	printf("%-6s %-8s %-13s %12llu %12llu %12llu %10llu\n", order == OURS ? "ours" : "naive",
	       ARCH, setting, (unsigned long long)c->accepted, (unsigned long long)c->distinct,
	       (unsigned long long)c->rejected, (unsigned long long)c->torn);
	fflush(stdout);
}

static bool enough(const struct counts *c)
{
	return c->accepted >= ENOUGH_ACCEPTED && c->distinct >= ENOUGH_DISTINCT &&
	       c->rejected >= ENOUGH_REJECTED;
}

/* All settings once; prints a row each if @print. */
static void race_all(enum order order, const unsigned *cpu, bool print, struct counts *sum)
{
	for (size_t i = 0; i < NR_SETTINGS; i++) {
		struct counts c = { 0 };

		race_once(order, &settings[i], cpu, &c);
		if (print)
			print_row(order, settings[i].name, &c);
		counts_add(sum, &c);
	}
}

static bool check_naive(const unsigned *cpu, bool must_tear)
{
	struct counts sum = { 0 };
	long spent = 0;

	do {
		race_all(NAIVE, cpu, spent == 0, &sum);
		spent += SLICE_MS * (long)NR_SETTINGS;
	} while (must_tear && !sum.torn && spent < NAIVE_BUDGET_MS);
	print_row(NAIVE, "all", &sum);
	if (must_tear && !sum.torn) {
		fprintf(stderr,
			"the naive order never tore: this test would not see a torn read\n");
		return false;
	}
	return true;
}

static bool check_ours(const unsigned *cpu)
{
	struct counts sum = { 0 };
	long spent = 0;

	do {
		race_all(OURS, cpu, spent == 0, &sum);
		spent += SLICE_MS * (long)NR_SETTINGS;
	} while (!sum.torn && !enough(&sum) && spent < OURS_BUDGET_MS);
	print_row(OURS, "all", &sum);
	if (sum.torn)
		fprintf(stderr, "ctp_slot_read() accepted a torn event\n");
	else if (!enough(&sum))
		fprintf(stderr, "the two hardly met: nothing is proved\n");
	return !sum.torn && enough(&sum);
}

/* The first two processors that this process may use. */
static bool pick_cpus(unsigned *cpu)
{
	cpu_set_t set;
	int found = 0;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return false;
	for (unsigned i = 0; i < CPU_SETSIZE && found < 2; i++)
		if (CPU_ISSET(i, &set))
			cpu[found++] = i;
	return found == 2;
}

int main(int argc, char **argv)
{
	bool functional = argc > 1 && strcmp(argv[1], "--functional") == 0;
	bool naive_ok, ours_ok;
	unsigned cpu[2];

	if (!pick_cpus(cpu)) {
		printf("skipped: a race needs two processors, there is one\n");
		return 77;
	}
	printf("%-6s %-8s %-13s %12s %12s %12s %10s\n", "order", "machine", "setting", "accepted",
	       "distinct", "rejected", "torn");
	naive_ok = check_naive(cpu, NAIVE_MUST_TEAR && !functional);
	ours_ok = check_ours(cpu);
	return naive_ok && ours_ok ? 0 : 1;
}
