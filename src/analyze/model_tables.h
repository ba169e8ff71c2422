/* SPDX-License-Identifier: MIT */
/* model_tables.h - the model's tables: places, kinds, resources, threads, windows. */
#ifndef ANALYZE_MODEL_TABLES_H
#define ANALYZE_MODEL_TABLES_H

#include "analyze/model.h"

/* Creates the entries 0: unknown place, unknown kind. 0 or -ENOMEM. */
int tables_init(struct model *m);

/* Returns an index, or -ENOMEM. */
int64_t tables_place(struct model *m, uint32_t site, uint64_t addr);
/* The index of a site's place if it has one; 0: none. */
int64_t tables_find_site(const struct model *m, uint32_t site);
int64_t tables_spawn(struct model *m, uint32_t site, const char *name, size_t size);
int64_t tables_name(struct model *m, const char *name, size_t size);

/* 0 or -ENOMEM. */
int tables_thread(struct model *m, const struct trace_event *ev);
int tables_wait_begins(struct model *m, struct coro *co);

/* A resource was closed, acquired or released. */
int tables_resource_event(struct model *m, const struct trace_event *ev);

void tables_wait_ends(struct model *m, struct coro *co);

/* The resource that @co waits for; NULL: unknown. */
struct resource *tables_resource(const struct model *m, const struct coro *co);

/* Holders, and the last acquire, release and close, of what @co waits for; NULL: none recorded. */
const struct resource_use *tables_use(const struct model *m, const struct coro *co);

/* As tables_use(), for a lock or semaphore whose holders are known; NULL: it is none of these. */
const struct resource_use *tables_holders(const struct model *m, const struct coro *co);

/*
 * Number of recorded holders of what @co waits for that do not release it: they have ended, or wait
 * for the same.
 */
bool tables_keeps(const struct model *m, const struct coro *co, uint64_t id);
unsigned tables_kept(const struct model *m, const struct coro *co, const struct resource_use *use);

/* The coroutines that wake waiters like @co; NULL: none are known. */
const struct resource_use *tables_partners(const struct model *m, const struct coro *co);

/* @co, which is suspended, was woken. */
int tables_wake(struct model *m, const struct coro *co, const struct trace_event *ev);

/* Make room for one more zeroed element of @size bytes. 0 or -ENOMEM. */
int tables_room_for_one(void **array, size_t nr, size_t *room, size_t size);

/* Advance the time to @ts: close the windows before it. */
void tables_windows(struct model *m, uint64_t ts);

/* Forget coroutines, threads, resources and times; places and kinds stay. */
void tables_next_run(struct model *m);

void tables_release(struct model *m);

#endif
