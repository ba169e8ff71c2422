/* SPDX-License-Identifier: MIT */
/*
 * timeline_switches.c - a row per thread with the times at which it had no processor.
 *
 * Beside the turns of coroutines, not among them: a turn goes on while its thread is preempted.
 */
#include "export/timeline_switches.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "export/timeline_marks.h"
#include "export/timeline_tracks.h"

static bool switches_is_drawn(const struct trace_switch *s)
{
	return s->state && s->tid && s->to_ts > s->from_ts && timeline_is_time(s->to_ts) &&
	       (!strcmp(s->state, TRACE_SWITCH_PREEMPTED) ||
		!strcmp(s->state, TRACE_SWITCH_READY) || !strcmp(s->state, TRACE_SWITCH_BLOCKED));
}

static void switches_make_track(struct timeline *tl, struct timeline_thread *t)
{
	if (t->away.id)
		return;
	snprintf(t->away_name, sizeof(t->away_name), "%s without a processor", t->name);
	t->away = (struct timeline_track){
		.type = TRACK_AWAY,
		.id = ++tl->next_track,
		.parent = t->track.parent,
		.pid = t->track.pid,
		.rank = NR_TIMELINE_COUNTERS,
		.name = t->away_name,
	};
	tl->tracks++;
	tl->view->track(tl->view, &t->away);
}

/* Records of context switches that are missing, on the track of the process. */
static int switches_add_loss(struct timeline *tl, const struct trace_switch *s)
{
	int64_t process = tracks_process(tl, s->pid);
	struct timeline_track *track;
	struct timeline_mark m;

	if (process < 0)
		return -ENOMEM;
	track = &tl->processes[process].track;
	mark_init(tl, &m, WORD_SWITCHES_LOST, CATEGORY_TRACE);
	arg_number(&m, KEY_LOST, s->lost);
	if (s->from_ts > track->last_ts)
		track->last_ts = s->from_ts;
	tl->view->instant(tl->view, track, track->last_ts, &m);
	return 0;
}

int timeline_add_switch(struct timeline *tl, const struct trace_switch *s)
{
	struct timeline_thread *t;
	struct timeline_mark m;
	int64_t process, thread;
	bool is_blocked;

	if (s->state && !strcmp(s->state, TRACE_SWITCH_LOST))
		return switches_add_loss(tl, s);
	if (!switches_is_drawn(s))
		return 0;
	process = tracks_process(tl, s->pid);
	thread = process < 0 ? process : tracks_thread(tl, s->tid, (uint32_t)process);
	if (thread < 0)
		return -ENOMEM;
	t = &tl->threads[thread];
	switches_make_track(tl, t);
	if (s->from_ts < t->away.last_ts)
		return 0; /* not in order: another tool wrote it */
	is_blocked = !strcmp(s->state, TRACE_SWITCH_BLOCKED);
	mark_init(tl, &m, is_blocked ? WORD_BLOCKED : WORD_PREEMPTED, CATEGORY_PROCESSOR);
	arg_number(&m, KEY_THREAD, s->tid);
	arg_number(&m, KEY_PROCESSOR, s->cpu);
	tl->view->begin(tl->view, &t->away, s->from_ts, &m);
	tl->view->end(tl->view, &t->away, s->to_ts, m.name);
	t->away.last_ts = s->to_ts;
	return 0;
}
