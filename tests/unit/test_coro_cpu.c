/* SPDX-License-Identifier: MIT */
/* test_coro_cpu.c - processor time of coroutines: late switches, full rings, coroutines that end.
 */
#include "collect/coro_cpu.h"
#include "check.h"

#define US UINT64_C(1000)

static void add_event(struct coro_cpu *c, uint64_t ts, uint64_t id, uint64_t tid, uint8_t kind)
{
	struct trace_event ev = { .ts = ts,
				  .probe_id = id,
				  .tid = tid,
				  .kind = kind,
				  .is_active = kind == TRACE_RESUME };

	coro_cpu_event(c, &ev);
}

static const struct coro_cpu_row *row_of_id(const struct coro_cpu *c, uint64_t id)
{
	size_t i;

	for (i = 0; i < c->nr; i++) {
		if (c->rows[i].id == id)
			return &c->rows[i];
	}
	return NULL;
}

static void a_slice_waits_for_its_switches(void)
{
	struct coro_cpu c;

	coro_cpu_open(&c);
	add_event(&c, 10 * US, 1, 7, TRACE_RESUME);
	add_event(&c, 50 * US, 1, 7, TRACE_SUSPEND);
	coro_cpu_settle(&c, 40 * US);
	CHECK_EQ(row_of_id(&c, 1)->slices, 0);
	coro_cpu_wait(&c, 7, 5 * US, 12 * US, false);
	coro_cpu_wait(&c, 7, 20 * US, 30 * US, true);
	coro_cpu_wait(&c, 7, 49 * US, 60 * US, false);
	coro_cpu_settle(&c, 70 * US);
	CHECK_EQ(row_of_id(&c, 1)->slices, 1);
	CHECK_EQ(row_of_id(&c, 1)->ns, 40 * US);
	CHECK_EQ(row_of_id(&c, 1)->queued_ns, 3 * US);
	CHECK_EQ(row_of_id(&c, 1)->blocked_ns, 10 * US);
	coro_cpu_close(&c);
}

static void what_is_not_known_is_not_measured(void)
{
	struct coro_cpu c;
	uint64_t i;

	coro_cpu_open(&c);
	coro_cpu_forget(&c, 20 * US);
	add_event(&c, 10 * US, 1, 7, TRACE_RESUME); /* before the loss */
	add_event(&c, 50 * US, 1, 7, TRACE_SUSPEND);
	add_event(&c, 60 * US, 1, 7, TRACE_RESUME);
	add_event(&c, 70 * US, 1, 8, TRACE_SUSPEND); /* on another thread */
	coro_cpu_settle(&c, 80 * US);
	CHECK_EQ(row_of_id(&c, 1)->slices, 0);
	/* More waits in a slice than are kept. */
	add_event(&c, 90 * US, 1, 7, TRACE_RESUME);
	for (i = 0; i < 3 * CORO_CPU_WAITS; i++)
		coro_cpu_wait(&c, 7, (100 + 2 * i) * US, (101 + 2 * i) * US, true);
	add_event(&c, (100 + 2 * i) * US, 1, 7, TRACE_SUSPEND);
	coro_cpu_settle(&c, (101 + 2 * i) * US);
	CHECK_EQ(row_of_id(&c, 1)->slices, 0);
	/* The newest ones are there. */
	add_event(&c, (90 + 2 * i) * US, 1, 7, TRACE_RESUME);
	add_event(&c, (102 + 2 * i) * US, 1, 7, TRACE_SUSPEND);
	coro_cpu_settle(&c, (103 + 2 * i) * US);
	CHECK_EQ(row_of_id(&c, 1)->slices, 1);
	CHECK_EQ(row_of_id(&c, 1)->blocked_ns, 5 * US);
	coro_cpu_close(&c);
}

static void ended_coroutines_leave_their_rows(void)
{
	struct coro_cpu c;
	uint64_t id;

	coro_cpu_open(&c);
	for (id = 1; id < 200000; id++) {
		add_event(&c, id * US, id, 7, TRACE_RESUME);
		add_event(&c, id * US + 500, id, 7, TRACE_SUSPEND);
		add_event(&c, id * US + 600, id, 7, TRACE_END);
		if (id % 1000 == 0)
			coro_cpu_settle(&c, id * US);
	}
	CHECK(c.nr < 4096);
	coro_cpu_close(&c);
}

static uint64_t overlap_ns(uint64_t from, uint64_t to, uint64_t slice_from, uint64_t slice_to)
{
	uint64_t begin = from > slice_from ? from : slice_from;
	uint64_t end = to < slice_to ? to : slice_to;

	return end > begin ? end - begin : 0;
}

/* Nested coroutines end in the other order; slices and waits of all lengths, on two threads. */
static void nested_slices_have_the_waits_that_a_full_search_finds(void)
{
	enum { STEPS = 5000, DEPTH = 3 };
	struct coro_cpu c;
	uint64_t from[2][DEPTH], expected[8] = { 0 }, number = 0, ts = US, i, k, to;
	static struct {
		uint64_t tid, from, to;
	} waits[2 * STEPS];
	size_t nr_waits = 0, nr_slices = 0;
	unsigned depth[2] = { 0 }, t;

	coro_cpu_open(&c);
	for (i = 0; i < STEPS; i++) {
		number = number * UINT64_C(6364136223846793005) + 1442695040888963407u;
		t = number >> 60 & 1;
		ts += 100 + (number >> 40) % 5000;
		if (number >> 61 & 1 && depth[t] < DEPTH) {
			add_event(&c, ts, 1 + t * DEPTH + depth[t], 7 + t, TRACE_RESUME);
			from[t][depth[t]++] = ts;
		} else if (depth[t]) {
			depth[t]--;
			add_event(&c, ts, 1 + t * DEPTH + depth[t], 7 + t, TRACE_SUSPEND);
			nr_slices++;
			for (k = 0; k < nr_waits; k++)
				if (waits[k].tid == 7 + t)
					expected[1 + t * DEPTH + depth[t]] += overlap_ns(
						waits[k].from, waits[k].to, from[t][depth[t]], ts);
		}
		to = ts + 10 + (number >> 20) % 90;
		waits[nr_waits].tid = 7 + t;
		waits[nr_waits].from = ts + 5;
		waits[nr_waits++].to = to;
		coro_cpu_wait(&c, 7 + t, ts + 5, to, true);
		if (i % 50 == 49)
			coro_cpu_settle(&c, ts);
	}
	coro_cpu_settle(&c, ts + US);
	CHECK(nr_slices > STEPS / 4);
	for (i = 1; i <= 2 * DEPTH; i++)
		CHECK_EQ(row_of_id(&c, i)->blocked_ns, expected[i]);
	coro_cpu_close(&c);
}

/* Switches that come late: the queue of ended slices grows, and keeps its order. */
static void many_slices_wait_for_their_switches(void)
{
	struct coro_cpu c;
	uint64_t i;

	coro_cpu_open(&c);
	for (i = 1; i <= CORO_CPU_SLICES; i++) {
		add_event(&c, i * US, 1 + i % 3, 7, TRACE_RESUME);
		add_event(&c, i * US + 500, 1 + i % 3, 7, TRACE_SUSPEND);
		if (i == 700) /* the oldest one is not at the beginning of the ring */
			coro_cpu_settle(&c, 600 * US);
	}
	coro_cpu_settle(&c, i * US);
	CHECK_EQ(c.nr_ended, 0);
	CHECK_EQ(row_of_id(&c, 1)->slices + row_of_id(&c, 2)->slices + row_of_id(&c, 3)->slices,
		 CORO_CPU_SLICES);
	CHECK_EQ(row_of_id(&c, 2)->ns, row_of_id(&c, 2)->slices * 500);
	coro_cpu_close(&c);
}

static void the_answer_is_a_list_with_what_it_omits(void)
{
	struct json_writer w;
	struct coro_cpu c = { .is_on = false };

	jw_init_buffer(&w);
	jw_object_begin(&w);
	coro_cpu_put(&c, &w);
	jw_object_end(&w);
	CHECK_STR(jw_text(&w, NULL), "{\"cpu\":null}");
	CHECK_EQ(jw_release(&w), 0);

	coro_cpu_open(&c);
	add_event(&c, 10 * US, 1, 7, TRACE_RESUME);
	add_event(&c, 50 * US, 1, 7, TRACE_SUSPEND);
	add_event(&c, 60 * US, 2, 7, TRACE_RESUME); /* no slice of it has ended */
	coro_cpu_settle(&c, 70 * US);
	jw_init_buffer(&w);
	jw_object_begin(&w);
	coro_cpu_put(&c, &w);
	jw_object_end(&w);
	CHECK_STR(jw_text(&w, NULL), "{\"cpu\":[[1,1,40000,0,0]],\"cpu_omitted\":0}");
	CHECK_EQ(jw_release(&w), 0);
	coro_cpu_close(&c);
}

/* More coroutines than are told: those with the most time are, and the others are counted. */
static void the_busiest_coroutines_are_told(void)
{
	const uint64_t nr = CORO_CPU_TOLD + 3;
	struct json_writer w;
	struct coro_cpu c;
	const char *text;
	uint64_t i, ts = US;

	coro_cpu_open(&c);
	for (i = 1; i <= nr; i++) {
		add_event(&c, ts, i, 7, TRACE_RESUME);
		add_event(&c, ts + i, i, 7, TRACE_SUSPEND);
		coro_cpu_settle(&c, ts + i + 1);
		ts += nr + 2;
	}
	jw_init_buffer(&w);
	jw_object_begin(&w);
	coro_cpu_put(&c, &w);
	jw_object_end(&w);
	text = jw_text(&w, NULL);
	CHECK(strstr(text, "\"cpu\":[[8195,1,8195,0,0],[8194,1,8194,0,0],"));
	CHECK(strstr(text, ",[4,1,4,0,0]],\"cpu_omitted\":3}"));
	CHECK_EQ(jw_release(&w), 0);
	coro_cpu_close(&c);
}

int main(void)
{
	RUN(a_slice_waits_for_its_switches);
	RUN(what_is_not_known_is_not_measured);
	RUN(ended_coroutines_leave_their_rows);
	RUN(nested_slices_have_the_waits_that_a_full_search_finds);
	RUN(many_slices_wait_for_their_switches);
	RUN(the_answer_is_a_list_with_what_it_omits);
	RUN(the_busiest_coroutines_are_told);
	return 0;
}
