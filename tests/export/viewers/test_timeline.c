/* SPDX-License-Identifier: MIT */
/*
 * test_timeline.c - what the timeline draws, and that it draws any trace.
 *
 * A view that writes its calls as text, for the cases below; and that for any
 * trace checks what every viewer relies on: a track is declared before use, time goes
 * forward on it, slices nest, a flow ends once and after its begin.
 */
#include "export/timeline.h"

#include <inttypes.h>

#include "base/u64map.h"
#include "check.h"

#define DEPTH_MAX 128

struct seen_track {
	char name[256];
	enum timeline_track_type type;
	uint64_t parent, last_ts;
	unsigned depth;
	uint64_t open[DEPTH_MAX]; /* ids of names */
};

struct notes {
	struct timeline_view view; /* first */
	struct seen_track *tracks;
	size_t nr_tracks, room;
	struct u64map flows; /* id to 1: begun, 2: ended */
	uint64_t begins, ends, instants, counters, flows_ended;
	char *text; /* NULL: checks only, no text */
	size_t size;
	FILE *file;
};

static struct notes *notes_of(struct timeline_view *v)
{
	return (struct notes *)v;
}

static struct seen_track *track_of(struct notes *n, const struct timeline_track *t)
{
	CHECK(t->id >= 1 && t->id < n->room);
	CHECK(n->tracks[t->id].name[0]);
	return &n->tracks[t->id];
}

static void note_run(struct timeline_view *v, const struct sidecar_run *run)
{
	(void)v;
	(void)run;
}

static void note_site(struct timeline_view *v, const struct trace_site *site)
{
	(void)v;
	CHECK(site->id);
}

static void note_track(struct timeline_view *v, const struct timeline_track *t)
{
	struct notes *n = notes_of(v);
	struct seen_track *s;

	CHECK(t->id);
	while (t->id >= n->room) {
		size_t room = n->room ? n->room * 2 : 64;

		n->tracks = realloc(n->tracks, room * sizeof(*n->tracks));
		CHECK(n->tracks);
		memset(n->tracks + n->room, 0, (room - n->room) * sizeof(*n->tracks));
		n->room = room;
	}
	s = &n->tracks[t->id];
	CHECK(!t->parent || n->tracks[t->parent].name[0]);
	CHECK(t->parent || t->type == TRACK_PROCESS);
	if (s->name[0]) { /* only a name, which arrived later */
		CHECK_EQ(s->type, t->type);
		CHECK_EQ(s->parent, t->parent);
	} else {
		n->nr_tracks++;
	}
	s->type = t->type;
	s->parent = t->parent;
	snprintf(s->name, sizeof(s->name), "%s", t->name ? t->name : "?");
	if (n->file)
		fprintf(n->file, "track %s in %s\n", s->name,
			t->parent ? n->tracks[t->parent].name : "-");
}

static void at(struct notes *n, struct seen_track *s, uint64_t ts)
{
	(void)n;
	CHECK(ts >= s->last_ts);
	CHECK(ts <= INT64_MAX);
	s->last_ts = ts;
}

static void note_mark(struct notes *n, const struct seen_track *s, const char *what, uint64_t ts,
		      const struct timeline_mark *m)
{
	unsigned i;

	CHECK(m->name->id && m->name->text);
	CHECK(m->nr_args <= TIMELINE_ARGS_MAX);
	if (!n->file)
		return;
	fprintf(n->file, "%" PRIu64 " %s: %s %s", ts, s->name, what, m->name->text);
	for (i = 0; i < m->nr_args; i++) {
		const struct timeline_arg *a = &m->args[i];

		fprintf(n->file, "%s%s", i ? ", " : " (", timeline_key_name(a->key));
		if (a->type == ARG_TEXT)
			fprintf(n->file, " %s", a->text);
		else if (a->type != ARG_TRUE)
			fprintf(n->file, " %" PRIu64, a->number);
	}
	fprintf(n->file, "%s", m->nr_args ? ")" : "");
	if (m->site)
		fprintf(n->file, " at site %" PRIu32, m->site);
	if (m->flow)
		fprintf(n->file, " flow %" PRIu64 "%s", m->flow, m->flow_ends ? " ends" : "");
	fputc('\n', n->file);
}

static void follow(struct notes *n, const struct timeline_mark *m)
{
	uint64_t *flow;

	if (!m->flow)
		return;
	flow = u64map_at(&n->flows, m->flow);
	CHECK(flow);
	if (m->flow_ends) {
		CHECK_EQ(*flow, 1);
		*flow = 2;
		n->flows_ended++;
	} else {
		CHECK(*flow != 2);
		*flow = 1;
	}
}

static void note_begin(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
		       const struct timeline_mark *m)
{
	struct notes *n = notes_of(v);
	struct seen_track *s = track_of(n, t);

	at(n, s, ts);
	CHECK(s->depth < DEPTH_MAX);
	s->open[s->depth++] = m->name->id;
	n->begins++;
	follow(n, m);
	note_mark(n, s, "begin", ts, m);
}

static void note_end(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
		     const struct timeline_name *name)
{
	struct notes *n = notes_of(v);
	struct seen_track *s = track_of(n, t);

	at(n, s, ts);
	CHECK(s->depth > 0);
	CHECK_EQ(s->open[--s->depth], name->id);
	n->ends++;
	if (n->file)
		fprintf(n->file, "%" PRIu64 " %s: end %s\n", ts, s->name, name->text);
}

static void note_instant(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
			 const struct timeline_mark *m)
{
	struct notes *n = notes_of(v);
	struct seen_track *s = track_of(n, t);

	at(n, s, ts);
	n->instants++;
	follow(n, m);
	note_mark(n, s, "instant", ts, m);
}

static void note_counter(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
			 const struct cell *cell)
{
	uint64_t value = cell->u;
	struct notes *n = notes_of(v);
	struct seen_track *s = track_of(n, t);

	CHECK_EQ(s->type, TRACK_COUNTER);
	CHECK(value < UINT32_MAX); /* never below 0 */
	at(n, s, ts);
	n->counters++;
	if (n->file)
		fprintf(n->file, "%" PRIu64 " %s: %" PRIu64 "\n", ts, s->name, value);
}

static const struct timeline_view note_view = {
	.run = note_run,
	.site = note_site,
	.track = note_track,
	.begin = note_begin,
	.end = note_end,
	.instant = note_instant,
	.counter = note_counter,
};

static void notes_open(struct notes *n, bool with_text)
{
	*n = (struct notes){ .view = note_view };
	if (with_text)
		n->file = open_memstream(&n->text, &n->size);
}

static void notes_release(struct notes *n)
{
	u64map_release(&n->flows);
	free(n->tracks);
	free(n->text);
}

/* ---- cases --------------------------------------------------------------- */

static struct trace_item event(enum trace_kind kind, uint64_t ts, uint64_t id, uint64_t tid)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_EVENT);
	trace_event_init(&item.event);
	item.event.kind = (uint8_t)kind;
	item.event.is_active = kind == TRACE_RESUME;
	item.event.ts = ts;
	item.event.probe_id = id;
	item.event.tid = tid;
	item.event.seq = 2;
	return item;
}

/* The lines of the text that contain @part. */
static char *lines_with(const struct notes *n, const char *part)
{
	char *out = NULL, *copy = strdup(n->text), *rest = copy, *line;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	while ((line = strsep(&rest, "\n"))) {
		if (strstr(line, part))
			fprintf(f, "%s\n", line);
	}
	fclose(f);
	free(copy);
	return out;
}

static void draws(const struct trace_item *items, size_t nr, const char *part, const char *wanted)
{
	struct timeline tl = { 0 };
	struct notes n;
	char *got;
	size_t i;

	notes_open(&n, true);
	tl.view = &n.view;
	for (i = 0; i < nr; i++)
		CHECK_EQ(timeline_add(&tl, &items[i]), 0);
	CHECK_EQ(timeline_finish(&tl, NULL), 0);
	fclose(n.file);
	got = lines_with(&n, part);
	CHECK_STR(got, wanted);
	free(got);
	timeline_release(&tl);
	notes_release(&n);
}

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static void a_life_is_drawn_with_its_states(void)
{
	struct trace_item items[] = {
		event(TRACE_BIRTH, 100, 7, 11),   event(TRACE_RESUME, 200, 7, 12),
		event(TRACE_SUSPEND, 300, 7, 12), event(TRACE_WAKE, 400, 7, 11),
		event(TRACE_WAKE, 410, 7, 11),    event(TRACE_RESUME, 500, 7, 12),
		event(TRACE_END, 600, 7, 12),     event(TRACE_DESTROY, 700, 7, 12),
	};

	items[0].event.name = "worker";
	items[0].event.name_size = 6;
	items[0].event.peer = 3;
	items[2].event.reason = TRACE_REASON_IO_READ;
	items[2].event.flags = TRACE_HAS_RESOURCE;
	items[3].event.peer = 9;
	draws(items, NR(items), " worker #7: ",
	      "100 worker #7: begin worker #7 (coroutine 7, parent 3)\n"
	      "100 worker #7: instant birth (parent 3, thread 11)\n"
	      "100 worker #7: begin new\n"
	      "200 worker #7: end new\n"
	      "200 worker #7: begin running (thread 12)\n"
	      "300 worker #7: end running\n"
	      "300 worker #7: begin suspended: io-read (resource 0)\n"
	      "400 worker #7: begin ready (waker 9) flow 1\n"
	      "500 worker #7: end ready\n"
	      "500 worker #7: end suspended: io-read\n"
	      "500 worker #7: begin running (thread 12)\n"
	      "600 worker #7: end running\n"
	      "600 worker #7: instant end (thread 12)\n"
	      "600 worker #7: begin ended\n"
	      "700 worker #7: end ended\n"
	      "700 worker #7: instant destroy (thread 12)\n"
	      "700 worker #7: end worker #7\n");
	draws(items, NR(items), " thread 12: ",
	      "200 thread 12: begin worker #7 (coroutine 7)\n"
	      "300 thread 12: end worker #7\n"
	      "500 thread 12: begin worker #7 (coroutine 7) flow 1 ends\n"
	      "600 thread 12: end worker #7\n");
	draws(items, NR(items), " thread 11: ",
	      "400 thread 11: instant wake (waker 9, coroutine 7, coroutine name worker #7) flow "
	      "1\n"
	      "410 thread 11: instant wake (coroutine 7, coroutine name worker #7) flow 2\n");
	draws(items, NR(items), " coroutines ",
	      "track coroutines alive in program\n"
	      "track coroutines running in program\n"
	      "track coroutines suspended in program\n"
	      "100 coroutines alive: 1\n"
	      "200 coroutines running: 1\n"
	      "300 coroutines suspended: 1\n"
	      "600 coroutines alive: 0\n"
	      "600 coroutines running: 0\n"
	      "500 coroutines suspended: 0\n");
}

static void turns_nest_and_are_cut_where_they_do_not(void)
{
	struct trace_item nested[] = {
		event(TRACE_RESUME, 10, 1, 5),
		event(TRACE_RESUME, 20, 2, 5),
		event(TRACE_SUSPEND, 30, 2, 5),
		event(TRACE_SUSPEND, 40, 1, 5),
	};
	struct trace_item crossed[] = {
		event(TRACE_RESUME, 10, 1, 5),  event(TRACE_RESUME, 20, 2, 5),
		event(TRACE_SUSPEND, 30, 1, 5), event(TRACE_RESUME, 35, 3, 6),
		event(TRACE_RESUME, 40, 2, 6),  event(TRACE_SUSPEND, 50, 2, 6),
	};

	draws(nested, NR(nested), " thread 5: ",
	      "10 thread 5: begin coroutine #1 (coroutine 1)\n"
	      "20 thread 5: begin coroutine #2 (coroutine 2)\n"
	      "30 thread 5: end coroutine #2\n"
	      "40 thread 5: end coroutine #1\n");
	draws(crossed, NR(crossed), " thread 5: ",
	      "10 thread 5: begin coroutine #1 (coroutine 1)\n"
	      "20 thread 5: begin coroutine #2 (coroutine 2)\n"
	      "30 thread 5: end coroutine #2\n"
	      "30 thread 5: end coroutine #1\n"
	      "30 thread 5: begin coroutine #2 (coroutine 2)\n"
	      "40 thread 5: end coroutine #2\n");
	/* Resumed on one thread while it ran on another. */
	draws(crossed, NR(crossed), "resumed while",
	      "40 ?: instant resumed while it ran (thread 6)\n");
}

/* FIFO order: drawn again at each crossing, the slices would be quadratic. */
static void many_that_cross_are_not_drawn_again_and_again(void)
{
	struct timeline tl = { 0 };
	uint64_t i, round;
	struct notes n;

	notes_open(&n, false);
	tl.view = &n.view;
	for (round = 0; round < 100; round++) {
		for (i = 0; i < 100; i++) {
			struct trace_item item = event(round % 2 ? TRACE_SUSPEND : TRACE_RESUME,
						       1000 + 100 * round + i, i, 5);

			CHECK_EQ(timeline_add(&tl, &item), 0);
		}
	}
	CHECK_EQ(timeline_finish(&tl, NULL), 0);
	CHECK(tl.too_deep > 0);
	CHECK(n.begins < 3 * tl.events);
	timeline_release(&tl);
	notes_release(&n);
}

static void a_wake_before_the_wait_leads_to_the_turn_unless_another_does(void)
{
	struct trace_item early[] = {
		event(TRACE_RESUME, 10, 1, 5), event(TRACE_WAKE, 20, 1, 6),
		event(TRACE_WAKE, 21, 1, 6),   event(TRACE_SUSPEND, 30, 1, 5),
		event(TRACE_RESUME, 40, 1, 5),
	};
	struct trace_item both[] = {
		event(TRACE_RESUME, 10, 1, 5),  event(TRACE_WAKE, 20, 1, 6),
		event(TRACE_SUSPEND, 30, 1, 5), event(TRACE_WAKE, 35, 1, 6),
		event(TRACE_RESUME, 40, 1, 5),  event(TRACE_SUSPEND, 50, 1, 5),
		event(TRACE_RESUME, 60, 1, 5),
	};

	draws(early, NR(early), "ends",
	      "40 thread 5: begin coroutine #1 (coroutine 1) flow 2 ends\n");
	draws(both, NR(both), "ends",
	      "40 thread 5: begin coroutine #1 (coroutine 1) flow 2 ends\n");
}

static void a_wake_of_nobody_brings_nobody(void)
{
	struct trace_item items[] = { event(TRACE_WAKE, 20, 99, 6) };

	draws(items, NR(items), "",
	      "track program in -\n"
	      "track coroutines alive in program\n"
	      "track coroutines running in program\n"
	      "track coroutines suspended in program\n"
	      "track thread 6 in program\n"
	      "20 thread 6: instant wake (coroutine 99, not in the trace)\n"
	      "20 program: instant end of the trace, the run's is not known\n"
	      "\n");
}

static void an_id_that_is_used_again_is_another_life(void)
{
	struct trace_item items[] = {
		event(TRACE_BIRTH, 10, 1, 5),  event(TRACE_RESUME, 20, 1, 5),
		event(TRACE_END, 30, 1, 5),    event(TRACE_BIRTH, 40, 1, 5),
		event(TRACE_RESUME, 50, 1, 5), event(TRACE_BIRTH, 60, 1, 5),
	};

	items[2].event.flags = TRACE_DESTROYED;
	draws(items, NR(items), "track coroutine #1",
	      "track coroutine #1 in coroutines\n"
	      "track coroutine #1 in coroutines\n"
	      "track coroutine #1 in coroutines\n");
	draws(items, NR(items), "coroutine #1: end coroutine",
	      "30 coroutine #1: end coroutine #1\n"
	      "60 coroutine #1: end coroutine #1\n");
	/* All of it happens within one step of the counter. */
	draws(items, NR(items), " alive: ", "10 coroutines alive: 1\n");
}

static void what_was_lost_is_drawn_and_ends_what_is_not_known(void)
{
	struct trace_item items[] = {
		event(TRACE_RESUME, 10, 1, 5),
		event(TRACE_RESUME, 15, 2, 6),
		{ .type = TRACE_ITEM_GAP,
		  .gap = { .lane = 1, .tid = 5, .from_ts = 20, .to_ts = 50, .transitions = 3 } },
		event(TRACE_RESUME, 60, 1, 5),
	};

	draws(items, NR(items), "thread 5",
	      "track thread 5 in program\n"
	      "10 thread 5: begin coroutine #1 (coroutine 1)\n"
	      "10 ?: begin running (thread 5)\n"
	      "20 thread 5: end coroutine #1\n"
	      "track lost by thread 5 in program\n"
	      "20 lost by thread 5: begin events lost (transitions 3, other events 0)\n"
	      "50 lost by thread 5: end events lost\n"
	      "60 thread 5: begin coroutine #1 (coroutine 1)\n"
	      "60 ?: begin running (thread 5)\n");
	draws(items, NR(items), "thread 6: end", "");
}

static void times_that_cannot_be_stretch_nothing(void)
{
	struct trace_item items[] = {
		event(TRACE_RESUME, 10, 1, 5),
		event(TRACE_SUSPEND, UINT64_C(1) << 63, 1, 5),
		event(TRACE_SUSPEND, 20, 1, 5),
	};

	draws(items, NR(items), "program: ",
	      "20 program: instant unreadable parts of the trace (events at impossible times 1)\n"
	      "20 program: instant end of the trace, the run's is not known\n");
}

static void the_last_facts_name_and_end(void)
{
	struct trace_item items[] = {
		event(TRACE_RESUME, 10, 1, 5),
		event(TRACE_SUSPEND, 20, 1, 5),
		event(TRACE_RESUME, 30, 2, 5),
		{ .type = TRACE_ITEM_COROUTINE,
		  .coroutine = { .station = TRACE_NO_STATION,
				 .probe_id = 1,
				 .name = "known late",
				 .dead = true,
				 .death_ts = 25,
				 .written = 5,
				 .lost = 3 } },
		{ .type = TRACE_ITEM_COROUTINE,
		  .coroutine = { .station = TRACE_NO_STATION,
				 .probe_id = 3,
				 .name = "bystander",
				 .state = TRACE_STATE_SUSPENDED,
				 .since_ts = 5 } },
		{ .type = TRACE_ITEM_TOTALS,
		  .totals = { .complete = true, .end_ts = 99, .lost = 3 } },
	};

	draws(items, NR(items), "known late",
	      "track known late #1 in coroutines\n"
	      "25 known late #1: instant events lost (lost 3, transitions 5)\n"
	      "25 known late #1: end suspended\n"
	      "25 known late #1: instant end\n"
	      "25 known late #1: end coroutine #1\n");
	draws(items, NR(items), "bystander", "track bystander #3 in coroutines\n");
	draws(items, NR(items), "begin suspended",
	      "20 ?: begin suspended\n"
	      "10 ?: begin suspended (since 5)\n");
	draws(items, NR(items), "end of the run",
	      "99 program: instant end of the run (transitions 0, collected 0, lost 3, garbage 0, "
	      "other events 0, other events lost 0, coroutines 0, exit status 0)\n");
}

/* The tracks of a coroutine with a name of @size bytes at @name, and of its kind. */
static void draws_name(const char *name, size_t size, const char *wanted)
{
	struct trace_item birth = event(TRACE_BIRTH, 100, 7, 11);
	char text[1024];

	birth.event.name = name;
	birth.event.name_size = (uint32_t)size;
	snprintf(text, sizeof(text), "track %s in program\ntrack %s%s #7 in %s\n", wanted, wanted,
		 strlen(wanted) < size ? "..." : "", wanted);
	draws(&birth, 1, "track x", text);
}

static void a_long_name_is_cut_between_characters(void)
{
	char name[TIMELINE_NAME_MAX + 4], wanted[TIMELINE_NAME_MAX + 4];

	memset(name, 'x', sizeof(name));
	memset(wanted, 'x', sizeof(wanted));
	wanted[TIMELINE_NAME_MAX] = '\0';
	draws_name(name, TIMELINE_NAME_MAX, wanted);
	draws_name(name, TIMELINE_NAME_MAX + 1, wanted);
	/* Two bytes, of which one has room. */
	memcpy(name + TIMELINE_NAME_MAX - 1, "\xc3\xa9", 2);
	wanted[TIMELINE_NAME_MAX - 1] = '\0';
	draws_name(name, TIMELINE_NAME_MAX + 4, wanted);
	memcpy(name + TIMELINE_NAME_MAX - 2, "\xc3\xa9", 2);
	memcpy(wanted + TIMELINE_NAME_MAX - 2, "\xc3\xa9", 3);
	draws_name(name, TIMELINE_NAME_MAX + 4, wanted);
}

static void many_of_a_kind_share_a_group(void)
{
	struct timeline tl = { 0 };
	struct notes n;
	char name[32], *got;
	uint64_t i;

	notes_open(&n, true);
	tl.view = &n.view;
	for (i = 1; i <= TIMELINE_OWN_ROWS + 2 * TIMELINE_BUCKET + 1; i++) {
		struct trace_item item = event(TRACE_BIRTH, 100 + i, i, 5);

		snprintf(name, sizeof(name), "conn-%" PRIu64, i);
		item.event.name = name;
		item.event.name_size = (uint32_t)strlen(name);
		CHECK_EQ(timeline_add(&tl, &item), 0);
	}
	CHECK_EQ(timeline_finish(&tl, NULL), 0);
	fclose(n.file);
	got = lines_with(&n, "00 in conn");
	CHECK_STR(got, "track conn-100 #100 in conn\n"
		       "track 101 to 1,100 in conn\n"
		       "track 1,101 to 2,100 in conn\n"
		       "track 2,101 to 3,100 in conn\n");
	free(got);
	got = lines_with(&n, "track conn-101 ");
	CHECK_STR(got, "track conn-101 #101 in 101 to 1,100\n");
	free(got);
	timeline_release(&tl);
	notes_release(&n);
}

/* ---- any trace ----------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static struct trace_item random_item(uint64_t *ts, unsigned ids, unsigned tids)
{
	struct trace_item item;
	uint64_t what = next_random() % 100;

	*ts += next_random() % 30000 * (next_random() % 3);
	if (what < 3) {
		trace_item_init(&item, TRACE_ITEM_GAP);
		item.gap = (struct trace_gap){
			.lane = (uint32_t)(next_random() % 3),
			.pid = (uint32_t)(next_random() % 3),
			.tid = 1 + next_random() % tids,
			.from_ts = *ts - next_random() % 60000,
			.to_ts = *ts + next_random() % 3,
			.transitions = next_random() % 2,
			.others = 1,
		};
		return item;
	}
	item = event((enum trace_kind)(next_random() % (NR_TRACE_KINDS + 1)), *ts,
		     1 + next_random() % ids, 1 + next_random() % tids);
	if (what < 60) { /* mostly transitions */
		item.event.kind = (uint8_t)(next_random() % 2);
		item.event.is_active = item.event.kind == TRACE_RESUME;
	}
	if (what == 60)
		item.event.ts = next_random();
	if (what == 61)
		item.event.ts -= next_random() % 100000;
	if (what == 62)
		item.event.station = (uint32_t)(next_random() % 3);
	item.event.flags = (uint8_t)next_random();
	item.event.reason = (uint8_t)next_random();
	item.event.site = (uint32_t)(next_random() % 5);
	item.event.pid = (uint32_t)(next_random() % 4 ? 0 : next_random() % 5);
	item.event.peer = next_random() % ids;
	if (item.event.kind == TRACE_BIRTH && next_random() % 2) {
		item.event.name = "a\xff\x01\"name 12";
		item.event.name_size = 10;
	}
	return item;
}

static void anything_can_be_drawn(void)
{
	unsigned round;

	for (round = 0; round < 60; round++) {
		unsigned ids = 1 + (unsigned)(next_random() % (round % 3 ? 20 : 2000));
		unsigned tids = 1 + (unsigned)(next_random() % 8);
		struct trace_item item = { .type = TRACE_ITEM_SITE,
					   .site = { 3, 1, 2, "dir/f.c", "f" } };
		struct timeline_damage damage = { round % 2, 0 };
		struct timeline tl = { 0 };
		uint64_t ts = 1000000;
		struct notes n;
		unsigned i;

		notes_open(&n, false);
		tl.view = &n.view;
		CHECK_EQ(timeline_add(&tl, &item), 0);
		for (i = 0; i < 4000; i++) {
			item = random_item(&ts, ids, tids);
			CHECK_EQ(timeline_add(&tl, &item), 0);
		}
		for (i = 0; i < ids; i++) {
			trace_item_init(&item, TRACE_ITEM_COROUTINE);
			item.coroutine.probe_id = i;
			item.coroutine.dead = i % 3 == 0;
			item.coroutine.death_ts = i % 2 ? ts + i : 0;
			item.coroutine.state = (uint8_t)(next_random() % NR_TRACE_STATES);
			item.coroutine.since_ts = next_random() % (ts * 2);
			item.coroutine.lost = i % 5;
			CHECK_EQ(timeline_add(&tl, &item), 0);
		}
		CHECK_EQ(timeline_finish(&tl, &damage), 0);
		CHECK(n.begins > 1000 && n.ends > 1000 && n.counters > 100);
		CHECK_EQ(n.flows_ended, tl.flows);
		CHECK_EQ(n.nr_tracks, tl.tracks);
		CHECK(tl.missteps > 0);
		timeline_release(&tl);
		notes_release(&n);
	}
}

/* Ten times the coroutines, one after another: memory follows those alive at a time. */
static void memory_follows_those_who_are_there(void)
{
	struct timeline tl = { 0 };
	struct notes n;
	uint64_t i;

	notes_open(&n, false);
	tl.view = &n.view;
	for (i = 1; i <= 200000; i++) {
		struct trace_item item = event(TRACE_BIRTH, 10 * i, i, 5);

		CHECK_EQ(timeline_add(&tl, &item), 0);
		item = event(TRACE_END, 10 * i + 5, i, 5);
		item.event.flags = TRACE_DESTROYED;
		CHECK_EQ(timeline_add(&tl, &item), 0);
	}
	CHECK_EQ(timeline_finish(&tl, NULL), 0);
	CHECK_EQ(n.begins, n.ends);
	CHECK_EQ(tl.coros.room, 64);
	CHECK_EQ(tl.nr_groups, 1);
	timeline_release(&tl);
	notes_release(&n);
}

int main(void)
{
	RUN(a_life_is_drawn_with_its_states);
	RUN(turns_nest_and_are_cut_where_they_do_not);
	RUN(many_that_cross_are_not_drawn_again_and_again);
	RUN(a_wake_before_the_wait_leads_to_the_turn_unless_another_does);
	RUN(a_wake_of_nobody_brings_nobody);
	RUN(an_id_that_is_used_again_is_another_life);
	RUN(what_was_lost_is_drawn_and_ends_what_is_not_known);
	RUN(times_that_cannot_be_stretch_nothing);
	RUN(the_last_facts_name_and_end);
	RUN(a_long_name_is_cut_between_characters);
	RUN(many_of_a_kind_share_a_group);
	RUN(anything_can_be_drawn);
	RUN(memory_follows_those_who_are_there);
	return 0;
}
