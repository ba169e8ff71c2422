/* SPDX-License-Identifier: MIT */
/*
 * corotracer.c - the out-of-line part of the C SDK.
 *
 * The implementation is in corotracer/attach.h, which the SDKs without a library use, too.  This
 * file adds the process-wide state, the thread-local state and the exported symbols.
 */
#define CTP_SLOW_LINKAGE __attribute__((visibility("default"), noinline))

#include <corotracer/corotracer.h>
#include <corotracer/attach.h>
#include <corotracer/version.h>

struct ctp_process corotracer__process = { .sock = -1 };
__thread struct ctp_thread corotracer__thread;

/* For kernels that do not wipe the page: see ctp_session_page(). */
static void wipe_in_child(void)
{
	if (corotracer__process.session)
		memset(corotracer__process.session, 0, sizeof(struct ctp_session));
}

static void corotracer_leave_thread(void *thread)
{
	ctp_thread_leave(thread, ctp_load_relaxed(&corotracer__process.session));
}

static const struct ctp_hooks hooks = { wipe_in_child, corotracer_leave_thread };

static struct ctp_session *corotracer_session(void)
{
	return ctp_load_relaxed(&corotracer__process.session);
}

int corotracer_init(void)
{
	int attached = ctp_attach(&corotracer__process, &hooks);

	if (attached < 0)
		return -EAGAIN;
	return attached ? 0 : -ENOENT;
}

int corotracer_enabled(void)
{
	/* (ctp-F) pairs with the release in ctp_session_get(). */
	struct ctp_session *s = ctp_load_acquire(&corotracer__process.session);

	return s && ctp_load_relaxed(&s->generation) != 0;
}

uint32_t corotracer__site(struct corotracer_site *site)
{
	struct ctp_session *s = corotracer_session();
	uint32_t id;

	/* (ctp-F) pairs with the release store in ctp_session_publish(). */
	if (!s || !ctp_load_acquire(&s->generation) || !s->lanes)
		return 0;
	id = ctp_site_enter(s, site->file, site->line, site->function);
	/* Another thread was first: use its number, which is final. */
	if (id && !ctp_cas_relaxed(&site->id, 0u, id))
		id = ctp_load_relaxed(&site->id);
	return id;
}

int corotracer_begin_at(struct corotracer_coro *co, const char *name,
			const struct corotracer_coro *parent, struct corotracer_site *site)
{
	uint64_t parent_id;
	int rc = corotracer_init();

	if (rc < 0) {
		memset(co, 0, sizeof(*co));
		if (rc == -EAGAIN)
			ctp_later_begin(&co->probe, corotracer_session());
		return rc;
	}
	parent_id = parent ? ctp_probe_id(&parent->probe) : 0;
	return ctp_probe_begin(&co->probe, &corotracer__thread, corotracer_session(), 0, name,
			       parent_id, corotracer__site_id(site))
		       ? 0
		       : -ENOSPC;
}

int corotracer_begin(struct corotracer_coro *co, const char *name)
{
	return corotracer_begin_at(co, name, NULL, NULL);
}

void corotracer_finish(struct corotracer_coro *co, uint32_t flags)
{
	if (corotracer__is_traced(co))
		ctp_probe_done(&co->probe, &corotracer__thread, corotracer_session(), flags);
}

void corotracer_end(struct corotracer_coro *co)
{
	if (corotracer__is_traced(co))
		ctp_probe_end(&co->probe, &corotracer__thread, corotracer_session(), 0);
}

static void corotracer_send_wake(const struct corotracer_coro *co,
				 const struct corotracer_coro *waker, struct corotracer_site *site,
				 uint32_t reason, const uint64_t *resource)
{
	if (ctp_is_later(&co->probe))
		ctp_later_mark(corotracer_session());
	else if (co->probe.life)
		ctp_life_wake(co->probe.life, &corotracer__thread, corotracer_session(),
			      waker ? ctp_probe_id(&waker->probe) : 0, corotracer__site_id(site),
			      reason, resource);
}

void corotracer_wake_at(const struct corotracer_coro *co, const struct corotracer_coro *waker,
			struct corotracer_site *site, uint32_t reason)
{
	corotracer_send_wake(co, waker, site, reason, NULL);
}

void corotracer_wake_by(const struct corotracer_coro *co, const struct corotracer_coro *waker,
			struct corotracer_site *site, uint32_t reason, uint64_t resource)
{
	corotracer_send_wake(co, waker, site, reason, &resource);
}

static void corotracer_resource(uint32_t kind, const struct corotracer_coro *co, uint64_t number,
				struct corotracer_site *site)
{
	struct ctp_session *s = corotracer_session();

	if (s)
		ctp_resource(&corotracer__thread, s, kind, co ? ctp_probe_id(&co->probe) : 0,
			     number, corotracer__site_id(site));
}

void corotracer_closing_at(const struct corotracer_coro *co, uint64_t number,
			   struct corotracer_site *site)
{
	corotracer_resource(CTP_REC_CLOSE, co, number, site);
}

void corotracer_acquired_at(const struct corotracer_coro *co, uint64_t number,
			    struct corotracer_site *site)
{
	corotracer_resource(CTP_REC_ACQUIRE, co, number, site);
}

void corotracer_released_at(const struct corotracer_coro *co, uint64_t number,
			    struct corotracer_site *site)
{
	corotracer_resource(CTP_REC_RELEASE, co, number, site);
}

uint64_t corotracer_id(const struct corotracer_coro *co)
{
	return ctp_probe_id(&co->probe);
}

const char *corotracer_version(void)
{
	return COROTRACER_VERSION;
}
