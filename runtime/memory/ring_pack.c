/* SPDX-License-Identifier: MIT */
/* ring_pack.c - pack the units of one thread's ring into blocks. */
#include "ring_pack.h"

void crw_job_init(struct crw_job *job, const struct crw_region *r, const struct crw_slot_view *view,
		  uint32_t thread)
{
	*job = (struct crw_job){ .region = r, .view = *view, .thread = thread };
	job->cursor.hold = 1;
	job->feed.weight_256 = 256;
}

uint64_t crw_job_ready(const struct crw_job *job)
{
	/* (mem-A) is needed only to read units: here only the number matters. */
	return __atomic_load_n(&job->region->slots[job->view.index].sealed, __ATOMIC_RELAXED) -
	       job->cursor.taken;
}

/*
 * As crw_take(), also from the open chunk of a running thread.  That thread may have filled units
 * since it was last settled; on some processors word 1 of such a unit is visible before its word
 * 0, and before the unit in front of it.  So the units are counted first, then settled, then read.
 */
static bool job_take(struct crw_job *job, struct crw_taken *run)
{
	bool open = job->settle && crw_job_ready(job) == 0;
	struct crw_cursor *c = &job->cursor, before = *c;
	uint32_t end;

	if (!crw_take(job->region, &job->view, c, UINT32_MAX, job->gone, run))
		return false;
	if (!open)
		return true;
	end = c->offset + run->nr;
	job->unsettled = !job->settle();
	if (c->taken == before.taken)
		*c = before;
	else if (run->new_chunk)
		c->begun = 0;
	if (job->unsettled || !crw_take(job->region, &job->view, c, UINT32_MAX, job->gone, run))
		return false;
	if (run->nr > end - c->offset)
		run->nr = end - c->offset;
	return true;
}

/* True if there is room for a whole chunk of plain accesses. */
static bool job_has_room(const struct crw_job *job, const struct cray_pack *p)
{
	return CRAY_PACK_RECORDS - p->nr_accesses - p->nr_events >=
	       CRW_UNITS(job->region->chunk_size);
}

bool crw_job_pack(struct crw_job *job, struct cray_pack *p)
{
	struct crw_feed *feed = &job->feed;
	struct crw_taken run = { 0 };
	uint32_t used;

	cray_pack_init(p);
	cray_pack_begin(p, job->thread, feed->order, feed->time_ns);
	cray_pack_weight(p, feed->weight_256);
	if (feed->piece_left)
		crw_feed_repeat(feed, p);
	crw_feed(feed, p, &run); /* the rest of a range that did not fit into the last block */
	if (feed->piece_left)
		return true;
	while (job->cursor.taken < job->end && job_take(job, &run)) {
		if (run.new_chunk && !job_has_room(job, p)) {
			job->cursor.begun = 0;
			return true;
		}
		if (cray_pack_empty(p))
			crw_feed_repeat(feed, p);
		used = crw_feed(feed, p, &run);
		crw_give_back(job->region, &job->view, &job->cursor, used);
		if (used < run.nr || feed->piece_left)
			return true;
	}
	return false;
}
