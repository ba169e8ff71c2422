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
#include <corotracer/traceparent.h>
#include <corotracer/version.h>

struct ctp_process corotracer__process = { .sock = -1 };
struct ctp_request corotracer__request = CTP_REQUEST_INIT;

/* Found through the note: its pointer is that of the program's copy, if the linker made one. */
extern const struct ctp_anchor corotracer_anchor_c;
__attribute__((used, visibility("hidden")))
const struct ctp_anchor corotracer_anchor_c = { CTP_ANCHOR_MAGIC, &corotracer__request };
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

static const struct ctp_hooks hooks = { wipe_in_child, corotracer_leave_thread,
					&corotracer__request };

/* The program has one thread now, usually: later this could make a thread wait. */
__attribute__((constructor)) static void register_at_start(void)
{
	ctp_process_register(&corotracer__process);
}

int corotracer_init(void)
{
	int attached = ctp_attach(&corotracer__process, &hooks);

	CTP_REQUEST_NOTE("corotracer_anchor_c");

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
	struct ctp_session *s = corotracer__session();
	uint32_t id, was;

	/* (ctp-F) pairs with the release store in ctp_session_publish(). */
	if (!s || !ctp_load_acquire(&s->generation) || !s->lanes)
		return 0;
	was = ctp_load_relaxed(&site->id);
	if (was >> 16 == s->site_tag)
		return was & 0xffff;
	id = ctp_site_enter(s, site->file, site->line, site->function);
	/* Another thread was first: use its number, which is final for this region. */
	if (id && !ctp_cas_relaxed(&site->id, was, s->site_tag << 16 | id))
		id = ctp_load_relaxed(&site->id) & 0xffff;
	return id;
}

/* For the memory runtime, if the program has it: see corotracer/memory_hook.h. */
static void corotracer_stamp(uint32_t what, const struct corotracer_coro *co, const void *about)
{
	if (cacheray_coroutine)
		cacheray_coroutine(what, &co->probe, corotracer_id(co), about);
}

static int corotracer_begin_traced(struct corotracer_coro *co, const char *name,
				   const struct corotracer_coro *parent,
				   struct corotracer_site *site)
{
	struct ctp_session *s;
	uint64_t parent_id;
	int rc = corotracer_init();

	if (rc < 0) {
		memset(co, 0, sizeof(*co));
		if (rc == -EAGAIN)
			ctp_later_begin(&co->probe, corotracer__session());
		else
			ctp_probe_mark(&co->probe, corotracer__session());
		return rc;
	}
	parent_id = parent ? ctp_probe_id(&parent->probe) : 0;
	s = corotracer__session();
	return ctp_probe_begin(&co->probe, &corotracer__thread, s, 0, name, parent_id,
			       corotracer__site_id(s, site))
		       ? 0
		       : -ENOSPC;
}

int corotracer_begin_at(struct corotracer_coro *co, const char *name,
			const struct corotracer_coro *parent, struct corotracer_site *site)
{
	int rc = corotracer_begin_traced(co, name, parent, site);

	corotracer_stamp(CTP_MEMORY_CREATED, co, name ? name : site ? site->function : NULL);
	return rc;
}

int corotracer_begin(struct corotracer_coro *co, const char *name)
{
	return corotracer_begin_at(co, name, NULL, NULL);
}

void corotracer_finish(struct corotracer_coro *co, uint32_t flags)
{
	corotracer_stamp(CTP_MEMORY_ENDED, co, NULL);
	if (corotracer__is_open(co))
		ctp_probe_done(&co->probe, &corotracer__thread, corotracer__session(), flags);
}

void corotracer_end(struct corotracer_coro *co)
{
	corotracer_stamp(CTP_MEMORY_DESTROYED, co, NULL);
	if (corotracer__is_open(co))
		ctp_probe_end(&co->probe, &corotracer__thread, corotracer__session(), 0);
	else
		memset(co, 0, sizeof(*co)); /* not adopted any more */
}

static void corotracer_send_wake(const struct corotracer_coro *co,
				 const struct corotracer_coro *waker, struct corotracer_site *site,
				 uint32_t reason, const uint64_t *resource)
{
	if (ctp_is_later(&co->probe))
		ctp_later_mark(corotracer__session());
	else if (co->probe.life)
		ctp_life_wake(co->probe.life, &corotracer__thread, corotracer__session(),
			      waker ? ctp_probe_id(&waker->probe) : 0,
			      corotracer__site_id(corotracer__session(), site), reason, resource);
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
	struct ctp_session *s = corotracer__session();

	if (s)
		ctp_resource(&corotracer__thread, s, kind, co ? ctp_probe_id(&co->probe) : 0,
			     number, corotracer__site_id(corotracer__session(), site));
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

static void corotracer_send_context(const struct corotracer_coro *co,
				    const struct ctp_context *context)
{
	if (ctp_is_later(&co->probe))
		ctp_later_mark(corotracer__session());
	else if (co->probe.life)
		ctp_context_write(&corotracer__thread, corotracer__session(),
				  ctp_probe_id(&co->probe), context);
}

int corotracer_set_traceparent(const struct corotracer_coro *co, const char *traceparent)
{
	struct ctp_context context = { 0 };

	if (!corotracer__is_open(co))
		return 0;
	if (traceparent && !ctp_context_parse(traceparent, strlen(traceparent), &context))
		return -EINVAL;
	corotracer_send_context(co, &context);
	return 0;
}

static uint64_t corotracer_number(const uint8_t bytes[8])
{
	uint64_t number = 0;
	int i;

	for (i = 0; i < 8; i++)
		number = number << 8 | bytes[i];
	return number;
}

void corotracer_set_trace_context(const struct corotracer_coro *co, const uint8_t trace_id[16],
				  const uint8_t span_id[8], uint8_t flags)
{
	struct ctp_context context;

	if (!corotracer__is_open(co))
		return;
	context = (struct ctp_context){ corotracer_number(trace_id),
					corotracer_number(trace_id + 8), corotracer_number(span_id),
					flags };
	corotracer_send_context(co, &context);
}

uint64_t corotracer_id(const struct corotracer_coro *co)
{
	return corotracer__is_open(co) ? ctp_probe_id(&co->probe) : 0;
}

const char *corotracer_version(void)
{
	return COROTRACER_VERSION;
}
