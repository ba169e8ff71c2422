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

int main(void)
{
	a_slice_waits_for_its_switches();
	what_is_not_known_is_not_measured();
	ended_coroutines_leave_their_rows();
	return 0;
}
