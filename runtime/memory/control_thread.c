/* SPDX-License-Identifier: MIT */
/* control_thread.c - requests to a running program, and recording in bursts. */
#include "control_thread.h"

#include <sys/prctl.h>

#include "compress_worker.h"
#include "trace_session.h"
#include "sys.h"

#define LOOK_MS   1000u
#define NS_PER_MS UINT64_C(1000000)

static void control_thread_mark(const struct crw_process *p)
{
	struct crw_unit stamp = { 0, CRW_W1(CRW_STAMP, crt_now()) };
	char text[sizeof(p->text)];
	uint32_t size = 0;

	while (size < sizeof(text) && (text[size] = p->text[size]) != '\0')
		size++;
	crt_put(&stamp, 1);
	crt_put_long(CRW_MARK, 0, 1, text, size, NULL, 0);
}

/* Bursts; only the control thread uses it. */
static struct {
	bool active;      /* bursts follow each other */
	bool on;          /* one of them runs */
	uint64_t next_ns; /* its end, or the start of the next one */
	uint64_t nr;
} bursts;

/*
 * The ticket makes every thread record order and time with its first access in the burst.  A
 * session that ends meanwhile switches recording off before or after this: then it must stay off.
 */
static void control_thread_begin_burst(void)
{
	static const char text[] = "burst";

	bursts.nr++;
	crt_put_long(CRW_MARK, bursts.nr, 1, text, sizeof(text) - 1, NULL, 0);
	crt_ticket();
	crt_switch(true);
	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED))
		crt_switch(false);
}

/* Switch if it is time to.  Returns the milliseconds until the next switch, at most LOOK_MS. */
static uint32_t control_thread_turn(void)
{
	const struct crt_options *o = &crt_session.options;
	uint64_t now = crt_now(), left;

	if (!bursts.active || !__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED))
		return LOOK_MS;
	if (now >= bursts.next_ns) {
		bursts.on = !bursts.on || o->on_ms == o->every_ms;
		bursts.next_ns = now + NS_PER_MS * (bursts.on ? o->on_ms : o->every_ms - o->on_ms);
		if (bursts.on)
			control_thread_begin_burst();
		else
			crt_switch(false);
	}
	left = (bursts.next_ns - now + NS_PER_MS - 1) / NS_PER_MS;
	return left < LOOK_MS ? (uint32_t)left : LOOK_MS;
}

static void control_thread_switch(bool on)
{
	if (crt_session.options.on_ms) {
		bursts.active = on;
		bursts.on = false;
		bursts.next_ns = 0;
	}
	if (!on || !crt_session.options.on_ms)
		crt_switch(on);
}

static void control_thread_serve(const struct crw_process *p, uint32_t what)
{
	/* A session that has ended does not record again. */
	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED))
		return;
	if (what == CRW_REQUEST_START)
		control_thread_switch(true);
	else if (what == CRW_REQUEST_STOP)
		control_thread_switch(false);
	else if (what == CRW_REQUEST_MARK)
		control_thread_mark(p);
	control_thread_turn(); /* the burst has begun when the request is served */
}

static void *control_thread_run(void *unused)
{
	struct crw_process *p = &crt_session.region.processes[crt_session.process];
	uint32_t served = 0, request;

	(void)unused;
	prctl(PR_SET_NAME, "cacheray-ctl", 0, 0, 0);
	for (;;) {
		/* (mem-N) pairs with the release in region_control_request(): the text is visible.
		 */
		while ((request = __atomic_load_n(&p->request, __ATOMIC_ACQUIRE)) == served)
			crt_futex_wait(&p->request, request, control_thread_turn());
		control_thread_serve(p, request % CRW_REQUESTS);
		served = request;
		/* (mem-N) pairs with the acquire in region_control_request(): it is done. */
		__atomic_store_n(&p->served, served, __ATOMIC_RELEASE);
		crt_futex_wake(&p->served);
	}
	return NULL;
}

void crt_control_begin(void)
{
	struct crw_process *p = &crt_session.region.processes[crt_session.process];
	const struct crt_options *o = &crt_session.options;

	bursts.active = o->on_ms && o->start;
	bursts.on = false;
	bursts.next_ns = 0;
	if (!o->control && !o->on_ms)
		return;
	if (crt_start_thread(control_thread_run, NULL))
		__atomic_store_n(&p->control, 1, __ATOMIC_RELAXED);
	else if (o->on_ms)
		crt_say("no thread for bursts can be started; nothing is recorded", NULL);
}
