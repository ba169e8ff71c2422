/* SPDX-License-Identifier: MIT */
/* ring_consumer.c - move records from the slots of the region to the output files. */
#include "memory/collect/ring_consumer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/monotonic.h"

#define GATHER    16u                /* chunks of a full block */
#define LATE_NS   (200 * NS_PER_MS)  /* fewer chunks are taken after this time */
#define STALE_NS  (1000 * NS_PER_MS) /* an incomplete block is written after this time */
#define CHECK_NS  (200 * NS_PER_MS)  /* between two checks whether a thread exists */
#define FILES_MAX 4096u              /* maximum number of processes: more are corrupt */
#define RUNS_MAX  4096u              /* runs taken from one slot per poll */

int slots_open(struct slots *s, struct crw_region *region, struct outputs *outputs, struct err *err)
{
	memset(s, 0, sizeof(*s));
	s->region = region;
	s->outputs = outputs;
	s->slot = calloc(region->nr_slots, sizeof(*s->slot));
	return s->slot ? 0 : err_set(err, -ENOMEM, "no memory for %u threads", region->nr_slots);
}

/* ---- ended threads and processes ------------------------------------------ */

/* True if a thread has no entry in /proc or is a zombie. */
static bool is_gone(uint32_t pid, uint32_t tid)
{
	char path[64], text[512];
	const char *end;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return got < 0 && errno == ESRCH;
	text[got] = '\0';
	end = strrchr(text, ')'); /* the name may contain anything */
	return end && (end[2] == 'Z' || end[2] == 'X');
}

/* True if a process with the same pid and a higher serial exists: the earlier one called exec. */
static bool is_replaced(const struct slots *s, const struct slot *slot)
{
	uint32_t i;

	for (i = 0; i < s->region->nr_processes; i++) {
		const struct crw_process *p = &s->region->processes[i];

		/* (mem-F) pairs with the release of the process that made the entry. */
		uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);

		if (state == CRW_LIVE && __atomic_load_n(&p->pid, __ATOMIC_RELAXED) == slot->pid &&
		    __atomic_load_n(&p->serial, __ATOMIC_RELAXED) > slot->serial)
			return true;
	}
	return false;
}

static bool thread_gone(const struct slots *s, struct slot *slot, uint64_t now_ns)
{
	if (now_ns - slot->checked_ns < CHECK_NS)
		return false;
	slot->checked_ns = now_ns;
	return is_gone(slot->pid, slot->tid) || is_replaced(s, slot);
}

/* ---- beginning and end of a slot ------------------------------------------ */

/* Write modules and facts, which are not part of blocks.  The bytes are untrusted. */
static void slots_aside(void *context, unsigned code, uint64_t key, const uint8_t *payload,
			uint32_t size)
{
	struct output *out = context;

	if (!out->open)
		return;
	if (code == CRW_FACT)
		cray_writer_fact(out->file.writer, (uint16_t)key, payload, size);
	else
		cray_writer_module(out->file.writer, payload, size);
}

static struct cray_pack *new_pack(struct slots *s)
{
	struct cray_pack *p = s->spare;

	s->spare = NULL;
	if (!p) {
		/* mmap: most of its pages are never touched. */
		p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return NULL;
	}
	cray_pack_init(p);
	return p;
}

static void drop_pack(struct slots *s, struct cray_pack *p)
{
	if (!s->spare)
		s->spare = p;
	else
		munmap(p, sizeof(*p));
}

static void slots_tell_thread(struct slot *slot, uint64_t end_ns)
{
	struct cray_thread t = {
		.number = slot->number,
		.id = slot->tid,
		.start_ns = slot->start_ns,
		.end_ns = end_ns,
	};

	if (slot->out->open)
		cfile_thread(&slot->out->file, &t, slot->name);
}

/* True if the slot's process has an entry in the table of processes. */
static bool slots_is_known(const struct slots *s, const struct crw_slot_view *view)
{
	const struct crw_process *p = &s->region->processes[view->process];

	return __atomic_load_n(&p->serial, __ATOMIC_RELAXED) == view->serial &&
	       __atomic_load_n(&p->pid, __ATOMIC_RELAXED) == view->pid &&
	       (s->outputs->nr < FILES_MAX || view->serial <= s->outputs->highest);
}

static bool slot_begin(struct slots *s, struct slot *slot, const struct crw_slot_view *view,
		       uint64_t now_ns)
{
	const struct crw_process *p = &s->region->processes[view->process];
	uint64_t start_ns = __atomic_load_n(&p->start_ns, __ATOMIC_RELAXED);

	memset(slot, 0, sizeof(*slot));
	slot->refused = true;
	if (!slots_is_known(s, view)) {
		s->broken++;
		return false;
	}
	slot->out = outputs_of(s->outputs, view->serial, view->pid, start_ns);
	slot->pack = slot->out ? new_pack(s) : NULL;
	if (!slot->pack) {
		s->no_memory = true;
		return false;
	}
	slot->refused = false;
	slot->in_use = true;
	slot->serial = view->serial;
	slot->thread = view->thread;
	slot->pid = view->pid;
	slot->tid = view->tid;
	slot->number = slot->out->nr_threads++;
	slot->start_ns = view->start_ns;
	memcpy(slot->name, view->name, sizeof(slot->name));
	slot->taken_ns = slot->written_ns = slot->checked_ns = now_ns;
	slot->feed.weight_256 = 256;
	slot->feed.aside = slots_aside;
	slot->feed.context = slot->out;
	cray_pack_begin(slot->pack, slot->number, 0, 0);
	slots_tell_thread(slot, 0);
	s->nr_threads++;
	return true;
}

static void slots_next_block(struct slots *s, struct slot *slot, uint64_t now_ns)
{
	if (slot->out->open) {
		if (outputs_full(s->outputs))
			slot->out->file.writer->capped = true;
		cfile_block(&slot->out->file, slot->pack);
	}
	cray_pack_begin(slot->pack, slot->number, slot->feed.order, slot->feed.time_ns);
	cray_pack_weight(slot->pack, slot->feed.weight_256);
	slot->written_ns = now_ns;
}

/* A process in state CRW_ENDED has closed the buffers of all its threads. */
static bool process_said_so(const struct slots *s, const struct crw_slot_view *view)
{
	/* (mem-F) pairs with the release of the process that ended. */
	return __atomic_load_n(&s->region->processes[view->process].state, __ATOMIC_ACQUIRE) ==
	       CRW_ENDED;
}

/* Report accesses that a thread lost or left out and that no gap unit covers. */
static void tell_untold(struct cray_writer *file, const struct slot *slot,
			const struct crw_region *region, uint32_t index)
{
	static const uint32_t causes[] = { CRAY_GAP_FULL, CRAY_GAP_SAMPLED, CRAY_GAP_FILTERED };
	struct crw_slot_view last;
	size_t i;

	crw_slot_look(region, index, &last); /* it changes while the ring is drained */
	for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		uint64_t count = crw_untold(&slot->feed, &last, causes[i]);

		if (count)
			cray_writer_lost(file, slot->number, causes[i], count);
	}
	if (last.lost_nested)
		cray_writer_lost(file, slot->number, CRAY_GAP_NESTED, last.lost_nested);
}

static void slot_end(struct slots *s, struct slot *slot, const struct crw_slot_view *view,
		     uint64_t now_ns)
{
	struct cray_writer *file = slot->out->file.writer;

	slots_next_block(s, slot, now_ns);
	if (slot->out->open) {
		slots_tell_thread(slot, view->end_ns ? view->end_ns : now_ns);
		tell_untold(file, slot, s->region, view->index);
		if (slot->feed.broken)
			cray_writer_lost(file, slot->number, CRAY_GAP_BROKEN, slot->feed.broken);
		if (slot->cursor.broken || slot->feed.ranges)
			cray_writer_lost(file, slot->number, CRAY_GAP_BROKEN,
					 0); /* unknown number */
	}
	s->broken += slot->feed.broken + slot->cursor.broken + slot->feed.ranges;
	s->nr_recovered += view->state != CRW_ENDED && !process_said_so(s, view);
	drop_pack(s, slot->pack);
	memset(slot, 0, sizeof(*slot));
	crw_slot_free(s->region, view->index);
}

/* ---- taking -------------------------------------------------------------- */

/* Take runs of units from a slot.  True: something was taken. */
static bool take_runs(struct slots *s, struct slot *slot, const struct crw_slot_view *view,
		      bool gone, uint64_t now_ns)
{
	uint64_t most = 2 * (uint64_t)s->region->nr_chunks * s->region->chunk_size / CRW_UNIT;
	struct crw_taken run;
	uint64_t runs;
	uint32_t used;
	bool any = false;

	/* Of an ended thread take everything, bounded in case the program still writes. */
	for (runs = 0; runs < (gone ? most : RUNS_MAX); runs++) {
		if (!crw_take(s->region, view, &slot->cursor, UINT32_MAX, gone, &run))
			break;
		used = crw_feed(&slot->feed, slot->pack, &run);
		if (used < run.nr)
			slots_next_block(s, slot, now_ns);
		while (slot->feed.piece_left) { /* a long range can fill several blocks */
			run.nr = run.new_chunk = 0;
			if (crw_feed(&slot->feed, slot->pack, &run), slot->feed.piece_left)
				slots_next_block(s, slot, now_ns);
		}
		crw_give_back(s->region, view, &slot->cursor, used);
		any = true;
	}
	if (any)
		slot->taken_ns = now_ns;
	return any;
}

static uint64_t waiting_chunks(const struct slots *s, const struct slot *slot, uint32_t index)
{
	/* (mem-A) is needed only to read units: here only the number matters. */
	return __atomic_load_n(&s->region->slots[index].sealed, __ATOMIC_RELAXED) -
	       slot->cursor.taken;
}

static bool slots_take_slot(struct slots *s, uint32_t index, uint64_t now_ns, bool hurry, bool last)
{
	struct slot *slot = &s->slot[index];
	struct crw_slot_view view;
	bool gone, any;

	crw_slot_look(s->region, index, &view);
	if (view.state != CRW_LIVE && view.state != CRW_ENDED && !slot->in_use) {
		slot->refused = false;
		return false;
	}
	if (slot->refused)
		return false;
	if (slot->in_use && (view.serial != slot->serial || view.thread != slot->thread ||
			     view.state == CRW_FREE || view.state == CRW_MAKING)) {
		/* Only the collector frees slots: the program overwrote it. */
		view.serial = slot->serial;
		view.thread = slot->thread;
		view.state = CRW_ENDED;
		slot->feed.broken++;
	}
	if (!slot->in_use && !slot_begin(s, slot, &view, now_ns))
		return false;
	gone = last || view.state == CRW_ENDED || thread_gone(s, slot, now_ns);
	if (!gone && !hurry && waiting_chunks(s, slot, index) < GATHER &&
	    now_ns - slot->taken_ns < LATE_NS)
		return false;
	any = take_runs(s, slot, &view, gone, now_ns);
	if (gone)
		slot_end(s, slot, &view, now_ns);
	if (!gone && !cray_pack_empty(slot->pack) && now_ns - slot->written_ns > STALE_NS)
		slots_next_block(s, slot, now_ns);
	return any || gone;
}

bool slots_take(struct slots *s, uint64_t now_ns, bool hurry, bool last)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < s->region->nr_slots; i++)
		any |= slots_take_slot(s, i, now_ns, hurry, last);
	return any;
}

bool slots_ready(const struct slots *s)
{
	uint32_t i;

	for (i = 0; i < s->region->nr_slots; i++) {
		const struct slot *slot = &s->slot[i];
		/* A hint only: crw_slot_look() reads the state again, with acquire. */
		uint32_t state = __atomic_load_n(&s->region->slots[i].state, __ATOMIC_RELAXED);

		if (!slot->refused && (state == CRW_ENDED || (state == CRW_LIVE && !slot->in_use)))
			return true;
		if (slot->in_use && waiting_chunks(s, slot, i) >= GATHER)
			return true;
	}
	return false;
}

/* ---- processes ----------------------------------------------------------- */

static bool has_slots(const struct slots *s, uint64_t serial)
{
	uint32_t i;

	for (i = 0; i < s->region->nr_slots; i++) {
		if (s->slot[i].in_use && s->slot[i].serial == serial)
			return true;
	}
	return false;
}

static void process_end(struct slots *s, struct crw_process *p, uint64_t serial, uint32_t pid,
			uint32_t child, int status)
{
	uint64_t lost = __atomic_load_n(&p->lost, __ATOMIC_RELAXED);
	struct output *out;

	for (out = s->outputs->first; out && out->serial != serial; out = out->next)
		;
	if (out && out->open) {
		if (lost) /* of threads without a slot */
			cray_writer_lost(out->file.writer, ~0u, CRAY_GAP_FULL, lost);
		output_end(s->outputs, out, pid == child ? status : -1);
	}
	/* (mem-F) pairs with the compare-and-swap of the process that claims it. */
	__atomic_store_n(&p->state, CRW_FREE, __ATOMIC_RELEASE);
}

void slots_end_files(struct slots *s, uint32_t child, int status, bool last)
{
	uint32_t i;

	for (i = 0; i < s->region->nr_processes; i++) {
		struct crw_process *p = &s->region->processes[i];
		struct slot same = { 0 };
		uint32_t state, pid;
		uint64_t serial;

		/* (mem-F) pairs with the release of the process that made the entry. */
		state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
		if (state != CRW_LIVE && state != CRW_ENDED)
			continue;
		serial = same.serial = __atomic_load_n(&p->serial, __ATOMIC_RELAXED);
		pid = same.pid = __atomic_load_n(&p->pid, __ATOMIC_RELAXED);
		if (has_slots(s, serial))
			continue;
		if (last || is_gone(pid, pid) || is_replaced(s, &same))
			process_end(s, p, serial, pid, child, status);
	}
}

void slots_close(struct slots *s)
{
	uint32_t i;

	for (i = 0; s->slot && i < s->region->nr_slots; i++) {
		if (s->slot[i].in_use)
			munmap(s->slot[i].pack, sizeof(*s->slot[i].pack));
	}
	if (s->spare)
		munmap(s->spare, sizeof(*s->spare));
	free(s->slot);
	memset(s, 0, sizeof(*s));
}
