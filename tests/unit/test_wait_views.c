/* SPDX-License-Identifier: MIT */
/*
 * test_wait_views.c - the time of coroutines as a profile, and their waits as a graph.
 *
 * Times are milliseconds after the first event.  The profile is compared with sums made by hand,
 * the graph by its nodes and edges.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "export/profile_formats.h"
#include "export/state_profile.h"
#include "export/wait_graph.h"

#define AT(ms) (UINT64_C(1000000000000) + (uint64_t)((ms)*1e6))

static char dir[] = "/tmp/test-wait-views-XXXXXX";

/* Both views of one trace; either may be left alone. */
struct views {
	struct state_profile profile;
	struct wait_graph graph;
	char *text;
};

static void views_item(struct views *v, const struct trace_item *item)
{
	CHECK_EQ(state_profile_add(&v->profile, item), 0);
	CHECK_EQ(wait_graph_add(&v->graph, item), 0);
}

static void views_site(struct views *v, uint32_t id, const char *function)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_SITE);
	item.site = (struct trace_site){ id, 10 * id, 1, "main.c", function };
	views_item(v, &item);
}

static void views_begin(struct views *v, const struct trace_filter *filter)
{
	const struct trace_filter none = { 0 };
	const char *command[] = { "/usr/bin/server" };
	struct trace_item item;

	*v = (struct views){ 0 };
	state_profile_init(&v->profile, filter ? filter : &none);
	wait_graph_init(&v->graph, filter ? filter : &none);
	trace_item_init(&item, TRACE_ITEM_RUN);
	item.run.command = command;
	item.run.nr_command = 1;
	item.run.start_ts = AT(0);
	views_item(v, &item);
	views_site(v, 1, "serve");
	views_site(v, 2, "read_all");
	views_site(v, 3, "lock_it");
}

/* A resource that is set counts; the thread is 7. */
static void views_event(struct views *v, unsigned kind, double ms, struct trace_event ev)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_EVENT);
	item.event = ev;
	item.event.kind = (uint8_t)kind;
	item.event.is_active = kind == TRACE_RESUME;
	item.event.ts = AT(ms);
	item.event.tid = 7;
	item.event.seq = 2;
	item.event.station = TRACE_NO_STATION;
	item.event.name_size = ev.name ? (uint32_t)strlen(ev.name) : 0;
	item.event.flags |= ev.resource ? TRACE_HAS_RESOURCE : 0;
	views_item(v, &item);
}

#define ADD(v, kind, ms, ...) views_event(v, TRACE_##kind, ms, (struct trace_event){ __VA_ARGS__ })

static void views_end(struct views *v, double ms)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_TOTALS);
	item.totals.end_ts = AT(ms);
	views_item(v, &item);
	CHECK_EQ(state_profile_finish(&v->profile), 0);
	CHECK_EQ(wait_graph_finish(&v->graph), 0);
}

static void views_release(struct views *v)
{
	state_profile_release(&v->profile);
	wait_graph_release(&v->graph);
	free(v->text);
}

/* What @put writes, as text. */
static const char *views_text(struct views *v, bool is_graph)
{
	char path[64];
	struct outfile out;
	struct err err = { 0 };
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/out", dir);
	CHECK_EQ(outfile_open(&out, path, &err), 0);
	if (is_graph)
		CHECK_EQ(wait_graph_put(&v->graph, &out), 0);
	else
		profile_put_folded(&out, &v->profile.tree);
	CHECK_EQ(outfile_commit(&out, &err), 0);
	outfile_close(&out);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	free(v->text);
	v->text = calloc(1, (size_t)st.st_size + 1);
	CHECK(v->text && read(fd, v->text, (size_t)st.st_size) == st.st_size);
	close(fd);
	unlink(path);
	return v->text;
}

static void has_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || (at != text && at[-1] != '\n')) {
		fprintf(stderr, "no line '%s' in:\n%s\n", line, text);
		exit(1);
	}
}

static unsigned count_of(const char *text, const char *part)
{
	unsigned nr = 0;

	for (text = strstr(text, part); text; text = strstr(text + 1, part))
		nr++;
	return nr;
}

/* ---- profile ------------------------------------------------------------------------------ */

/* A server that waits once, and its reader, which waits until the end. */
static void views_server(struct views *v)
{
	ADD(v, BIRTH, 0, .probe_id = 1, .site = 1, .name = "server");
	ADD(v, RESUME, 2, .probe_id = 1);
	ADD(v, BIRTH, 3, .probe_id = 2, .site = 1, .name = "reader 17", .peer = 1);
	ADD(v, SUSPEND, 5, .probe_id = 1, .site = 2, .reason = TRACE_REASON_IO_READ, .resource = 9);
	ADD(v, RESUME, 6, .probe_id = 2);
	ADD(v, SUSPEND, 6.5, .probe_id = 2, .site = 3, .reason = TRACE_REASON_MUTEX,
	    .resource = 0x70000);
	ADD(v, WAKE, 12, .probe_id = 1);
	ADD(v, WAKE, 12.5, .probe_id = 1); /* it is ready already */
	ADD(v, RESUME, 13, .probe_id = 1);
	ADD(v, END, 17, .probe_id = 1, .flags = TRACE_DESTROYED);
	views_end(v, 26.5);
}

static void every_state_has_its_time_and_its_stack(void)
{
	struct views v;
	const char *text;

	views_begin(&v, NULL);
	views_server(&v);
	text = views_text(&v, false);
	has_line(text, "server (main.c:10);[new] 2000\n");
	has_line(text, "server (main.c:10);[running] 7000\n"); /* 2 to 5 and 13 to 17 */
	has_line(text, "server (main.c:10);read_all (main.c:20);[waiting io-read] 7000\n");
	has_line(text, "server (main.c:10);read_all (main.c:20);[ready] 1000\n");
	has_line(text, "server (main.c:10);reader (main.c:10);[new] 3000\n");
	has_line(text, "server (main.c:10);reader (main.c:10);[running] 500\n");
	has_line(text, "server (main.c:10);reader (main.c:10);lock_it (main.c:30);[waiting mutex] "
		       "20000\n"); /* until the end */
	CHECK_EQ(count_of(text, "\n"), 7);
	CHECK_EQ(v.profile.unknown, 0);
	views_release(&v);
}

static void a_range_cuts_states(void)
{
	struct trace_filter filter = {
		.has_from = true, .from_ns = 4000000, .has_to = true, .to_ns = 8000000
	};
	struct views v;
	const char *text;

	views_begin(&v, &filter);
	views_server(&v);
	text = views_text(&v, false);
	has_line(text, "server (main.c:10);[running] 1000\n"); /* 4 to 5 */
	has_line(text, "server (main.c:10);read_all (main.c:20);[waiting io-read] 3000\n");
	has_line(text, "server (main.c:10);reader (main.c:10);[new] 2000\n");
	has_line(
		text,
		"server (main.c:10);reader (main.c:10);lock_it (main.c:30);[waiting mutex] 1500\n");
	CHECK(!strstr(text, "ready"));
	views_release(&v);
}

static void a_filter_keeps_states_by_coroutine_site_and_kind(void)
{
	struct trace_filter one = { .has_coroutine = true, .coroutine = 2 };
	struct trace_filter site = { .site = "read_all" };
	struct trace_filter kind = { .kinds = 1u << TRACE_WAKE };
	struct views v;

	views_begin(&v, &one);
	views_server(&v);
	CHECK_EQ(count_of(views_text(&v, false), "reader"), 3);
	CHECK_EQ(count_of(v.text, "\n"), 3);
	views_release(&v);
	views_begin(&v, &site);
	views_server(&v);
	CHECK_EQ(count_of(views_text(&v, false), "server (main.c:10);read_all (main.c:20);["),
		 2); /* waiting and ready */
	CHECK_EQ(count_of(v.text, "\n"), 2);
	views_release(&v);
	views_begin(&v, &kind);
	views_server(&v);
	CHECK_STR(views_text(&v, false), "server (main.c:10);read_all (main.c:20);[ready] 1000\n");
	views_release(&v);
}

/* Where events are lost the state is not known: no time is made up. */
static void lost_events_leave_no_time(void)
{
	struct trace_item gap;
	struct views v;

	views_begin(&v, NULL);
	ADD(&v, BIRTH, 0, .probe_id = 1, .name = "worker");
	ADD(&v, RESUME, 1, .probe_id = 1);
	trace_item_init(&gap, TRACE_ITEM_GAP);
	gap.gap.tid = 7;
	gap.gap.from_ts = AT(3);
	gap.gap.to_ts = AT(50);
	gap.gap.transitions = 4;
	views_item(&v, &gap);
	views_end(&v, 60);
	has_line(views_text(&v, false), "worker;[running] 2000\n");
	CHECK_EQ(v.profile.unknown, 1);
	views_release(&v);

	/* Two suspensions: the time between them is not that of a wait. */
	views_begin(&v, NULL);
	ADD(&v, BIRTH, 0, .probe_id = 1, .name = "worker");
	ADD(&v, RESUME, 1, .probe_id = 1);
	ADD(&v, SUSPEND, 2, .probe_id = 1, .site = 2);
	ADD(&v, SUSPEND, 9, .probe_id = 1, .site = 2);
	views_end(&v, 10);
	has_line(views_text(&v, false), "worker;read_all (main.c:20);[waiting] 1000\n");
	CHECK_EQ(v.profile.unknown, 1);
	views_release(&v);
}

static void a_coroutine_known_only_from_the_end_waited_all_the_time(void)
{
	struct trace_item item;
	struct views v;

	views_begin(&v, NULL);
	ADD(&v, BIRTH, 5, .probe_id = 1, .name = "worker");
	trace_item_init(&item, TRACE_ITEM_COROUTINE);
	item.coroutine.probe_id = 8;
	item.coroutine.station = TRACE_NO_STATION;
	item.coroutine.state = TRACE_STATE_SUSPENDED;
	item.coroutine.name = "old";
	item.coroutine.site = 2;
	item.coroutine.reason = TRACE_REASON_TIMER;
	item.coroutine.since_ts = AT(0) - 100000000;
	views_item(&v, &item);
	views_end(&v, 10);
	has_line(views_text(&v, false),
		 "old;read_all (main.c:20);[waiting timer] 5000\n"); /* of the trace */
	CHECK(strstr(views_text(&v, true), "old #8\\nsuspended for 110.000 ms: timer\\n"));
	views_release(&v);
}

/* The collector was killed: what is known ends with the last event. */
static void without_totals_the_last_event_is_the_end(void)
{
	struct views v;

	views_begin(&v, NULL);
	ADD(&v, BIRTH, 5, .probe_id = 1, .name = "worker");
	ADD(&v, RESUME, 6, .probe_id = 1);
	ADD(&v, SUSPEND, 8, .probe_id = 1, .site = 2);
	ADD(&v, BIRTH, 20, .probe_id = 2, .name = "last");
	CHECK_EQ(state_profile_finish(&v.profile), 0);
	CHECK_EQ(wait_graph_finish(&v.graph), 0);
	has_line(views_text(&v, false), "worker;read_all (main.c:20);[waiting] 12000\n");
	views_release(&v);
}

static void a_tree_of_one_kind_is_one_level(void)
{
	struct views v;

	views_begin(&v, NULL);
	ADD(&v, BIRTH, 0, .probe_id = 1, .name = "walk 1");
	ADD(&v, BIRTH, 0, .probe_id = 2, .name = "walk 2", .peer = 1);
	ADD(&v, BIRTH, 0, .probe_id = 3, .name = "leaf", .peer = 2);
	views_end(&v, 1);
	CHECK_STR(views_text(&v, false), "walk;[new] 2000\nwalk;leaf;[new] 1000\n");
	views_release(&v);
}

/* ---- graph --------------------------------------------------------------------------------- */

/* Coroutine @id of a kind exists, and waits at site 3. */
static void views_waiter(struct views *v, uint64_t id, const char *name, unsigned reason,
			 uint64_t resource)
{
	ADD(v, BIRTH, (double)id * 0.001, .probe_id = id, .site = 1, .name = name, .pid = 5);
	ADD(v, RESUME, 1 + (double)id * 0.001, .probe_id = id);
	ADD(v, SUSPEND, 2 + (double)id * 0.001, .probe_id = id, .site = 3,
	    .reason = (uint8_t)reason, .resource = resource);
}

static void those_that_wait_for_one_lock_are_one_node(void)
{
	struct views v;
	const char *text;

	views_begin(&v, NULL);
	ADD(&v, BIRTH, 0, .probe_id = 9, .name = "owner", .pid = 5);
	ADD(&v, ACQUIRE, 0.5, .probe_id = 9, .resource = 0x70000, .pid = 5);
	views_waiter(&v, 1, "worker 1", TRACE_REASON_MUTEX, 0x70000);
	views_waiter(&v, 2, "worker 2", TRACE_REASON_MUTEX, 0x70000);
	views_waiter(&v, 3, "worker 3", TRACE_REASON_MUTEX, 0x80000);
	views_waiter(&v, 4, "other", TRACE_REASON_MUTEX, 0x70000);
	views_end(&v, 12.001);
	text = views_text(&v, true);
	CHECK(strstr(text, "label=\"server: waits at 12.001 ms of the run\""));
	CHECK(strstr(
		text,
		"[label=\"2 x worker\\nsuspended for 10.000 ms: mutex\\nmain.c:30 lock_it\"]"));
	CHECK_EQ(count_of(text, "worker 3 #3"), 1);
	CHECK_EQ(count_of(text, "other #4"), 1);
	/* The owner does not wait: it is in the graph because others need it. */
	CHECK(strstr(text, "[label=\"owner #9\\nnew for 12.001 ms\", style=\"rounded,dashed\"]"));
	CHECK_EQ(count_of(text, "label=\"mutex 0x70000\""), 1);
	CHECK_EQ(count_of(text, "held by"), 1);
	CHECK_EQ(count_of(text, " -> r"), 3);
	CHECK(!strstr(text, "color=red"));
	views_release(&v);
}

static void a_ring_is_red(void)
{
	struct views v;
	const char *text;

	views_begin(&v, NULL);
	ADD(&v, ACQUIRE, 0, .probe_id = 1, .resource = 0x10000, .pid = 5);
	ADD(&v, ACQUIRE, 0, .probe_id = 2, .resource = 0x20000, .pid = 5);
	views_waiter(&v, 1, "one", TRACE_REASON_MUTEX, 0x20000);
	views_waiter(&v, 2, "two", TRACE_REASON_MUTEX, 0x10000);
	views_waiter(&v, 3, "three", TRACE_REASON_MUTEX, 0x10000); /* behind the ring */
	views_end(&v, 3);
	text = views_text(&v, true);
	CHECK_EQ(count_of(text, "color=red, penwidth=2"), 2);
	/* From both to their lock, and from both locks to their holder. */
	CHECK_EQ(count_of(text, "\", color=red];"), 4);
	CHECK_EQ(count_of(text, "three #3"), 1);
	views_release(&v);

	/* Released in between: no ring. */
	views_begin(&v, NULL);
	ADD(&v, ACQUIRE, 0, .probe_id = 1, .resource = 0x10000, .pid = 5);
	ADD(&v, ACQUIRE, 0, .probe_id = 2, .resource = 0x20000, .pid = 5);
	views_waiter(&v, 1, "one", TRACE_REASON_MUTEX, 0x20000);
	ADD(&v, RELEASE, 2.5, .probe_id = 2, .resource = 0x20000, .pid = 5);
	views_end(&v, 3);
	text = views_text(&v, true);
	CHECK(!strstr(text, "color=red") && !strstr(text, "held by"));
	views_release(&v);
}

/* Each waits for another child: two nodes, and each child has its edge. */
static void parents_of_different_children_are_different(void)
{
	struct views v;
	const char *text;

	views_begin(&v, NULL);
	views_waiter(&v, 1, "parent 1", TRACE_REASON_JOIN, 11);
	views_waiter(&v, 2, "parent 2", TRACE_REASON_JOIN, 12);
	views_waiter(&v, 11, "child 1", TRACE_REASON_TIMER, 0);
	views_waiter(&v, 12, "child 2", TRACE_REASON_TIMER, 0);
	views_end(&v, 3);
	text = views_text(&v, true);
	CHECK_EQ(count_of(text, "[label=\"join\"]"), 2);
	CHECK(strstr(text, "parent 1 #1") && strstr(text, "parent 2 #2"));
	views_release(&v);
}

static void what_was_woken_or_has_ended_does_not_wait(void)
{
	struct views v;
	const char *text;

	views_begin(&v, NULL);
	views_waiter(&v, 1, "woken", TRACE_REASON_TIMER, 0);
	ADD(&v, WAKE, 2.5, .probe_id = 1);
	views_waiter(&v, 2, "ended", TRACE_REASON_TIMER, 0);
	ADD(&v, END, 2.6, .probe_id = 2, .flags = TRACE_DESTROYED);
	views_waiter(&v, 3, "asleep", TRACE_REASON_TIMER, 0);
	views_end(&v, 3);
	text = views_text(&v, true);
	CHECK(!strstr(text, "#1") && !strstr(text, "#2") && strstr(text, "asleep #3"));
	views_release(&v);
}

static void the_graph_of_a_coroutine_has_what_is_connected_to_it(void)
{
	struct trace_filter filter = { .has_coroutine = true, .coroutine = 2 };
	struct views v;
	const char *text;

	views_begin(&v, &filter);
	views_waiter(&v, 1, "above", TRACE_REASON_JOIN, 2);
	views_waiter(&v, 2, "chosen", TRACE_REASON_JOIN, 3);
	views_waiter(&v, 3, "below", TRACE_REASON_JOIN, 4);
	views_waiter(&v, 4, "lowest", TRACE_REASON_TIMER, 0);
	views_waiter(&v, 5, "stranger", TRACE_REASON_TIMER, 0);
	views_end(&v, 3);
	text = views_text(&v, true);
	CHECK_EQ(count_of(text, "[label=\"join\"]"), 3);
	CHECK(strstr(text, "above #1") && strstr(text, "lowest #4"));
	CHECK(!strstr(text, "stranger"));
	views_release(&v);
}

static void the_graph_shows_the_time_of_the_range(void)
{
	struct trace_filter filter = { .has_to = true, .to_ns = 2500000 };
	struct views v;

	views_begin(&v, &filter);
	views_waiter(&v, 1, "reader", TRACE_REASON_IO_READ, 9);
	ADD(&v, RESUME, 2.6, .probe_id = 1); /* later */
	views_end(&v, 3);
	CHECK(strstr(views_text(&v, true), "reader #1\\nsuspended for "));
	CHECK(strstr(v.text, "label=\"descriptor 9\""));
	views_release(&v);
}

static void names_cannot_break_the_graph(void)
{
	struct views v;

	views_begin(&v, NULL);
	views_waiter(&v, 1, "a\"b\\c\x1b", TRACE_REASON_TIMER, 0);
	views_end(&v, 3);
	CHECK(strstr(views_text(&v, true), "a\\\"b\\\\c\xef\xbf\xbd #1"));
	views_release(&v);
}

int main(void)
{
	CHECK(mkdtemp(dir));
	RUN(every_state_has_its_time_and_its_stack);
	RUN(a_range_cuts_states);
	RUN(a_filter_keeps_states_by_coroutine_site_and_kind);
	RUN(lost_events_leave_no_time);
	RUN(a_coroutine_known_only_from_the_end_waited_all_the_time);
	RUN(without_totals_the_last_event_is_the_end);
	RUN(a_tree_of_one_kind_is_one_level);
	RUN(those_that_wait_for_one_lock_are_one_node);
	RUN(a_ring_is_red);
	RUN(parents_of_different_children_are_different);
	RUN(what_was_woken_or_has_ended_does_not_wait);
	RUN(the_graph_of_a_coroutine_has_what_is_connected_to_it);
	RUN(the_graph_shows_the_time_of_the_range);
	RUN(names_cannot_break_the_graph);
	rmdir(dir);
	return 0;
}
