/* SPDX-License-Identifier: MIT */
/*
 * plain.h - plain accesses into a packer, as fast as a program can make them.
 */
#ifndef MEMORY_RT_PLAIN_H
#define MEMORY_RT_PLAIN_H

#include "pack.h"
#include "wire.h"

/* How an access is told, by the code of its unit; with this bit it is not a plain one. */
#define CRW_CLOSER UINT32_C(0x80000000)
extern const uint32_t crw_how[256];

/* Units of @units, up to the first that is no plain access, or until @p has no room for sure. */
uint32_t crw_plain(struct cray_pack *p, const struct crw_unit *units, uint32_t nr);

#endif
