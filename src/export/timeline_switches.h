/* SPDX-License-Identifier: MIT */
/* timeline_switches.h - a row per thread with the times at which it had no processor. */
#ifndef EXPORT_TIMELINE_SWITCHES_H
#define EXPORT_TIMELINE_SWITCHES_H

#include "export/timeline.h"

/* 0 or -ENOMEM. */
int timeline_add_switch(struct timeline *tl, const struct trace_switch *s);

#endif
