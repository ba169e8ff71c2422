/* SPDX-License-Identifier: MIT */
/* traced_processes.c - the processes in a region: their files, and when they have ended. */
#include "memory/collect/traced_processes.h"

#include <corotracer/thread_id.h>

#include <errno.h>
#include <string.h>

#include "base/monotonic.h"
#include "memory/collect/left_region.h"
#include "process/process_check.h"

#define LATE_NS   (1000 * NS_PER_MS) /* a ring is taken after this time, however little it has */
#define FILES_MAX 4096u              /* maximum number of processes: more are corrupt */

/* True if a process with the same pid and a higher serial exists: the earlier one called exec. */
static bool is_replaced(const struct crw_region *r, uint32_t pid, uint64_t serial)
{
	uint32_t i;

	for (i = 0; i < r->nr_processes; i++) {
		const struct crw_process *p = &r->processes[i];

		/* (mem-F) pairs with the release of the process that made the entry. */
		uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);

		if (state == CRW_LIVE && __atomic_load_n(&p->pid, __ATOMIC_RELAXED) == pid &&
		    __atomic_load_n(&p->serial, __ATOMIC_RELAXED) > serial)
			return true;
	}
	return false;
}

/* Of a thread without an id of the kernel only the process can be asked for. */
static bool traced_is_gone(void *context, const struct crw_slot_view *v)
{
	const struct traced *t = context;
	uint32_t tid = v->tid < CTP_TID_OWN ? v->tid : v->pid;

	return process_thread_ended(v->pid, tid) || is_replaced(t->region, v->pid, v->serial);
}

/* The file of a thread's process.  NULL: corrupt, or no memory. */
static struct cray_writer *traced_file_of(void *context, const struct crw_slot_view *v)
{
	struct traced *t = context;
	const struct crw_process *p = &t->region->processes[v->process];
	struct output *out;

	if (__atomic_load_n(&p->serial, __ATOMIC_RELAXED) != v->serial ||
	    __atomic_load_n(&p->pid, __ATOMIC_RELAXED) != v->pid ||
	    (t->outputs->nr >= FILES_MAX && v->serial > t->outputs->highest)) {
		t->broken++;
		return NULL;
	}
	out = outputs_of(t->outputs, v->serial, v->pid,
			 __atomic_load_n(&p->start_ns, __ATOMIC_RELAXED));
	if (!out) {
		t->no_memory = true;
		return NULL;
	}
	if (out->open && t->dir && v->serial > t->noted) {
		t->noted = v->serial;
		left_region_note(t->dir, v->serial, out->path);
	}
	return out->open ? out->file.writer : t->nowhere;
}

static void traced_store(void *context, struct cray_writer *file, struct cray_maker *m)
{
	const struct traced *t = context;

	if (outputs_full(t->outputs))
		file->capped = true;
	cray_writer_block(file, m);
}

int traced_open(struct traced *t, struct crw_region *region, struct outputs *outputs,
		struct err *err)
{
	*t = (struct traced){ .region = region, .outputs = outputs };
	t->consumer = (struct crw_consumer){
		.region = region,
		.context = t,
		.file_of = traced_file_of,
		.store = traced_store,
		.is_gone = traced_is_gone,
		.maker_new = cfile_maker_new,
		.maker_free = cfile_maker_free,
		.level = outputs->level,
		.hurry = true,
		.late_ns = LATE_NS,
		.nr_packers = outputs->packers,
	};
	t->nowhere = cfile_no_writer();
	if (t->nowhere && crw_consumer_open(&t->consumer))
		return 0;
	return err_set(err, -ENOMEM, "no memory for %u threads", region->nr_slots);
}

static void process_end(struct traced *t, struct crw_process *p, uint64_t serial, int status)
{
	uint64_t lost = __atomic_load_n(&p->lost, __ATOMIC_RELAXED);
	struct output *out;

	for (out = t->outputs->first; out && out->serial != serial; out = out->next)
		;
	if (out && out->open) {
		if (lost) /* of threads without a slot */
			cray_writer_lost(out->file.writer, ~0u, CRAY_GAP_FULL, lost);
		output_end(t->outputs, out, status);
	}
	/* (mem-F) pairs with the compare-and-swap of the process that claims it. */
	__atomic_store_n(&p->state, CRW_FREE, __ATOMIC_RELEASE);
}

void traced_end_files(struct traced *t, uint32_t child, int status, bool last)
{
	uint32_t i;

	for (i = 0; i < t->region->nr_processes; i++) {
		struct crw_process *p = &t->region->processes[i];
		uint64_t serial;
		uint32_t pid;

		/* (mem-F) pairs with the release of the process that made the entry. */
		if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != CRW_LIVE)
			continue;
		serial = __atomic_load_n(&p->serial, __ATOMIC_RELAXED);
		pid = __atomic_load_n(&p->pid, __ATOMIC_RELAXED);
		if (crw_consumer_has(&t->consumer, serial))
			continue;
		if (last || process_thread_ended(pid, pid) || is_replaced(t->region, pid, serial))
			process_end(t, p, serial, pid == child ? status : -1);
	}
}

void traced_close(struct traced *t)
{
	if (t->region)
		crw_consumer_close(&t->consumer);
	if (t->nowhere)
		cfile_free_writer(t->nowhere);
	memset(t, 0, sizeof(*t));
}
