/* SPDX-License-Identifier: MIT */
/*
 * fastpath.c - what a traced program and the collector compile: for check-code, which
 * looks at the instructions.
 */
#include <corotracer/corotracer.h>

void fast_suspend(struct corotracer_coro *co, const void *addr);
int slot_read(const struct ctp_epoch *slot, uint64_t seq, struct ctp_event *out);

void fast_suspend(struct corotracer_coro *co, const void *addr)
{
	corotracer_suspend(co, addr);
}

int slot_read(const struct ctp_epoch *slot, uint64_t seq, struct ctp_event *out)
{
	return ctp_slot_read(slot, seq, out);
}
