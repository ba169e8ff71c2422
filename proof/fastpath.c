/* SPDX-License-Identifier: MIT */
/*
 * fastpath.c - the fast path of a traced program and of the collector, for check-code, which
 * checks the instructions.
 */
#include <corotracer/corotracer.h>

void station_suspend(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s,
		     uint64_t addr);
void lane_suspend(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s, uint64_t addr);
void lane_resume(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s);
void sdk_suspend(struct corotracer_coro *co, const void *addr);
int slot_read(const struct ctp_epoch *slot, uint64_t seq, struct ctp_event *out);

/* As in a program: the compiler might merge code that is used twice here. */
#define INLINED __attribute__((flatten))

/* Offsets that check-code knows. */
CTP_STATIC_ASSERT(offsetof(struct ctp_thread, at) == 0x10, "check-code: AT");
CTP_STATIC_ASSERT(offsetof(struct ctp_thread, lane) == 0x28, "check-code: LANE");
CTP_STATIC_ASSERT(offsetof(struct ctp_lane, head) == 0x08, "check-code: HEAD");

void station_suspend(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s,
		     uint64_t addr)
{
	ctp_probe_write(p, t, s, addr, 0);
}

INLINED void lane_suspend(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s,
			  uint64_t addr)
{
	ctp_suspend(p, t, s, addr, 0, CTP_REASON_UNKNOWN);
}

INLINED void lane_resume(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s)
{
	ctp_resume(p, t, s);
}

/* The complete calls, as in a program: checked for instructions that must not occur. */
INLINED void sdk_suspend(struct corotracer_coro *co, const void *addr)
{
	corotracer_suspend(co, addr);
}

int slot_read(const struct ctp_epoch *slot, uint64_t seq, struct ctp_event *out)
{
	return ctp_slot_read(slot, seq, out);
}
