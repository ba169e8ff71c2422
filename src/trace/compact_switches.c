/* SPDX-License-Identifier: MIT */
/* compact_switches.c - times without a processor, as columns of a compact block. */
#include "trace/compact_switches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Numbered as in the column COMPACT_SWITCH_STATE. */
static const char *const switch_states[] = { TRACE_SWITCH_BLOCKED, TRACE_SWITCH_PREEMPTED,
					     TRACE_SWITCH_READY };

#define NR_SWITCH_STATES (sizeof(switch_states) / sizeof(switch_states[0]))

/* ---- write --------------------------------------------------------------- */

static uint8_t *switch_plane(const struct compact_switches *s, unsigned column)
{
	return s->planes + (size_t)(column - COMPACT_SWITCH_THREAD_LOW) * COMPACT_ITEMS_MAX;
}

/* NR_SWITCH_STATES: one that has no number. */
static unsigned switch_state_number(const char *state)
{
	unsigned i;

	for (i = 0; i < NR_SWITCH_STATES; i++) {
		if (state && !strcmp(state, switch_states[i]))
			break;
	}
	return i;
}

/* Index plus 1; 0: no room. */
static uint32_t switch_thread_number(struct compact_switches *s, const struct trace_switch *item)
{
	uint64_t *number = u64map_at(&s->threads, item->pid << 32 | item->tid);

	if (!number)
		return 0;
	if (!*number) {
		*number = ++s->nr_threads;
		bytes_add_varint(&s->thread_list, item->pid);
		bytes_add_varint(&s->thread_list, item->tid);
	}
	return (uint32_t)*number;
}

/* Three columns of bytes, or eight bytes in the column of long times. */
static void switch_put_time(struct compact_switches *s, unsigned column, uint64_t ns)
{
	uint32_t low = ns < COMPACT_DELTA_LONG ? (uint32_t)ns : COMPACT_DELTA_LONG;

	switch_plane(s, column)[s->items] = (uint8_t)low;
	switch_plane(s, column + 1)[s->items] = (uint8_t)(low >> 8);
	switch_plane(s, column + 2)[s->items] = (uint8_t)(low >> 16);
	if (low == COMPACT_DELTA_LONG)
		bytes_add(&s->long_times, &ns, sizeof(ns));
}

static void switch_note_range(struct compact_switches *s, const struct trace_switch *item)
{
	if (!s->items || item->from_ts < s->min_ts)
		s->min_ts = item->from_ts;
	if (!s->items || item->to_ts > s->max_ts)
		s->max_ts = item->to_ts;
}

bool compact_switches_add(struct compact_switches *s, const struct trace_switch *item)
{
	unsigned state = switch_state_number(item->state);
	uint32_t thread;

	if (state == NR_SWITCH_STATES || item->lost || item->cpu > UINT16_MAX ||
	    item->pid > UINT32_MAX || item->tid > UINT32_MAX || s->items == COMPACT_ITEMS_MAX)
		return false;
	if (!s->planes) /* touched page by page */
		s->planes = calloc(COMPACT_SWITCH_PLANES, COMPACT_ITEMS_MAX);
	thread = s->planes ? switch_thread_number(s, item) : 0;
	if (!thread)
		return false;
	thread--;
	switch_plane(s, COMPACT_SWITCH_THREAD_LOW)[s->items] = (uint8_t)thread;
	switch_plane(s, COMPACT_SWITCH_THREAD_HIGH)[s->items] = (uint8_t)(thread >> 8);
	switch_plane(s, COMPACT_SWITCH_STATE)[s->items] = (uint8_t)state;
	switch_plane(s, COMPACT_SWITCH_CPU_LOW)[s->items] = (uint8_t)item->cpu;
	switch_plane(s, COMPACT_SWITCH_CPU_HIGH)[s->items] = (uint8_t)(item->cpu >> 8);
	switch_put_time(s, COMPACT_SWITCH_END_0, item->to_ts - s->last_ts);
	switch_put_time(s, COMPACT_SWITCH_LENGTH_0, item->to_ts - item->from_ts);
	switch_note_range(s, item);
	s->last_ts = item->to_ts;
	s->items++;
	return true;
}

int compact_switches_columns(const struct compact_switches *s,
			     struct compact_source columns[NR_COMPACT_SWITCH_COLUMNS])
{
	unsigned id, nr = 0;

	if (s->long_times.error || s->thread_list.error)
		return -ENOMEM;
	for (id = COMPACT_SWITCH_THREAD_LOW; id <= COMPACT_SWITCH_LENGTH_2; id++)
		columns[nr++] = (struct compact_source){ .id = id,
							 .data = switch_plane(s, id),
							 .size = s->items,
							 .may_be_left_out = true };
	columns[nr++] = (struct compact_source){ .id = COMPACT_SWITCH_LONG,
						 .data = s->long_times.data,
						 .size = s->long_times.size };
	columns[nr++] = (struct compact_source){ .id = COMPACT_SWITCH_THREADS,
						 .data = s->thread_list.data,
						 .size = s->thread_list.size };
	return (int)nr;
}

void compact_switches_clear(struct compact_switches *s)
{
	u64map_release(&s->threads);
	bytes_clear(&s->long_times);
	bytes_clear(&s->thread_list);
	s->items = s->nr_threads = 0;
	s->last_ts = s->min_ts = s->max_ts = 0;
}

void compact_switches_release(struct compact_switches *s)
{
	u64map_release(&s->threads);
	bytes_release(&s->long_times);
	bytes_release(&s->thread_list);
	free(s->planes);
	*s = (struct compact_switches){ 0 };
}

/* ---- read ---------------------------------------------------------------- */

bool compact_switch_decoder_begin(struct compact_switch_decoder *d,
				  const struct compact_block_head *head,
				  const struct compact_part *parts)
{
	const struct compact_part *times = &parts[COMPACT_SWITCH_LONG];
	const struct compact_part *threads = &parts[COMPACT_SWITCH_THREADS];
	unsigned id;

	for (id = COMPACT_SWITCH_THREAD_LOW; id <= COMPACT_SWITCH_LENGTH_2; id++) {
		if (parts[id].data && parts[id].size != head->items)
			return false;
		d->planes[id] = parts[id].data;
	}
	d->long_at = times->data;
	d->long_end = times->data ? times->data + times->size : NULL;
	d->thread_at = threads->data;
	d->thread_end = threads->data ? threads->data + threads->size : NULL;
	d->items = head->items;
	d->at = d->nr_threads = 0;
	d->last_ts = 0;
	return head->items && head->items <= COMPACT_ITEMS_MAX;
}

static uint32_t switch_byte(const struct compact_switch_decoder *d, unsigned column)
{
	return d->planes[column] ? d->planes[column][d->at] : 0;
}

static bool switch_take_time(struct compact_switch_decoder *d, unsigned column, uint64_t *ns)
{
	*ns = switch_byte(d, column) | switch_byte(d, column + 1) << 8 |
	      switch_byte(d, column + 2) << 16;
	if (*ns != COMPACT_DELTA_LONG)
		return true;
	if ((size_t)(d->long_end - d->long_at) < sizeof(*ns))
		return false;
	memcpy(ns, d->long_at, sizeof(*ns));
	d->long_at += sizeof(*ns);
	return true;
}

static bool switch_take_number(struct compact_switch_decoder *d, uint64_t *out)
{
	unsigned shift;

	*out = 0;
	for (shift = 0; shift < 35 && d->thread_at < d->thread_end; shift += 7) {
		uint8_t byte = *d->thread_at++;

		*out |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return *out <= UINT32_MAX;
	}
	return false;
}

/* The thread with this index; one more than the known ones adds the next of the list. */
static int switch_take_thread(struct compact_switch_decoder *d, uint32_t index)
{
	struct compact_switch_thread *threads, thread;
	uint32_t room = d->room ? 2 * d->room : 64;

	if (index < d->nr_threads)
		return 0;
	if (index > d->nr_threads || !switch_take_number(d, &thread.pid) ||
	    !switch_take_number(d, &thread.tid))
		return -EPROTO;
	if (d->nr_threads == d->room) {
		threads = reallocarray(d->threads, room, sizeof(*threads));
		if (!threads)
			return -ENOMEM;
		d->threads = threads;
		d->room = room;
	}
	d->threads[d->nr_threads++] = thread;
	return 0;
}

int compact_switch_decode(struct compact_switch_decoder *d, struct trace_switch *out)
{
	uint32_t index, state;
	uint64_t since_ns, length_ns;
	int rc;

	if (d->at == d->items)
		return 0;
	index = switch_byte(d, COMPACT_SWITCH_THREAD_LOW) |
		switch_byte(d, COMPACT_SWITCH_THREAD_HIGH) << 8;
	state = switch_byte(d, COMPACT_SWITCH_STATE);
	rc = switch_take_thread(d, index);
	if (rc < 0)
		return rc;
	if (state >= NR_SWITCH_STATES || !switch_take_time(d, COMPACT_SWITCH_END_0, &since_ns) ||
	    !switch_take_time(d, COMPACT_SWITCH_LENGTH_0, &length_ns))
		return -EPROTO;
	d->last_ts += since_ns;
	*out = (struct trace_switch){
		.pid = d->threads[index].pid,
		.tid = d->threads[index].tid,
		.from_ts = d->last_ts - length_ns,
		.to_ts = d->last_ts,
		.cpu = switch_byte(d, COMPACT_SWITCH_CPU_LOW) |
		       switch_byte(d, COMPACT_SWITCH_CPU_HIGH) << 8,
		.state = switch_states[state],
	};
	d->at++;
	return 1;
}

void compact_switch_decoder_release(struct compact_switch_decoder *d)
{
	free(d->threads);
	*d = (struct compact_switch_decoder){ 0 };
}
