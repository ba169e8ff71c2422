/* SPDX-License-Identifier: MIT */
/* decode_calls.c - function entries and exits of one thread, from units of the wire to a packer. */
#include "decode_calls.h"

static void decode_calls_push(struct crw_calls *c, uint64_t function, uint64_t site)
{
	c->call[c->depth++ & (CRW_CALLS_KEPT - 1)] = (struct crw_call){ function, site };
	if (c->depth - c->floor > CRW_CALLS_KEPT)
		c->floor = c->depth - CRW_CALLS_KEPT;
}

bool crw_calls_unit(struct crw_calls *c, struct cray_pack *p, const struct crw_unit *unit)
{
	if (CRW_CODE(unit->w1) == CRW_ENTER) {
		if (!cray_pack_enter(p, unit->w1 & CRW_LOW, unit->w0, false))
			return false;
		decode_calls_push(c, unit->w1 & CRW_LOW, unit->w0);
	} else {
		if (!cray_pack_exit(p, unit->w0 ? unit->w0 : 1))
			return false;
		c->depth -= unit->w0 < c->depth ? unit->w0 : c->depth;
		if (c->floor > c->depth)
			c->floor = c->depth;
	}
	c->known = 1;
	return true;
}

void crw_calls_repeat(const struct crw_calls *c, struct cray_pack *p)
{
	uint64_t i;

	if (!c->known || !cray_pack_fits_calls(p, (uint32_t)(c->depth - c->floor) + 1))
		return;
	cray_pack_exit(p, 0);
	for (i = c->floor; i < c->depth; i++) {
		const struct crw_call *call = &c->call[i & (CRW_CALLS_KEPT - 1)];

		cray_pack_enter(p, call->function, call->site, true);
	}
}

bool crw_calls_whole(struct crw_calls *c, struct cray_pack *p, const uint8_t *bytes, uint32_t size)
{
	struct crw_unit call;

	if (!cray_pack_fits_calls(p, size / 16 + 1))
		return false;
	c->known = 1;
	c->depth = c->floor = 0;
	for (; size >= sizeof(call); bytes += sizeof(call), size -= (uint32_t)sizeof(call)) {
		__builtin_memcpy(&call, bytes, sizeof(call));
		decode_calls_push(c, call.w1, call.w0);
	}
	crw_calls_repeat(c, p);
	return true;
}
