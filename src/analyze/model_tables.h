/* SPDX-License-Identifier: MIT */
/* model_tables.h - the model's tables: places, kinds, resources, threads, windows. */
#ifndef ANALYZE_MODEL_TABLES_H
#define ANALYZE_MODEL_TABLES_H

#include "analyze/model.h"

/* Numbers 0 are there from the start: "somewhere", "of no known kind".  0 or -ENOMEM. */
int tables_init(struct model *m);

/* A number, or -ENOMEM. */
int64_t tables_place(struct model *m, uint32_t site, uint64_t addr);
/* The same of a site, if it has one already; 0: no. */
int64_t tables_find_site(const struct model *m, uint32_t site);
int64_t tables_spawn(struct model *m, uint32_t site, const char *name, size_t size);
int64_t tables_name(struct model *m, const char *name, size_t size);

/* 0 or -ENOMEM. */
int tables_thread(struct model *m, const struct trace_event *ev);
int tables_wait_begins(struct model *m, struct coro *co);

/* Something was closed, acquired or released. */
int tables_resource_event(struct model *m, const struct trace_event *ev);

void tables_wait_ends(struct model *m, struct coro *co);

/* What is known of what @co waits for; NULL: nothing. */
struct resource *tables_resource(const struct model *m, const struct coro *co);

/* Time goes on to @ts: close the windows before it. */
void tables_windows(struct model *m, uint64_t ts);

void tables_release(struct model *m);

#endif
