/* SPDX-License-Identifier: MIT */
/*
 * corotracer/request_slow.h - attach on request, detach, and adopt coroutines.
 *
 * Attach
 *   The gate is open (request.h): an event or the creation of a coroutine comes here.  One
 *   thread takes the order, maps the region and publishes a new session.  The other threads
 *   do not wait: their events are from before the attach.
 *
 * Detach
 *   The collector sets `detach` and `sleeping` in the region's header.  The next event of the
 *   program calls ctp_wake(), and the session ends: its generation becomes 0, the gate is
 *   closed.  Threads in the middle of an event complete it in the old memory, which stays
 *   mapped.  The next attach replaces it by zeros, so that the coroutines of the old session
 *   read the id 0; the address space is not reused.
 *
 * Adopt
 *   A coroutine that was created while the program was not attached, or under an earlier
 *   session, is created in the trace at its next transition, with CTP_BIRTH_ADOPTED and
 *   without a name.  The owner in its probe shows that it belongs to this process: a forked
 *   child does not adopt the coroutines that it inherited.
 *
 * Included by attach.h.
 */
#ifndef COROTRACER_REQUEST_SLOW_H
#define COROTRACER_REQUEST_SLOW_H

#include <corotracer/attach.h>
#include <corotracer/request.h>

#include <corotracer/header_begin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the gate ------------------------------------------------------------ */

CTP_SLOW void ctp_gate_open(struct ctp_request *r)
{
	if (r)
		ctp_store_relaxed(&r->gate, 1u);
}

/* Nothing to do at an event, unless an order has come meanwhile. */
CTP_SLOW void ctp_gate_close(struct ctp_request *r)
{
	if (!r)
		return;
	ctp_store_relaxed(&r->gate, 0u);
	/*
	 * (ctp-Q) pairs with the fence in the tool's request_write_order(): either this thread sees
	 * the order, or the tool opens the gate after this thread has closed it.
	 */
	ctp_fence_full();
	if (ctp_load_relaxed(&r->order.number) != ctp_load_relaxed(&r->handled))
		ctp_store_relaxed(&r->gate, 1u);
}

/* ---- orders -------------------------------------------------------------- */

/* Copy the order.  Returns 0 if it is incomplete: the tool is writing it. */
CTP_SLOW int ctp_order_read(const struct ctp_request *r, struct ctp_order *order)
{
	/* An older or torn copy does no harm: the check fails, or the order was handled. */
	uint64_t number = ctp_load_relaxed(&r->order.number);

	memcpy(order, &r->order, sizeof(*order));
	return number && order->number == number && order->check == ctp_order_sum(order) &&
	       !order->shm[CTP_REQUEST_SHM_SIZE - 1] && !order->sock[CTP_REQUEST_SOCK_SIZE - 1];
}

/* The order that attached the parent process, if this is a child that has not attached yet. */
CTP_SLOW const struct ctp_order *ctp_order_inherited(const struct ctp_request *r,
						     struct ctp_order *copy)
{
	if (!r || ctp_load_relaxed(&r->state) != CTP_REQUEST_ATTACHED || !r->by_order ||
	    ctp_load_relaxed(&r->pid) == (uint32_t)getpid() || !ctp_order_read(r, copy) ||
	    copy->number != ctp_load_relaxed(&r->handled))
		return NULL;
	return copy;
}

/* The session is published: say so to tools. */
CTP_SLOW void ctp_order_publish(struct ctp_session *s)
{
	struct ctp_request *r = s->request;

	if (!r)
		return;
	r->by_order = s->by_order;
	ctp_store_relaxed(&r->why, CTP_WHY_ATTACHED);
	ctp_store_relaxed(&r->region, (uint64_t)(uintptr_t)s->header);
	ctp_store_relaxed(&r->pid, (uint32_t)s->owner);
	ctp_store_relaxed(&r->state, CTP_REQUEST_ATTACHED);
	ctp_gate_open(r);
}

/* Attach to the region of @order.  Returns NULL and sets @why to an errno on failure. */
CTP_SLOW struct ctp_session *ctp_order_attach(const struct ctp_order *order, int *why)
{
	struct ctp_process *proc = ctp_load_relaxed(&ctp_attacher.process);
	const struct ctp_hooks *hooks = ctp_load_relaxed(&ctp_attacher.hooks);
	struct ctp_request *r = hooks->request;
	struct ctp_session *s = ctp_session_page();

	*why = ENOMEM;
	if (!s)
		return NULL;
	ctp_process_key(proc, hooks);
	s->request = r;
	s->owner = (uint64_t)getpid();
	s->by_order = 1;
	s->state = CTP_ATTACH_LEFT;
	/*
	 * (ctp-R) pairs with the compiler barrier in ctp_life_begin(), of threads that still run
	 * under the last session, or with the fence there if this process is not registered.
	 */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
	ctp_fence_full();
	errno = 0;
	if (!ctp_region_disown(proc, 1) ||
	    !ctp_session_fill(proc, s, order->shm, order->sock, order->stations)) {
		*why = errno ? errno : EPROTO;
		munmap(s, sizeof(*s));
		return NULL;
	}
	r->sites = r->sites % 65535 + 1;
	r->first = proc->generations + 1;
	ctp_session_publish(proc, s);
	/* (ctp-F) pairs with the acquire in ctp_session_get(). */
	ctp_store_release(&proc->session, s);
	ctp_session_connect(proc, s);
	return s;
}

/* Take the order if there is a new one.  Called by the one thread that is the taker. */
CTP_SLOW struct ctp_session *ctp_order_take(struct ctp_request *r)
{
	struct ctp_session *s = NULL;
	struct ctp_order order;
	int why = 0;

	if (!ctp_order_read(r, &order))
		return NULL; /* the gate stays open: look again at the next event */
	if (order.number != ctp_load_relaxed(&r->handled)) {
		s = ctp_order_attach(&order, &why);
		ctp_store_relaxed(&r->result, s ? 0 : why);
		ctp_store_relaxed(&r->handled, order.number);
	}
	if (!s)
		ctp_gate_close(r);
	return s;
}

/*
 * The gate is open and the program is not attached.  Returns the session if this thread attaches
 * the program or finds it attached, else NULL.
 */
CTP_SLOW struct ctp_session *ctp_order_serve(void)
{
	const struct ctp_hooks *hooks = ctp_load_relaxed(&ctp_attacher.hooks);
	struct ctp_request *r = hooks ? hooks->request : NULL;
	struct ctp_session *s = NULL;
	uint32_t self, taker;
	int cancel;

	if (!r)
		return NULL;
	self = (uint32_t)getpid();
	taker = ctp_load_relaxed(&r->taker);
	/*
	 * A child may have inherited its parent's taker.  (ctp-F) pairs with the release below: a
	 * thread that takes the next order sees what the last one did.
	 */
	if (taker == self || !ctp_cas_acquire(&r->taker, taker, self))
		return NULL;
	s = ctp_load_relaxed(&ctp_load_relaxed(&ctp_attacher.process)->session);
	if (!s || !ctp_load_relaxed(&s->generation)) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		s = ctp_order_take(r);
		pthread_setcancelstate(cancel, NULL);
	}
	/* (ctp-F) pairs with the acquire above. */
	ctp_store_release(&r->taker, 0u);
	return s;
}

/* ---- detach -------------------------------------------------------------- */

/* End the session if the collector asks for it.  Returns 1 if the session has ended. */
CTP_SLOW int ctp_session_left(struct ctp_session *s)
{
	struct ctp_request *r = s->request;
	uint32_t asked;
	int sock;

	if (!s->features || !r)
		return 0;
	asked = ctp_load_relaxed(&ctp_header_ext(s->header)->detach);
	if (!asked)
		return 0;
	if (!ctp_cas_relaxed(&s->state, (uint32_t)CTP_ATTACH_DONE, (uint32_t)CTP_ATTACH_LEFT))
		return 1;
	ctp_store_relaxed(&s->generation, UINT64_C(0));
	ctp_store_relaxed(&s->sleeping, &s->never_sleeping);
	/* Not closed before the next attach: another thread may be about to send, and the number
	 * could be reused.
	 */
	sock = ctp_load_relaxed(&s->sock);
	if (ctp_sock_is(sock, ctp_load_relaxed(&s->sock_dev), ctp_load_relaxed(&s->sock_ino)))
		shutdown(sock, SHUT_RDWR);
	ctp_store_relaxed(&r->region, UINT64_C(0));
	ctp_store_relaxed(&r->state, CTP_REQUEST_IDLE);
	if (asked == CTP_DETACH_GONE)
		ctp_region_disown(ctp_load_relaxed(&ctp_attacher.process), 1);
	ctp_gate_close(r);
	return 1;
}

/* ---- adopt --------------------------------------------------------------- */

/* @p has no ctp_life of this session: create one.  Returns 1 if @p is traced. */
CTP_SLOW int ctp_probe_adopt(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s)
{
	int ours = p->last_ns && p->last_ns == s->owner && !p->station;

	memset(p, 0, sizeof(*p));
	if (!ours || !s->lanes)
		return 0;
	return (ctp_thread_ready(t, s) && ctp_life_begin(p, t, s, NULL, 0, 0, CTP_BIRTH_ADOPTED)) ||
	       ctp_probe_missed(p, s);
}

/*
 * Before an event on the slow path: attach if that is asked for, adopt @p if it is not of this
 * session.  Returns 0 if the event cannot be written; otherwise *@session is the one to write to.
 */
CTP_SLOW int ctp_event_open(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session **session)
{
	struct ctp_session *s = *session;
	int saved = errno, open = 1;

	if (!s || ctp_is_later(p))
		return s != NULL;
	if (!ctp_load_relaxed(&s->generation) || ctp_session_left(s)) {
		const struct ctp_hooks *hooks = ctp_load_relaxed(&ctp_attacher.hooks);

		if (!hooks || !hooks->request || !ctp_load_relaxed(&hooks->request->gate))
			return 0;
		s = ctp_order_serve();
		errno = saved;
		if (!s)
			return 0;
		*session = s;
	}
	if (p->life)
		open = ctp_life_is_here(p->life, s) || ctp_probe_adopt(p, t, s);
	else if (p->station)
		open = ctp_station_is_here(p->station, s) || ctp_probe_adopt(p, t, s);
	else
		open = p->last_ns && ctp_probe_adopt(p, t, s);
	errno = saved;
	return open;
}

/* A coroutine is created while the program is not attached: @p is adopted when it attaches. */
static inline void ctp_probe_mark(struct ctp_probe *p, const struct ctp_session *s)
{
	p->last_ns = s ? s->owner : 0;
}

#ifdef __cplusplus
}
#endif

#include <corotracer/header_end.h>

#endif
