/* SPDX-License-Identifier: MIT */
/* test_holds.c - holders of locks over time; of too many holds the newest are kept. */
#include "check.h"
#include "view/hold_log.h"

static struct lock_hold hold_of(uint64_t resource, uint32_t coro, uint64_t ts)
{
	return (struct lock_hold){ .resource = resource, .pid = 7, .coro = coro, .from = ts };
}

static void take_lock(struct hold_log *log, uint64_t resource, uint32_t coro, uint64_t ts)
{
	struct lock_hold hold = hold_of(resource, coro, ts);

	CHECK_EQ(hold_log_acquire(log, &hold), 0);
}

static void give_lock(struct hold_log *log, uint64_t resource, uint32_t coro, uint64_t ts)
{
	struct lock_hold hold = hold_of(resource, coro, ts);

	hold_log_release(log, &hold);
}

static void a_release_ends_its_own_hold_or_the_oldest(void)
{
	struct hold_log log = { 0 };

	take_lock(&log, 1, 10, 100);
	take_lock(&log, 1, 11, 110);
	take_lock(&log, 2, 10, 120);
	give_lock(&log, 1, 11, 130);
	give_lock(&log, 1, 99, 140);
	give_lock(&log, 3, 10, 150); /* of a lock that was never taken */
	CHECK_EQ(log.holds[0].to, 140);
	CHECK_EQ(log.holds[1].to, 130);
	CHECK_EQ(log.holds[2].to, 0);
	CHECK_EQ(log.of, 3);
	hold_log_free(&log);
}

static void open_holds_stay_when_there_is_no_more_room(void)
{
	struct hold_log log = { 0 };
	struct bytes out = { 0 };
	uint64_t i, nr = 3 * HOLD_LOG_MAX;

	take_lock(&log, 5, 1, 1);
	for (i = 0; i < nr; i++) {
		take_lock(&log, 6, 2, 10 + 2 * i);
		give_lock(&log, 6, 2, 11 + 2 * i);
	}
	CHECK_EQ(log.of, nr + 1);
	CHECK(log.nr <= HOLD_LOG_MAX);
	CHECK_EQ(log.holds[0].resource, 5);
	CHECK_EQ(log.holds[0].to, 0);
	CHECK_EQ(log.since, log.holds[1].from - 1);
	give_lock(&log, 5, 1, 9);
	CHECK_EQ(log.holds[0].to, 9);
	CHECK_EQ(hold_log_write(&log, 100, 0, &out), 0);
	CHECK(memmem(out.data, out.size, "\"rows\":100,", 11) != NULL);
	bytes_release(&out);
	hold_log_free(&log);
}

static void locks_that_are_never_given_back_do_not_take_all_memory(void)
{
	struct hold_log log = { 0 };
	uint64_t i;

	for (i = 0; i < 2 * HOLD_LOG_MAX; i++)
		take_lock(&log, i, 1, 1 + i);
	CHECK(log.room <= HOLD_LOG_MAX);
	CHECK_EQ(log.of, 2 * HOLD_LOG_MAX);
	/* Its place is another one now. */
	give_lock(&log, 2 * HOLD_LOG_MAX - 1, 1, 5 * HOLD_LOG_MAX);
	CHECK_EQ(log.holds[log.nr - 1].to, 5 * HOLD_LOG_MAX);
	hold_log_free(&log);
}

int main(void)
{
	RUN(a_release_ends_its_own_hold_or_the_oldest);
	RUN(open_holds_stay_when_there_is_no_more_room);
	RUN(locks_that_are_never_given_back_do_not_take_all_memory);
	return 0;
}
