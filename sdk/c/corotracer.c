/* SPDX-License-Identifier: MIT */
/*
 * corotracer.c - the part of the C SDK that is not worth inlining.
 *
 * The mechanism is in corotracer/attach.h, shared with the SDKs that have no
 * library; here it gets its one process-wide and its thread-local state, and names
 * that a linker can find.
 */
#define CTP_SLOW_LINKAGE __attribute__((visibility("default"), noinline))

#include <corotracer/corotracer.h>
#include <corotracer/attach.h>
#include <corotracer/version.h>

struct ctp_process corotracer__process = { .sock = -1 };
__thread struct ctp_thread corotracer__thread;

/* For where the kernel does not wipe the page: see ctp_session_page(). */
static void wipe_in_child(void)
{
	if (corotracer__process.session)
		memset(corotracer__process.session, 0, sizeof(struct ctp_session));
}

int corotracer_init(void)
{
	return ctp_attach(&corotracer__process, wipe_in_child) ? 0 : -ENOENT;
}

int corotracer_enabled(void)
{
	/* (F) pairs with the release in ctp_session_get(). */
	struct ctp_session *s = ctp_load_acquire(&corotracer__process.session);

	return s && ctp_load_relaxed(&s->generation) != 0;
}

int corotracer_begin(struct corotracer_coro *co, const char *name)
{
	if (corotracer_init() < 0) {
		memset(co, 0, sizeof(*co));
		return -ENOENT;
	}
	return ctp_probe_begin(&co->probe, &corotracer__thread,
			       ctp_load_relaxed(&corotracer__process.session), 0, name)
		       ? 0
		       : -ENOSPC;
}

void corotracer_end(struct corotracer_coro *co)
{
	if (co->probe.station)
		ctp_probe_end(&co->probe, &corotracer__thread,
			      ctp_load_relaxed(&corotracer__process.session));
}

const char *corotracer_version(void)
{
	return COROTRACER_VERSION;
}
