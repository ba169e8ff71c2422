/* SPDX-License-Identifier: MIT */
/*
 * merge_numbers.c - the numbers in the items of a merged trace: find them, and replace them.
 *
 * What a number of a fact means follows from its key in the schema, so that facts of a later
 * version are renumbered without a change here.
 */
#include <errno.h>
#include <string.h>

#include "trace/merge.h"
#include "trace/schema.h"

enum merge_role { MERGE_OTHER, MERGE_ID, MERGE_TID, MERGE_PID, MERGE_SITE, MERGE_TIME };

static enum merge_role merge_role_of(enum trace_item_type type, const struct schema_field *f)
{
	static const struct {
		const char *key;
		enum merge_role role;
	} roles[] = {
		{ "probe_id", MERGE_ID }, { "parent", MERGE_ID },       { "waker", MERGE_ID },
		{ "tid", MERGE_TID },     { "pid", MERGE_PID },         { "site", MERGE_SITE },
		{ "ts", MERGE_TIME },     { "birth_site", MERGE_SITE },
	};
	size_t i, size = f->key ? strlen(f->key) : 0;

	if (!size)
		return MERGE_OTHER;
	if (type == TRACE_ITEM_SITE && !strcmp(f->key, "id"))
		return MERGE_SITE;
	for (i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (!strcmp(f->key, roles[i].key))
			return roles[i].role;
	}
	return size > 3 && !strcmp(f->key + size - 3, "_ts") ? MERGE_TIME : MERGE_OTHER;
}

/* ---- find --------------------------------------------------------------------- */

static void merge_note_id(struct merge_input *in, uint64_t id)
{
	in->nr_ids++;
	if (id > in->max_id)
		in->max_id = id;
}

static void merge_note_site(struct merge_input *in, uint32_t site)
{
	if (site > in->max_site)
		in->max_site = site;
}

static int merge_note_tid(struct merge_input *in, uint64_t tid)
{
	if (tid > in->max_tid)
		in->max_tid = tid;
	return tid ? u64map_put(&in->tids, tid, 1) : 0;
}

static int merge_note_pid(struct merge_input *in, uint64_t pid)
{
	if (pid > in->max_pid && pid <= UINT32_MAX)
		in->max_pid = (uint32_t)pid;
	return pid ? u64map_put(&in->pids, pid, 1) : 0;
}

static int merge_note_event(struct merge_input *in, const struct trace_event *ev)
{
	uint64_t known;

	merge_note_id(in, ev->probe_id);
	merge_note_id(in, ev->peer);
	merge_note_site(in, ev->site);
	if (ev->reason == TRACE_REASON_JOIN && ev->flags & TRACE_HAS_RESOURCE)
		merge_note_id(in, ev->resource);
	if (ev->pid && merge_note_pid(in, ev->pid) < 0)
		return -ENOMEM;
	return u64map_get(&in->tids, ev->tid, &known) ? 0 : merge_note_tid(in, ev->tid);
}

static int merge_note_field(struct merge_input *in, enum merge_role role, uint64_t value)
{
	switch (role) {
	case MERGE_ID:
		merge_note_id(in, value);
		return 0;
	case MERGE_SITE:
		merge_note_site(in, (uint32_t)value);
		return 0;
	case MERGE_TID:
		return merge_note_tid(in, value);
	case MERGE_PID:
		return merge_note_pid(in, value);
	case MERGE_TIME:
	case MERGE_OTHER:
		break;
	}
	return 0;
}

int merge_note_numbers(struct merge_input *in, const struct trace_item *item)
{
	const struct schema_record *r = &schema[item->type];
	const void *record = schema_const_record_of(item);
	size_t i;

	if (item->type == TRACE_ITEM_EVENT)
		return merge_note_event(in, &item->event);
	if (item->type == TRACE_ITEM_COROUTINE && item->coroutine.has_resource &&
	    item->coroutine.reason == TRACE_REASON_JOIN)
		merge_note_id(in, item->coroutine.resource);
	for (i = 0; i < r->nr; i++) {
		enum merge_role role = merge_role_of(item->type, &r->fields[i]);

		if (merge_note_field(in, role, schema_number(&r->fields[i], record)) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- replace -------------------------------------------------------------------- */

/* 0: no memory. */
static uint64_t merge_number_again(struct merge *m, size_t nr, uint64_t id)
{
	uint64_t *number = u64map_at(&m->numbers[nr], id);

	if (number && !*number)
		*number = m->inputs[nr].shift.id + u64map_count(&m->numbers[nr]);
	return number ? *number : 0;
}

static int merge_replace_id(struct merge *m, size_t nr, uint64_t *id)
{
	if (!m->is_numbered)
		*id += m->inputs[nr].shift.id;
	else
		*id = merge_number_again(m, nr, *id);
	return m->is_numbered && !*id ? -ENOMEM : 0;
}

/* A number that does not fit comes from a damaged input. */
static uint32_t merge_replace_site(const struct merge_shift *shift, uint32_t site)
{
	return site && site <= UINT32_MAX - shift->site ? site + shift->site : 0;
}

static uint64_t merge_replace_time(const struct merge_shift *shift, uint64_t ts)
{
	return ts && ts <= UINT64_MAX - shift->time ? ts + shift->time : ts;
}

/* What a coroutine waits for may be a coroutine or a time. */
static int merge_replace_resource(struct merge *m, size_t nr, unsigned reason, uint64_t *resource)
{
	if (reason == TRACE_REASON_JOIN && *resource)
		return merge_replace_id(m, nr, resource);
	if (reason == TRACE_REASON_TIMER)
		*resource = merge_replace_time(&m->inputs[nr].shift, *resource);
	return 0;
}

/* Descriptors and locks are of one process: the process must be known if there are several. */
static void merge_complete_pid(const struct merge_input *in, struct trace_event *ev)
{
	if (!ev->pid && in->nr_processes == 1 &&
	    (ev->kind == TRACE_BIRTH || trace_is_of_resource(ev)))
		ev->pid = in->pid;
}

static int merge_renumber_event(struct merge *m, size_t nr, struct trace_event *ev)
{
	const struct merge_input *in = &m->inputs[nr];
	int rc = 0;

	merge_complete_pid(in, ev);
	if (ev->probe_id || !trace_is_of_resource(ev))
		rc = merge_replace_id(m, nr, &ev->probe_id);
	if (!rc && ev->peer)
		rc = merge_replace_id(m, nr, &ev->peer);
	if (!rc && ev->flags & TRACE_HAS_RESOURCE)
		rc = merge_replace_resource(m, nr, ev->reason, &ev->resource);
	ev->tid += ev->tid ? in->shift.tid : 0;
	ev->pid += ev->pid ? in->shift.pid : 0;
	ev->site = merge_replace_site(&in->shift, ev->site);
	ev->ts = merge_replace_time(&in->shift, ev->ts);
	return rc;
}

static int merge_renumber_field(struct merge *m, size_t nr, enum merge_role role,
				const struct schema_field *f, void *record)
{
	const struct merge_shift *shift = &m->inputs[nr].shift;
	uint64_t value = schema_number(f, record);
	int rc = 0;

	if (role == MERGE_OTHER || !value || value == f->missing)
		return 0;
	if (role == MERGE_ID)
		rc = merge_replace_id(m, nr, &value);
	else if (role == MERGE_SITE)
		value = merge_replace_site(shift, (uint32_t)value);
	else if (role == MERGE_TIME)
		value = merge_replace_time(shift, value);
	else
		value += role == MERGE_TID ? shift->tid : shift->pid;
	schema_set_number(f, record, value);
	return rc;
}

static void merge_renumber_part(const struct merge_input *in, struct trace_part *part)
{
	part->number += in->parts_below;
	part->ids_from += in->shift.id;
	part->ids_to += in->shift.id;
}

int merge_renumber(struct merge *m, size_t nr, struct trace_item *item)
{
	const struct schema_record *r = &schema[item->type];
	int rc = 0;
	size_t i;

	if (item->type == TRACE_ITEM_EVENT)
		return merge_renumber_event(m, nr, &item->event);
	if (item->type == TRACE_ITEM_GAP && !item->gap.pid && m->inputs[nr].nr_processes == 1)
		item->gap.pid = m->inputs[nr].pid;
	if (item->type == TRACE_ITEM_PART)
		merge_renumber_part(&m->inputs[nr], &item->part);
	if (item->type == TRACE_ITEM_PROCESS)
		item->process.part = m->inputs[nr].parts_below +
				     (item->process.part && !m->is_numbered ? item->process.part
									    : 1);
	if (item->type == TRACE_ITEM_COROUTINE && item->coroutine.has_resource)
		rc = merge_replace_resource(m, nr, item->coroutine.reason,
					    &item->coroutine.resource);
	for (i = 0; i < r->nr && !rc; i++)
		rc = merge_renumber_field(m, nr, merge_role_of(item->type, &r->fields[i]),
					  &r->fields[i], schema_record_of(item));
	return rc;
}
