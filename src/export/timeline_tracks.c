/* SPDX-License-Identifier: MIT */
/* timeline_tracks.c - the tracks of a timeline, created on demand. */
#include "export/timeline_tracks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

/* Order of siblings. */
enum rank { RANK_COUNTERS, RANK_LOST = NR_TIMELINE_COUNTERS, RANK_GROUPS };

static const char *const words[] = {
	[WORD_RUNNING] = "running",
	[WORD_READY] = "ready",
	[WORD_NEW] = "new",
	[WORD_ENDED] = "ended",
	[WORD_BIRTH] = "birth",
	[WORD_END] = "end",
	[WORD_DESTROY] = "destroy",
	[WORD_WAKE] = "wake",
	[WORD_CLOSE] = "close",
	[WORD_ACQUIRE] = "acquire",
	[WORD_RELEASE] = "release",
	[WORD_LOST] = "events lost",
	[WORD_GARBAGE] = "unreadable parts of the trace",
	[WORD_RUN_ENDS] = "end of the run",
	[WORD_TRACE_ENDS] = "end of the trace, the run's is not known",
	[WORD_TWICE] = "resumed while it ran",
	[WORD_AFTER_END] = "resumed after its end",
	[WORD_BLOCKED] = "blocked",
	[WORD_PREEMPTED] = "waits for a processor",
	[WORD_SWITCHES_LOST] = "context switches lost",
	[WORD_FRAMES_LOST] = "frames lost",
	[WORD_SUSPENDED + TRACE_REASON_UNKNOWN] = "suspended",
	[WORD_SUSPENDED + TRACE_REASON_IO_READ] = "suspended: io-read",
	[WORD_SUSPENDED + TRACE_REASON_IO_WRITE] = "suspended: io-write",
	[WORD_SUSPENDED + TRACE_REASON_ACCEPT] = "suspended: accept",
	[WORD_SUSPENDED + TRACE_REASON_CONNECT] = "suspended: connect",
	[WORD_SUSPENDED + TRACE_REASON_TIMER] = "suspended: timer",
	[WORD_SUSPENDED + TRACE_REASON_MUTEX] = "suspended: mutex",
	[WORD_SUSPENDED + TRACE_REASON_SEMAPHORE] = "suspended: semaphore",
	[WORD_SUSPENDED + TRACE_REASON_CHANNEL_SEND] = "suspended: channel-send",
	[WORD_SUSPENDED + TRACE_REASON_CHANNEL_RECV] = "suspended: channel-recv",
	[WORD_SUSPENDED + TRACE_REASON_JOIN] = "suspended: join",
	[WORD_SUSPENDED + TRACE_REASON_YIELD] = "suspended: yield",
	[WORD_SUSPENDED + TRACE_REASON_SIGNAL] = "suspended: signal",
	[WORD_SUSPENDED + TRACE_REASON_USER] = "suspended: user",
};

_Static_assert(sizeof(words) / sizeof(words[0]) == NR_TIMELINE_WORDS, "a word for each");

static const char *const counter_names[NR_TIMELINE_COUNTERS] = {
	[COUNT_ALIVE] = "coroutines alive",
	[COUNT_RUNNING] = "coroutines running",
	[COUNT_SUSPENDED] = "coroutines suspended",
};

static const char *const categories[NR_TIMELINE_CATEGORIES] = {
	[CATEGORY_LIFE] = "life",           [CATEGORY_RUNNING] = "running",
	[CATEGORY_SUSPENDED] = "suspended", [CATEGORY_READY] = "ready",
	[CATEGORY_WAKE] = "wake",           [CATEGORY_RESOURCE] = "resource",
	[CATEGORY_TRACE] = "corotracer",    [CATEGORY_PROCESSOR] = "processor",
	[CATEGORY_FRAME] = "frame",
};

static const char *const keys[NR_TIMELINE_KEYS] = {
	[KEY_COROUTINE] = "coroutine",
	[KEY_COROUTINE_NAME] = "coroutine name",
	[KEY_THREAD] = "thread",
	[KEY_STATION] = "station",
	[KEY_PARENT] = "parent",
	[KEY_WAKER] = "waker",
	[KEY_WAKER_NAME] = "waker name",
	[KEY_SOURCE] = "source",
	[KEY_REASON] = "reason",
	[KEY_RESOURCE] = "resource",
	[KEY_ADDRESS] = "address",
	[KEY_SINCE] = "since",
	[KEY_TRANSITIONS] = "transitions",
	[KEY_COLLECTED] = "collected",
	[KEY_LOST] = "lost",
	[KEY_GARBAGE] = "garbage",
	[KEY_OTHERS] = "other events",
	[KEY_OTHERS_LOST] = "other events lost",
	[KEY_FORGOTTEN] = "forgotten by the flight recorder",
	[KEY_COROUTINES] = "coroutines",
	[KEY_EXIT_STATUS] = "exit status",
	[KEY_SIGNAL] = "signal",
	[KEY_LINES] = "lines",
	[KEY_PACKETS] = "packets",
	[KEY_LATE] = "events too late to be drawn",
	[KEY_IMPOSSIBLE] = "events at impossible times",
	[KEY_TOO_DEEP] = "turns too entangled to be drawn in full",
	[KEY_NAME_CUT] = "name was cut",
	[KEY_NO_BIRTH] = "birth not in the trace",
	[KEY_NOT_IN_TRACE] = "not in the trace",
	[KEY_CANCELLED] = "cancelled",
	[KEY_WAS_SUSPENDED] = "was suspended",
	[KEY_DESTROYED] = "destroyed",
	[KEY_TIME_UNKNOWN] = "time not known",
	[KEY_INCOMPLETE] = "incomplete",
	[KEY_PROCESSOR] = "then on processor",
	[KEY_BUFFER] = "buffer",
	[KEY_TICKET] = "ticket",
	[KEY_FIELDS] = "fields",
};

const char *timeline_key_name(enum timeline_key key)
{
	return keys[key];
}

const char *timeline_word_name(enum timeline_word word)
{
	return words[word];
}

const char *timeline_category_name(enum timeline_category category)
{
	return categories[category];
}

static void tracks_show(struct timeline *tl, struct timeline_track *t)
{
	if (!t->id) {
		t->id = ++tl->next_track;
		tl->tracks++;
	}
	tl->view->track(tl->view, t);
}

int tracks_begin(struct timeline *tl)
{
	size_t i;

	if (tl->is_begun)
		return 0;
	tl->is_begun = true;
	for (i = 0; i < NR_TIMELINE_WORDS; i++)
		tl->words[i] = (struct timeline_name){ .id = ++tl->next_name, .text = words[i] };
	tl->processes = calloc(TIMELINE_PROCESSES, sizeof(*tl->processes));
	tl->groups = calloc(TIMELINE_GROUPS, sizeof(*tl->groups));
	return tl->processes && tl->groups ? 0 : -ENOMEM;
}

/* ---- run and sites -------------------------------------------------------- */

int tracks_run(struct timeline *tl, const struct sidecar_run *run)
{
	const char *word = run->nr_command ? run->command[0] : NULL;
	const char *slash = word ? strrchr(word, '/') : NULL;

	if (tl->program) /* one run per trace */
		return 0;
	tl->run_pid = run->pid;
	tl->program = strdup(slash && slash[1] ? slash + 1 : word ? word : "program");
	tl->view->run(tl->view, run);
	return tl->program ? 0 : -ENOMEM;
}

int tracks_site(struct timeline *tl, const struct trace_site *site)
{
	const char *slash = site->file ? strrchr(site->file, '/') : NULL;
	char text[2 * SITE_NAME_SIZE + 16];
	uint64_t known;
	int64_t number;

	if (!site->id || u64map_get(&tl->sites, site->id, &known))
		return 0;
	/* A slice has no room for directories. */
	site_text(text, sizeof(text), slash ? slash + 1 : site->file, site->line, site->function);
	number = strtab_intern(&tl->places, text);
	if (number < 0 || u64map_put(&tl->sites, site->id, (uint64_t)number + 1) < 0)
		return -ENOMEM;
	tl->view->site(tl->view, site);
	return 0;
}

const char *timeline_site(const struct timeline *tl, uint32_t site)
{
	uint64_t place;

	if (!u64map_get(&tl->sites, site, &place))
		return NULL;
	return strtab_text(&tl->places, (size_t)place - 1);
}

/* ---- processes ------------------------------------------------------------ */

static int make_process(struct timeline *tl, struct timeline_process *p, uint64_t pid)
{
	char number[32];
	size_t i;

	snprintf(number, sizeof(number), "process %" PRIu64, pid);
	p->name = strdup(!pid                                ? "program"
			 : tl->program && pid == tl->run_pid ? tl->program
							     : number);
	if (!p->name)
		return -ENOMEM;
	p->track = (struct timeline_track){ .type = TRACK_PROCESS,
					    .pid = (uint32_t)pid,
					    .name = p->name };
	tracks_show(tl, &p->track);
	for (i = 0; i < NR_TIMELINE_COUNTERS; i++) {
		p->counters[i].track = (struct timeline_track){
			.type = TRACK_COUNTER,
			.parent = p->track.id,
			.rank = RANK_COUNTERS + (unsigned)i,
			.pid = (uint32_t)pid,
			.name = counter_names[i],
		};
		tracks_show(tl, &p->counters[i].track);
	}
	return 0;
}

int64_t tracks_process(struct timeline *tl, uint64_t pid)
{
	uint64_t *number;

	if (pid > INT32_MAX) /* not a valid pid */
		pid = 0;
	if (!pid && tl->nr_processes)
		return 0;
	if (!pid)
		pid = tl->run_pid <= INT32_MAX ? tl->run_pid : 0;
	number = u64map_at(&tl->process_numbers, pid);
	if (!number)
		return -ENOMEM;
	if (*number)
		return (int64_t)*number - 1;
	if (tl->nr_processes == TIMELINE_PROCESSES) {
		u64map_remove(&tl->process_numbers, pid);
		return 0;
	}
	if (make_process(tl, &tl->processes[tl->nr_processes], pid) < 0)
		return -ENOMEM;
	*number = ++tl->nr_processes;
	return (int64_t)*number - 1;
}

/* ---- threads -------------------------------------------------------------- */

static void make_thread(struct timeline *tl, struct timeline_thread *t, uint64_t tid,
			uint32_t process)
{
	const struct timeline_process *p = &tl->processes[process];

	snprintf(t->name, sizeof(t->name), "thread %" PRIu64, tid);
	t->track = (struct timeline_track){
		.type = TRACK_THREAD,
		.parent = p->track.id,
		.pid = p->track.pid,
		.tid = tid,
		.name = t->name,
	};
	tracks_show(tl, &t->track);
}

static int threads_room(struct timeline *tl)
{
	size_t room = tl->threads_room ? tl->threads_room * 2 : 16, i;
	struct timeline_thread *threads;

	if (tl->nr_threads < tl->threads_room)
		return 0;
	threads = reallocarray(tl->threads, room, sizeof(*threads));
	if (!threads)
		return -ENOMEM;
	memset(threads + tl->nr_threads, 0, (room - tl->nr_threads) * sizeof(*threads));
	for (i = 0; i < tl->nr_threads; i++) { /* the array has moved */
		threads[i].track.name = threads[i].name;
		threads[i].lost.name = threads[i].lost_name;
		threads[i].away.name = threads[i].away_name;
	}
	tl->threads = threads;
	tl->threads_room = room;
	return 0;
}

int64_t tracks_thread(struct timeline *tl, uint64_t tid, uint32_t process)
{
	uint64_t *number = u64map_at(&tl->thread_numbers, tid), own;

	if (!number)
		return -ENOMEM;
	if (*number)
		return (int64_t)*number - 1;
	if (threads_room(tl) < 0)
		return -ENOMEM;
	/* The tid of the first thread of a process is its pid. */
	if (u64map_get(&tl->process_numbers, tid, &own) && tid)
		process = (uint32_t)own - 1;
	make_thread(tl, &tl->threads[tl->nr_threads], tid, process);
	*number = ++tl->nr_threads;
	return (int64_t)*number - 1;
}

/* ---- groups --------------------------------------------------------------- */

size_t tracks_kind_size(const char *name, size_t size)
{
	while (size && strchr("0123456789 #-_:.[](){}/", name[size - 1]) && name[size - 1])
		size--;
	return size;
}

/* Number of bytes of @name that are shown, cut between characters. */
static size_t shown_size(const char *name, size_t size)
{
	size_t at = 0, len;
	uint32_t cp;

	if (size <= TIMELINE_NAME_MAX)
		return size;
	while (at < size) {
		len = utf8_next(name + at, size - at, &cp);
		if (at + len > TIMELINE_NAME_MAX)
			break;
		at += len;
	}
	return at;
}

/* Returns the number of that kind; -ENOENT: there are too many. */
static int64_t tracks_kind_of(struct timeline *tl, const char *name, size_t size)
{
	char text[TIMELINE_NAME_MAX + 1];

	size = shown_size(name, tracks_kind_size(name, size));
	if (!size || memchr(name, 0, size))
		return -ENOENT;
	memcpy(text, name, size);
	text[size] = 0;
	if (tl->kinds.nr >= TIMELINE_GROUPS)
		return strtab_find(&tl->kinds, text);
	return strtab_intern(&tl->kinds, text);
}

static char *group_name(const struct timeline *tl, uint32_t site, int64_t kind)
{
	const char *place = site ? timeline_site(tl, site) : NULL;
	char *text = NULL;

	if (!place)
		return strdup(kind >= 0 ? strtab_text(&tl->kinds, (size_t)kind) : "coroutines");
	return asprintf(&text, "spawned at %s", place) < 0 ? NULL : text;
}

static int make_group(struct timeline *tl, struct timeline_group *g, uint32_t process,
		      uint32_t site, int64_t kind)
{
	g->name = group_name(tl, site, kind);
	if (!g->name)
		return -ENOMEM;
	g->track = (struct timeline_track){
		.type = TRACK_GROUP,
		.parent = tl->processes[process].track.id,
		.pid = tl->processes[process].track.pid,
		.rank = RANK_GROUPS + (unsigned)tl->nr_groups,
		.name = g->name,
	};
	tracks_show(tl, &g->track);
	return 0;
}

/* Returns NULL if memory ran out; the last group takes all coroutines beyond the limit. */
static struct timeline_group *tracks_group_of(struct timeline *tl, uint32_t process, uint32_t site,
					      const char *name, size_t size)
{
	int64_t kind = -ENOENT;
	uint64_t key = (uint64_t)process << 48, known, *number;

	if (site)
		key |= UINT64_C(1) << 40 | site;
	else if (name && size && (kind = tracks_kind_of(tl, name, size)) >= 0)
		key |= UINT64_C(2) << 40 | (uint64_t)kind;
	if (kind == -ENOMEM)
		return NULL;
	if (tl->nr_groups == TIMELINE_GROUPS) {
		if (!u64map_get(&tl->group_numbers, key, &known))
			known = TIMELINE_GROUPS;
		return &tl->groups[known - 1];
	}
	number = u64map_at(&tl->group_numbers, key);
	if (!number)
		return NULL;
	if (!*number) {
		if (tl->nr_groups == TIMELINE_GROUPS - 1)
			site = 0, kind = -ENOENT; /* "coroutines" */
		if (make_group(tl, &tl->groups[tl->nr_groups], process, site, kind) < 0)
			return NULL;
		*number = ++tl->nr_groups;
	}
	return &tl->groups[*number - 1];
}

/* Returns the parent track of the next coroutine in the group. */
static const struct timeline_track *parent_in(struct timeline *tl, struct timeline_group *g)
{
	uint64_t nr = g->nr++ - TIMELINE_OWN_ROWS;
	char from[TEXT_SIZE], to[TEXT_SIZE], name[2 * TEXT_SIZE + 8];

	if (g->nr <= TIMELINE_OWN_ROWS)
		return &g->track;
	if (nr % TIMELINE_BUCKET == 0) {
		snprintf(name, sizeof(name), "%s to %s", text_count(from, g->nr),
			 text_count(to, g->nr - 1 + TIMELINE_BUCKET));
		g->bucket = (struct timeline_track){
			.type = TRACK_GROUP,
			.parent = g->track.id,
			.pid = g->track.pid,
			.rank = (unsigned)(TIMELINE_OWN_ROWS + nr / TIMELINE_BUCKET),
			.name = name,
		};
		tracks_show(tl, &g->bucket);
		g->bucket.name = NULL;
	}
	return &g->bucket;
}

/* ---- coroutines ----------------------------------------------------------- */

/* "worker #7"; the caller frees it; NULL: no memory. */
static char *tracks_text_of(const struct timeline_coro *co, const char *name, size_t size)
{
	const char *end = name ? memchr(name, 0, size) : NULL;
	size_t shown;
	char *text;
	int rc;

	if (end)
		size = (size_t)(end - name);
	if (!name || !size) {
		rc = asprintf(&text, "coroutine #%" PRIu64, co->life.probe_id);
		return rc < 0 ? NULL : text;
	}
	shown = shown_size(name, size);
	rc = asprintf(&text, "%.*s%s #%" PRIu64, (int)shown, name, shown < size ? "..." : "",
		      co->life.probe_id);
	return rc < 0 ? NULL : text;
}

int tracks_coroutine(struct timeline *tl, struct timeline_coro *co, uint32_t site, const char *name,
		     size_t name_size)
{
	struct timeline_group *g = tracks_group_of(tl, co->process, site, name, name_size);
	const struct timeline_track *parent;

	co->text = g ? tracks_text_of(co, name, name_size) : NULL;
	if (!co->text)
		return -ENOMEM;
	parent = parent_in(tl, g);
	co->name = (struct timeline_name){ .id = ++tl->next_name, .text = co->text };
	co->track = (struct timeline_track){
		.type = parent == &g->track ? TRACK_COROUTINE : TRACK_COROUTINE_PACKED,
		.parent = parent->id,
		.pid = parent->pid,
		.rank = (unsigned)g->nr,
		/* Without a birth event the name may still come, with the last facts. */
		.name = co->life.is_born ? co->text : NULL,
	};
	tracks_show(tl, &co->track);
	return 0;
}

/* Slices that are drawn keep their name: a slice ends with the name it began with. */
int tracks_rename(struct timeline *tl, struct timeline_coro *co, const char *name, size_t size)
{
	char *label = tracks_text_of(co, name, size);

	if (!label)
		return -ENOMEM;
	free(co->label);
	co->label = label;
	co->track.name = label;
	tracks_show(tl, &co->track);
	return 0;
}

/* ---- counters ------------------------------------------------------------- */

static void tracks_report(struct timeline *tl, struct timeline_counter_state *c)
{
	const struct cell value = cell_u64(c->value);

	tl->view->counter(tl->view, &c->track, c->changed_ts, &value);
	c->told_ts = c->changed_ts;
	c->told_value = c->value;
	c->is_told = true;
}

void tracks_count(struct timeline *tl, uint32_t process, enum timeline_counter counter, int change,
		  uint64_t ts)
{
	struct timeline_counter_state *c = &tl->processes[process].counters[counter];

	/* An end that is reported only with the last facts: later counts stay. */
	if (ts < c->changed_ts)
		ts = c->changed_ts;
	/* Writes the value that held until now, if it was not written. */
	if (c->is_told && c->value != c->told_value && ts - c->told_ts >= TIMELINE_COUNTER_NS &&
	    c->changed_ts != ts)
		tracks_report(tl, c);
	if (change < 0 && !c->value)
		return;
	c->value += (uint64_t)(int64_t)change;
	c->changed_ts = ts;
	if (!c->is_told || ts - c->told_ts >= TIMELINE_COUNTER_NS)
		tracks_report(tl, c);
}

void tracks_finish(struct timeline *tl)
{
	size_t p, i;

	for (p = 0; p < tl->nr_processes; p++) {
		for (i = 0; i < NR_TIMELINE_COUNTERS; i++) {
			struct timeline_counter_state *c = &tl->processes[p].counters[i];

			if (c->is_told && c->value != c->told_value)
				tracks_report(tl, c);
		}
	}
}

void tracks_release(struct timeline *tl)
{
	size_t i;

	for (i = 0; i < tl->nr_processes; i++)
		free(tl->processes[i].name);
	for (i = 0; i < tl->nr_groups; i++)
		free(tl->groups[i].name);
	free(tl->processes);
	free(tl->groups);
	free(tl->threads);
	free(tl->program);
	u64map_release(&tl->process_numbers);
	u64map_release(&tl->thread_numbers);
	u64map_release(&tl->group_numbers);
	u64map_release(&tl->sites);
	strtab_release(&tl->kinds);
	strtab_release(&tl->places);
}
