/* SPDX-License-Identifier: MIT */
/*
 * decode_accesses.h - the fast path from plain accesses to a packer.
 */
#ifndef RUNTIME_MEMORY_DECODE_ACCESSES_H
#define RUNTIME_MEMORY_DECODE_ACCESSES_H

#include "pack.h"
#include "wire.h"

/*
 * CRAY_HOW of an access by the code of its unit; with this bit set, the unit is not a plain
 * access.
 */
#define CRW_CLOSER UINT32_C(0x80000000)
extern const uint32_t crw_how[256];

/*
 * Pack units up to the first that is not a plain access, or until @p may be full.  Returns how
 * many.
 */
uint32_t crw_plain(struct cray_pack *p, const struct crw_unit *units, uint32_t nr);

/* The same, compiled for any processor and for those with AVX2 and BMI2: access_batch_code.h. */
uint32_t crw_plain_any(struct cray_pack *p, const struct crw_unit *units, uint32_t nr);
uint32_t crw_plain_avx2(struct cray_pack *p, const struct crw_unit *units, uint32_t nr);

/* Find or create the site of an access that by_unit[@at] does not have.  NULL: not a plain one. */
struct cray_pack_site *crw_plain_site(struct cray_pack *p, uint64_t w1, uint64_t at);

#endif
