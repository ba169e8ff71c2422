/* SPDX-License-Identifier: MIT */
/* weak_packer.h - a consumer of memory's rings that packs nothing: it hands on what it reads. */
#ifndef WEAK_PACKER_H
#define WEAK_PACKER_H

#include "ring_consumer.h"

/* A consumer of @region, in private memory; @take gets every unit. */
struct crw_consumer *packer_make(struct crw_region *region, void (*take)(const struct crw_unit *u));

#endif
