/* SPDX-License-Identifier: MIT */
/* control_thread.c - requests to a running program: record, stop recording, add a mark. */
#include "control_thread.h"

#include <sys/prctl.h>

#include "compress_worker.h"
#include "trace_session.h"
#include "sys.h"

#define LOOK_MS 1000u

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

static void control_thread_serve(const struct crw_process *p, uint32_t what)
{
	/* A session that has ended does not record again. */
	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED))
		return;
	if (what == CRW_REQUEST_START)
		crt_switch(true);
	else if (what == CRW_REQUEST_STOP)
		crt_switch(false);
	else if (what == CRW_REQUEST_MARK)
		control_thread_mark(p);
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
			crt_futex_wait(&p->request, request, LOOK_MS);
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

	if (crt_session.options.control && crt_start_thread(control_thread_run))
		__atomic_store_n(&p->control, 1, __ATOMIC_RELAXED);
}
