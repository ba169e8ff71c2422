/* SPDX-License-Identifier: MIT */
/*
 * switch_order.h - put records of context switches in order of time.
 *
 * They come from one ring per processor, and those of a ring are in order: the list has as many
 * ordered runs as there are processors, which are merged.
 */
#ifndef COLLECT_SWITCH_ORDER_H
#define COLLECT_SWITCH_ORDER_H

#include <stddef.h>

#include "process/switch_records.h"

/* @room: space for @nr records. */
void switch_order_sort(struct switch_record *list, size_t nr, struct switch_record *room);

#endif
