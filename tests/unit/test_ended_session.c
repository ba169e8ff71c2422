/* SPDX-License-Identifier: MIT */
/*
 * test_ended_session.c - a session that ends while a coroutine is created or adopted does not make
 * it untraced for good: the next session adopts it.  This is the SDK without its library.
 */
#define CTP_SLOW_LINKAGE static
#include <corotracer/attach.h>

#include <stdbool.h>

#include "check.h"

#define OWNER 4711u

static struct ctp_thread thread;
static struct ctp_ext_lanes lanes;

/* What a thread has in its hands that found the session a moment before it ended. */
static struct ctp_session ended_session(void)
{
	struct ctp_session s = { .owner = OWNER, .lanes = &lanes };

	return s;
}

static bool is_left_to_the_next(const struct ctp_probe *p)
{
	return !p->life && !p->station && p->last_ns == OWNER;
}

static void a_coroutine_that_it_creates_is_left_to_the_next_one(void)
{
	struct ctp_session s = ended_session();
	struct ctp_probe p;

	CHECK_EQ(ctp_probe_begin(&p, &thread, &s, 0, "created", 0, 0), 0);
	CHECK(is_left_to_the_next(&p));
}

static void a_coroutine_that_it_adopts_is_left_to_the_next_one(void)
{
	struct ctp_session s = ended_session();
	struct ctp_probe p = { .last_ns = OWNER };

	CHECK_EQ(ctp_probe_adopt(&p, &thread, &s), 0);
	CHECK(is_left_to_the_next(&p));
}

static void a_coroutine_of_another_process_stays_untraced(void)
{
	struct ctp_session s = ended_session();
	struct ctp_probe p = { .last_ns = OWNER + 1 };

	CHECK_EQ(ctp_probe_adopt(&p, &thread, &s), 0);
	CHECK_EQ(p.last_ns, 0);
}

static void a_coroutine_that_waits_for_the_attach_is_left_to_the_next_one(void)
{
	struct ctp_session s = ended_session();
	struct ctp_probe p;

	ctp_later_begin(&p, &s);
	CHECK_EQ(ctp_later_resolve(&p, &thread, &s), 1);
	CHECK(is_left_to_the_next(&p));
}

int main(void)
{
	RUN(a_coroutine_that_it_creates_is_left_to_the_next_one);
	RUN(a_coroutine_that_it_adopts_is_left_to_the_next_one);
	RUN(a_coroutine_of_another_process_stays_untraced);
	RUN(a_coroutine_that_waits_for_the_attach_is_left_to_the_next_one);
	return 0;
}
