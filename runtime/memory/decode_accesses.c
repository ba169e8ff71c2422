/* SPDX-License-Identifier: MIT */
/* decode_accesses.c - from plain accesses to a packer: the kinds of units, and which code runs. */
#include "decode_accesses.h"

#define TAG(c)                                                                                     \
	((((c)&CRW_IS_WRITE) ? CRAY_WRITE : CRAY_READ) | (((c)&CRW_IS_ATOMIC) ? CRAY_ATOMIC : 0) | \
	 (((c)&CRW_IS_UNALIGNED) ? CRAY_UNALIGNED : 0))
#define BYTES(c) (((c)&CRW_SIZE_MASK) <= 4 ? 1u << ((c)&CRW_SIZE_MASK) : 8u)
#define ATTR(c)                                             \
	((((c)&CRW_IS_VOLATILE) ? CRAY_ATTR_VOLATILE : 0) | \
	 (((c)&CRW_IS_COMPOUND) ? CRAY_ATTR_COMPOUND : 0) | \
	 (((c)&CRW_SIZE_MASK) == CRW_VPTR ? CRAY_ATTR_VPTR : 0))
#define HOW(c)                                                                       \
	(CRAY_HOW(TAG(c), BYTES(c), ATTR(c)) |                                       \
	 ((((c)&CRW_SIZE_MASK) == CRW_RANGE || ((c)&CRW_SIZE_MASK) == CRW_CONTROL || \
	   ((c)&CRW_IS_COMPOUND))                                                    \
		  ? CRW_CLOSER                                                       \
		  : 0))
#define HOW4(c)  HOW(c), HOW((c) + 1), HOW((c) + 2), HOW((c) + 3)
#define HOW16(c) HOW4(c), HOW4((c) + 4), HOW4((c) + 8), HOW4((c) + 12)
#define HOW64(c) HOW16(c), HOW16((c) + 16), HOW16((c) + 32), HOW16((c) + 48)
const uint32_t crw_how[256] = { HOW64(0), HOW64(64), HOW64(128), HOW64(192) };

struct cray_pack_site *crw_plain_site(struct cray_pack *p, uint64_t w1, uint64_t at)
{
	uint32_t how = crw_how[CRW_CODE(w1)], who;
	struct cray_pack_site *site;

	if (how & CRW_CLOSER)
		return NULL;
	site = cray_pack_find(p, w1 & CRW_LOW, how, &who);
	site->unit = w1;
	p->by_unit[at] = cray_pack_site_offset(p, site);
	return site;
}

uint32_t crw_plain(struct cray_pack *p, const struct crw_unit *units, uint32_t nr)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
		return crw_plain_avx2(p, units, nr);
#endif
	return crw_plain_any(p, units, nr);
}
