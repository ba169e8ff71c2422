/* SPDX-License-Identifier: MIT */
/*
 * test_clock.c - the cheap clock agrees with CLOCK_MONOTONIC.
 *
 * Each reading is taken between two of the real clock, so that an interruption
 * only weakens the test, and never fails it.  The readings that came from the
 * counter are counted: a clock that always asks the system is exact, too, and proves nothing.
 *
 * This is the SDK without its library: this file defines the slow path.
 */
#define CTP_SLOW_LINKAGE static
#include <corotracer/attach.h>

#include "test_sdk_region.h"

#define ALLOWED_NS 10000u
#define RUN_NS     2000000000u

enum { NR_THREADS = 3 };

static struct ctp_process process = { .sock = -1 };
static struct region region;

static void wipe(void)
{
	if (process.session)
		memset(process.session, 0, sizeof(*process.session));
}

static const struct ctp_hooks hooks = { .wipe_in_child = wipe };

static struct ctp_session *session_open(void)
{
	region_open(&region, 4, REGION_EXT | REGION_NO_SOCKET);
	CHECK(ctp_attach(&process, &hooks));
	return process.session;
}

struct reading {
	const struct ctp_session *session;
	uint64_t run_ns;
	uint64_t reads;
	uint64_t asked; /* of these: read from the system's clock */
	uint64_t worst_ns;
	uint64_t backwards;
};

/* The distance of @now from the interval between the two readings of the real clock. */
static uint64_t distance(uint64_t before, uint64_t now, uint64_t after)
{
	if (now < before)
		return before - now;
	return now > after ? now - after : 0;
}

static void read_for_a_while(struct reading *r)
{
	uint64_t start = ctp_clock_ns(), before, now = 0, last = 0, after = start;
	struct ctp_thread t;

	memset(&t, 0, sizeof(t));
	CHECK(ctp_thread_ready(&t, r->session));
	while (after - start < r->run_ns) {
		uint64_t anchor = t.anchor_ticks, off;

		before = ctp_clock_ns();
		now = ctp_now_ns(&t, r->session);
		after = ctp_clock_ns();
		off = distance(before, now, after);
		if (off > r->worst_ns)
			r->worst_ns = off;
		r->asked += t.anchor_ticks != anchor || t.window_ticks == 0;
		r->backwards += now < last;
		r->reads++;
		last = now;
	}
}

static void *reading_thread(void *arg)
{
	read_for_a_while(arg);
	return NULL;
}

static void report(const char *what, const struct reading *r)
{
	printf("# %s: %llu reads, %llu asked the system, worst %llu ns off\n", what,
	       (unsigned long long)r->reads, (unsigned long long)r->asked,
	       (unsigned long long)r->worst_ns);
}

static void every_thread_tells_the_right_time(void)
{
	struct reading readings[NR_THREADS];
	pthread_t threads[NR_THREADS];
	const struct ctp_session *s = session_open();

	memset(readings, 0, sizeof(readings));
	for (int i = 0; i < NR_THREADS; i++) {
		readings[i].session = s;
		readings[i].run_ns = RUN_NS;
		CHECK_EQ(pthread_create(&threads[i], NULL, reading_thread, &readings[i]), 0);
	}
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < NR_THREADS; i++) {
		report("thread", &readings[i]);
		CHECK(readings[i].reads > 1000);
		CHECK(readings[i].worst_ns <= ALLOWED_NS);
		CHECK_EQ(readings[i].backwards, 0);
		if (s->counter_usable)
			CHECK(readings[i].asked < readings[i].reads / 10);
	}
}

/*
 * Pretend that the session began @age_ns ago, and that the counter's rate has differed by
 * @ppm on average since: what a thread sees when the system's clock is slewed
 * (adjtime(3) by up to 500 ppm), or when the machine slept while the counter ran on.
 */
static void expect_right_after(const char *what, uint64_t age_ns, double ppm)
{
	struct ctp_session skewed = *session_open();
	struct reading r = { .session = &skewed, .run_ns = RUN_NS / 8 };
	uint64_t ticks = 0, ns = 0;
	double ticks_per_ns;

	if (!skewed.counter_usable)
		return;
	usleep(100000);
	ctp_clock_pair(100, 0, &ticks, &ns);
	ticks_per_ns = (double)(ticks - skewed.base_ticks) / (double)(ns - skewed.base_ns);
	skewed.base_ticks = ticks - (uint64_t)((double)age_ns * ticks_per_ns);
	skewed.base_ns = ns - (uint64_t)((double)age_ns * (1.0 + ppm / 1e6));
	read_for_a_while(&r);
	report(what, &r);
	CHECK(r.worst_ns <= ALLOWED_NS);
	CHECK_EQ(r.backwards, 0);
}

#define SECOND UINT64_C(1000000000)

static void a_clock_slowed_just_now_is_followed(void)
{
	expect_right_after("slowed just now", SECOND, 500);
}

static void a_clock_hurried_just_now_is_followed(void)
{
	expect_right_after("hurried just now", SECOND, -500);
}

static void a_clock_slowed_after_a_long_run_is_followed(void)
{
	expect_right_after("slowed after a long run", 10000 * SECOND, 500);
}

static void a_clock_hurried_after_a_long_run_is_followed(void)
{
	expect_right_after("hurried after a long run", 10000 * SECOND, -500);
}

static void a_machine_that_slept_half_the_time_is_followed(void)
{
	expect_right_after("slept half the time", 10000 * SECOND, -500000);
}

static void the_counter_is_not_needed(void)
{
	struct ctp_session without = *session_open();
	struct reading r = { .session = &without, .run_ns = RUN_NS / 20 };

	without.counter_usable = 0;
	read_for_a_while(&r);
	report("no counter", &r);
	CHECK_EQ(r.worst_ns, 0);
	CHECK_EQ(r.asked, r.reads);
}

/* ---- a collector that publishes the clock ----------------------------------------------- */

/* What a collector stores in the header. */
struct clock {
	uint64_t ticks, ns;
	double ns_per_tick;
};

static struct clock clock_measure(const struct clock *since)
{
	struct clock c = { 0, 0, 0 };

	ctp_clock_pair(100, 0, &c.ticks, &c.ns);
	if (since)
		c.ns_per_tick = (double)(c.ns - since->ns) / (double)(c.ticks - since->ticks);
	return c;
}

static void clock_publish(const struct clock *c, uint64_t window_ns)
{
	struct ctp_ext_header *ext = ctp_header_ext(region.header);
	uint64_t seq = ctp_load_relaxed(&ext->clock_seq);

	ctp_store_relaxed(&ext->clock_seq, seq + 1);
	ctp_fence_store_store();
	ctp_store_relaxed(&ext->clock_ticks, c->ticks);
	ctp_store_relaxed(&ext->clock_ns, c->ns);
	ctp_store_relaxed(&ext->clock_mult, (uint64_t)(c->ns_per_tick * 4294967296.0));
	ctp_store_relaxed(&ext->clock_window, (uint64_t)((double)window_ns / c->ns_per_tick));
	ctp_store_release(&ext->clock_seq, seq + 2);
}

/* A region with a correct clock, and a session that has found it. */
static struct ctp_session *session_with_clock(struct clock *base, struct clock *now)
{
	if (!ctp_counter_usable())
		return NULL;
	region_open(&region, 4, REGION_EXT | REGION_CLOCK | REGION_NO_SOCKET);
	*base = clock_measure(NULL);
	usleep(100000);
	*now = clock_measure(base);
	clock_publish(now, CTP_CLOCK_WINDOW_NS);
	CHECK(ctp_attach(&process, &hooks));
	CHECK_EQ(process.session->clock_published, 1);
	return process.session;
}

/* So wrong that no thread can have measured it itself. */
static void a_published_clock_is_used(void)
{
	struct clock base, now;
	struct ctp_session *s = session_with_clock(&base, &now);
	struct ctp_thread t;
	uint64_t told, real;

	if (!s)
		return;
	memset(&t, 0, sizeof(t));
	CHECK(ctp_thread_ready(&t, s));
	now = clock_measure(&base);
	now.ns += 3600 * SECOND;
	clock_publish(&now, 3600 * SECOND);
	told = ctp_now_ns(&t, s);
	real = ctp_clock_ns();
	CHECK(told > real + 3599 * SECOND && told < real + 3601 * SECOND);
}

/* The collector may publish at any time, also between two readings of a program. */
static void a_clock_published_while_attaching_is_used(void)
{
	struct clock base, now;

	if (!ctp_counter_usable())
		return;
	region_open(&region, 4, REGION_EXT | REGION_CLOCK | REGION_NO_SOCKET);
	base = clock_measure(NULL);
	usleep(100000);
	now = clock_measure(&base);
	/* A time in the future when the program first reads its counter. */
	now.ticks += (uint64_t)(1e9 / now.ns_per_tick);
	now.ns += SECOND;
	clock_publish(&now, CTP_CLOCK_WINDOW_NS);
	CHECK(ctp_attach(&process, &hooks));
	CHECK_EQ(process.session->clock_published, 1);
}

static void a_clock_of_another_machine_is_not_used(void)
{
	struct clock base, now;

	if (!ctp_counter_usable())
		return;
	region_open(&region, 4, REGION_EXT | REGION_CLOCK | REGION_NO_SOCKET);
	base = clock_measure(NULL);
	usleep(100000);
	now = clock_measure(&base);
	now.ns += SECOND;
	clock_publish(&now, CTP_CLOCK_WINDOW_NS);
	CHECK(ctp_attach(&process, &hooks));
	CHECK_EQ(process.session->clock_published, 0);
}

/* The collector sleeps, or died while publishing: threads measure the clock themselves. */
static void expect_right_by_itself(struct ctp_session *s, const char *what)
{
	struct reading r = { .session = s, .run_ns = RUN_NS / 20 };

	read_for_a_while(&r);
	report(what, &r);
	CHECK(r.worst_ns <= ALLOWED_NS);
	CHECK_EQ(r.backwards, 0);
}

static void a_stale_clock_is_not_used(void)
{
	struct clock base, now;
	struct ctp_session *s = session_with_clock(&base, &now);

	if (!s)
		return;
	usleep(CTP_CLOCK_WINDOW_NS / 1000 * 2);
	expect_right_by_itself(s, "stale clock");
}

static void a_half_written_clock_is_not_used(void)
{
	struct clock base, now;
	struct ctp_session *s = session_with_clock(&base, &now);

	if (!s)
		return;
	now.ns += SECOND;
	clock_publish(&now, 3600 * SECOND);
	ctp_header_ext(region.header)->clock_seq++;
	expect_right_by_itself(s, "half-written clock");
}

/* ---- published concurrently ------------------------------------------------------------------ */

static struct {
	struct clock base;
	double ppm;
	uint32_t stop;
} publisher;

static void *publish_on(void *arg)
{
	(void)arg;
	while (!ctp_load_relaxed(&publisher.stop)) {
		struct clock now = clock_measure(&publisher.base);

		now.ns_per_tick *= 1.0 + publisher.ppm / 1e6;
		clock_publish(&now, CTP_CLOCK_WINDOW_NS);
		usleep(5000);
	}
	return NULL;
}

static void expect_right_with_publisher(const char *what, double ppm)
{
	struct clock now;
	struct ctp_session *s = session_with_clock(&publisher.base, &now);
	struct reading r = { .session = s, .run_ns = RUN_NS / 4 };
	pthread_t thread;

	if (!s)
		return;
	publisher.ppm = ppm;
	CHECK_EQ(pthread_create(&thread, NULL, publish_on, NULL), 0);
	read_for_a_while(&r);
	ctp_store_relaxed(&publisher.stop, 1u);
	pthread_join(thread, NULL);
	report(what, &r);
	CHECK(r.worst_ns <= ALLOWED_NS);
	CHECK_EQ(r.backwards, 0);
}

static void a_clock_kept_right_is_followed(void)
{
	expect_right_with_publisher("kept right", 0);
}

static void a_clock_kept_too_fast_does_not_run_away(void)
{
	expect_right_with_publisher("kept too fast", 500);
}

static void a_clock_kept_too_slow_does_not_fall_behind(void)
{
	expect_right_with_publisher("kept too slow", -500);
}

int main(void)
{
	scratch_make();
	RUN_ALONE(every_thread_tells_the_right_time);
	RUN_ALONE(the_counter_is_not_needed);
	RUN_ALONE(a_clock_hurried_just_now_is_followed);
	RUN_ALONE(a_clock_slowed_just_now_is_followed);
	RUN_ALONE(a_clock_hurried_after_a_long_run_is_followed);
	RUN_ALONE(a_clock_slowed_after_a_long_run_is_followed);
	RUN_ALONE(a_machine_that_slept_half_the_time_is_followed);
	RUN_ALONE(a_published_clock_is_used);
	RUN_ALONE(a_clock_published_while_attaching_is_used);
	RUN_ALONE(a_clock_of_another_machine_is_not_used);
	RUN_ALONE(a_stale_clock_is_not_used);
	RUN_ALONE(a_half_written_clock_is_not_used);
	RUN_ALONE(a_clock_kept_right_is_followed);
	RUN_ALONE(a_clock_kept_too_slow_does_not_fall_behind);
	RUN_ALONE(a_clock_kept_too_fast_does_not_run_away);
	return 0;
}
