/* SPDX-License-Identifier: MIT */
/*
 * test_shipper.c - runs of the shipper with a receiver that is away, slow or forgets: what is sent
 * and when, the account, the progress that is saved, and how the next shipper goes on.
 *
 * The clock is the test's: it goes on while the shipper waits.  Each run is compared with
 * tests/fixtures/golden/shipper.txt.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "golden.h"
#include "ship/ship_envelope.h"
#include "ship/shipper.h"
#include "trace/trace_writer.h"

#define START_NS UINT64_C(5000000000)
#define NS_OF_MS UINT64_C(1000000)

static uint64_t now_ns = START_NS;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t ns = now_ns + (id == CLOCK_REALTIME ? UINT64_C(1700000000000000000) : 0);

	ts->tv_sec = (time_t)(ns / UINT64_C(1000000000));
	ts->tv_nsec = (long)(ns % UINT64_C(1000000000));
	return 0;
}

static FILE *story;
static char dir[] = "/tmp/test_shipper.XXXXXX";
static char path[64], state_path[80];

static unsigned at_ms(void)
{
	return (unsigned)((now_ns - START_NS) / NS_OF_MS);
}

/* ---- the trace ------------------------------------------------------------------------ */

static uint64_t event_ts;

static struct trace_writer *trace_begin(uint64_t start_ts, bool has_names)
{
	static const char *const command[] = { "/usr/bin/shop", "-v" };
	struct trace_output output = { .path = path, .format = TRACE_FORMAT_CT };
	struct sidecar_run run = { .tool = "t", .start_ts = start_ts, .start_realtime = 77 };
	struct err err = { 0 };
	struct trace_writer *w;

	output.fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(output.fd >= 0);
	CHECK_EQ(flock(output.fd, LOCK_EX), 0);
	w = trace_writer_open(&output, &err);
	CHECK(w != NULL);
	if (has_names) {
		run.command = command;
		run.nr_command = 2;
		run.hostname = "a.host";
	}
	event_ts = start_ts;
	trace_put_run(w, &run);
	return w;
}

static void trace_module(struct trace_writer *w, const char *file, const char *build_id)
{
	trace_put_module(
		w,
		&(struct sidecar_module){
			.pid = 1, .start = 4096, .end = 8192, .path = file, .build_id = build_id });
}

/* @nr events of ten coroutines in one block: two transitions of each wake. */
static void trace_block(struct trace_writer *w, unsigned nr)
{
	static const uint8_t kinds[] = { TRACE_SUSPEND, TRACE_WAKE, TRACE_RESUME };
	struct trace_event ev;
	unsigned i;

	for (i = 0; i < nr; i++) {
		trace_event_init(&ev);
		ev.kind = kinds[i % 3];
		ev.is_active = ev.kind == TRACE_RESUME;
		ev.ts = event_ts++;
		ev.probe_id = 1 + i / 3 % 10;
		ev.tid = 7;
		trace_put_event(w, 0, &ev);
	}
	trace_flush(w);
}

static void trace_end(struct trace_writer *w, const struct sidecar_totals *totals)
{
	struct trace_counts counts;
	struct err err = { 0 };

	if (totals)
		trace_put_totals(w, totals);
	trace_writer_close(w, &counts, &err, &err);
	CHECK(!err.code);
}

/* 6 blocks of events, 30 each: 20 transitions, 10 others. */
static void trace_make(void)
{
	struct trace_writer *w = trace_begin(1000, true);
	int i;

	trace_module(w, "/usr/bin/shop", "00ff");
	trace_module(w, "/lib/libc.so.6", "11ff");
	for (i = 0; i < 6; i++)
		trace_block(w, 30);
	trace_end(w, &(struct sidecar_totals){ .written = 123, .lost = 3, .others_lost = 4 });
}

/* ---- the receiver ---------------------------------------------------------------------- */

struct receiver {
	struct ship_transport transport;
	uint64_t queue[64];
	unsigned nr_queue;
	unsigned away;       /* sends that are refused, from now on */
	unsigned busy_every; /* n: every nth block is one too many; 0: none */
	unsigned nr_sends;
	unsigned deaf;         /* polls without an acknowledgement */
	unsigned lost_polls;   /* polls that fail */
	unsigned silent_after; /* this many acknowledgements; 0: never */
	unsigned nr_acks;
	char labels[1024]; /* the last ones */
};

static struct receiver receiver;

/* Without the number of the run, which is random. */
static void story_labels(const char *text, size_t size)
{
	char copy[1024], *run;

	snprintf(copy, sizeof(copy), "%.*s", (int)size, text);
	run = strstr(copy, "\"run\":\"");
	CHECK(run && strlen(run) > 40);
	memset(run + 7, 'R', 32);
	if (strcmp(copy, receiver.labels) != 0)
		fprintf(story, "  labels %s\n", copy);
	memcpy(receiver.labels, copy, sizeof(copy));
}

static int receiver_send(struct ship_transport *t, const struct ship_parcel *p, struct err *err)
{
	struct receiver *r = (struct receiver *)t;

	fprintf(story, "%u ms: send %llu%s", at_ms(), (unsigned long long)(p->number & 0xffff),
		p->number >> 62 ? " whole"
		: p->block      ? ""
				: " final");
	r->nr_sends++;
	if (r->away) {
		r->away--;
		fputs(": away\n", story);
		return err_set(err, -ECONNREFUSED, "connection refused");
	}
	if (r->busy_every && r->nr_sends % r->busy_every == 0) {
		fputs(": busy\n", story);
		return err_set(err, -EAGAIN, "too much");
	}
	if (p->block) {
		struct compact_block_head head;

		CHECK(p->size >= sizeof(head));
		memcpy(&head, p->block, sizeof(head));
		CHECK(compact_block_head_is_valid(&head));
		CHECK_EQ(head.number, p->number);
		fprintf(story, " with %u transitions, %u others", head.transitions, head.others);
	}
	putc('\n', story);
	story_labels(p->labels_text, p->labels_size);
	CHECK(ship_run_is_valid(p->labels->run));
	CHECK(r->nr_queue < 64);
	r->queue[r->nr_queue++] = p->number;
	return 0;
}

static int receiver_poll(struct ship_transport *t, int ms, ship_acked_fn acked, void *ctx,
			 struct err *err)
{
	struct receiver *r = (struct receiver *)t;
	unsigned i, nr = r->nr_queue;

	if (r->lost_polls && nr) {
		r->lost_polls--;
		r->nr_queue = 0;
		fprintf(story, "%u ms: poll: lost\n", at_ms());
		return err_set(err, -ECONNRESET, "connection lost");
	}
	if (!nr || r->deaf || (r->silent_after && r->nr_acks >= r->silent_after)) {
		r->deaf -= r->deaf > 0;
		now_ns += (uint64_t)ms * NS_OF_MS;
		return 0;
	}
	r->nr_queue = 0;
	for (i = 0; i < nr; i++) {
		if (r->silent_after && r->nr_acks >= r->silent_after)
			break;
		fprintf(story, "%u ms: ack %llu\n", at_ms(),
			(unsigned long long)(r->queue[i] & 0xffff));
		r->nr_acks++;
		acked(ctx, r->queue[i]);
	}
	return 0;
}

static const struct ship_transport_ops receiver_ops = { .send = receiver_send,
							.poll = receiver_poll };

static void receiver_new(unsigned window)
{
	receiver = (struct receiver){
		.transport = { .ops = &receiver_ops, .window = window, .name = "test:receiver" }
	};
}

static unsigned stops_after; /* pauses; 0: never */
static struct trace_writer *grows;
static unsigned grows_until = 10; /* pauses */
static bool grows_module;         /* the program's file becomes known */
static unsigned nr_pauses;

static bool story_pause(int ms)
{
	now_ns += (uint64_t)(ms ? ms : 1) * NS_OF_MS;
	nr_pauses++;
	CHECK(nr_pauses < 2000);
	if (grows && grows_module && nr_pauses == 3)
		trace_module(grows, "/srv/late", "22ff");
	if (grows && nr_pauses % 2 == 0 && nr_pauses < 8)
		trace_block(grows, 9);
	if (grows && nr_pauses == grows_until) {
		trace_end(grows, &(struct sidecar_totals){ .written = 30 });
		grows = NULL;
	}
	return stops_after && nr_pauses >= stops_after;
}

static void story_report(const struct ship_transport *t, const struct err *trouble)
{
	CHECK(t == &receiver.transport);
	fprintf(story, "%u ms: report %s\n", at_ms(),
		trouble ? (strchr(trouble->text, '\'') ? "cannot save" : trouble->text)
			: "it works");
}

/* ---- a run ------------------------------------------------------------------------------ */

static void story_count(const char *name, const struct ship_count *c)
{
	if (c->blocks || c->transitions || c->others || c->bytes)
		fprintf(story, "  %s: %llu blocks, %llu transitions, %llu others%s\n", name,
			(unsigned long long)c->blocks, (unsigned long long)c->transitions,
			(unsigned long long)c->others, c->bytes ? "" : ", no bytes");
}

static void story_state(void)
{
	struct ship_state *s = calloc(1, sizeof(*s));
	struct err err = { 0 };
	int rc;

	CHECK(s);
	rc = ship_state_read(s, state_path, &err);
	if (rc != 1) {
		fprintf(story, "no state: %s\n", rc < 0 ? err.hint : "none");
		free(s);
		return;
	}
	CHECK(ship_run_is_valid(s->labels.run));
	fprintf(story, "state: %s, %s/%s/%s, place %s%llu %llu %llu, %u pending%s%s%s\n",
		s->receiver, s->labels.service, s->labels.build, s->labels.host,
		s->place.offset ? "" : "at 0 ", (unsigned long long)s->place.next,
		(unsigned long long)s->place.transitions, (unsigned long long)s->place.others,
		s->nr_pending, s->is_finished ? ", finished" : "",
		s->trouble[0] ? ", trouble " : "", s->trouble);
	story_count("shipped", &s->shipped);
	story_count("spooled", &s->spooled);
	story_count("given up", &s->given_up);
	story_count("left out", &s->left_out);
	if (s->whole_blocks)
		fprintf(story, "  %llu whole blocks\n", (unsigned long long)s->whole_blocks);
	free(s);
}

static struct shipper_config story_config(void)
{
	return (struct shipper_config){ .trace = path,
					.transport = &receiver.transport,
					.wait_ns = 3000 * NS_OF_MS,
					.pause = story_pause,
					.report = story_report };
}

static struct shipper_result story_run(const char *title, const struct shipper_config *c)
{
	struct shipper_result r;
	struct err err = { 0 };
	int rc;

	now_ns = START_NS;
	nr_pauses = 0;
	fprintf(story, "\n== %s\n", title);
	rc = shipper_run(c, &r, &err);
	fprintf(story, "%u ms: %s%s%s, sample %llu\n", at_ms(),
		rc < 0 ? strncmp(err.text, "cannot ship", 11) ? "error" : "no blocks" : "done",
		r.is_finished ? ", finished" : "", r.was_finished ? ", was finished" : "",
		(unsigned long long)r.sample);
	story_count("shipped", &r.shipped);
	story_count("spooled", &r.spooled);
	story_count("given up", &r.given_up);
	story_count("left out", &r.left_out);
	story_count("whole", &r.whole);
	if (r.whole_coroutines)
		fprintf(story, "  %llu coroutines whole\n", (unsigned long long)r.whole_coroutines);
	story_state();
	return r;
}

static void story_begin(unsigned window)
{
	unlink(state_path);
	stops_after = 0;
	receiver_new(window);
	trace_make();
}

static void all_blocks_and_the_account_arrive(void)
{
	struct shipper_config c = story_config();

	story_begin(3);
	story_run("all arrives", &c);
	receiver_new(3);
	story_run("again: nothing is left", &c);
	c.is_new = true;
	receiver_new(100);
	receiver.busy_every = 4;
	story_run("as another run, to a busy receiver", &c);
}

static void given_labels_are_used(void)
{
	struct shipper_config c = story_config();

	story_begin(100);
	snprintf(c.labels.service, sizeof(c.labels.service), "store");
	snprintf(c.labels.build, sizeof(c.labels.build), "b1");
	snprintf(c.labels.version, sizeof(c.labels.version), "v2");
	snprintf(c.labels.host, sizeof(c.labels.host), "h3");
	snprintf(c.labels.region, sizeof(c.labels.region), "r4");
	story_run("given labels", &c);
}

static void a_receiver_that_is_away_is_tried_again(void)
{
	struct shipper_config c = story_config();

	story_begin(3);
	c.wait_ns = 60000 * NS_OF_MS;
	receiver.away = 7;
	story_run("away for seven attempts", &c);
	story_begin(3);
	receiver.lost_polls = 2;
	receiver.deaf = 1;
	story_run("a connection that breaks twice", &c);
	story_begin(3);
	c.report = NULL;
	receiver.away = 1;
	story_run("nothing to report to", &c);
}

static void the_next_shipper_goes_on(void)
{
	struct shipper_config c = story_config();

	story_begin(2);
	receiver.silent_after = 4;
	story_run("silent after four", &c);
	receiver_new(4);
	story_run("the rest", &c);
	story_begin(4);
	receiver.silent_after = 2;
	c.waits_while_blocks_arrive = true;
	stops_after = 20;
	story_run("stopped", &c);
	stops_after = 0;
	receiver_new(4);
	receiver.silent_after = 6;
	story_run("all but the account", &c);
	receiver_new(4);
	story_run("the account", &c);
	trace_end(trace_begin(2000, true), NULL);
	receiver_new(4);
	story_run("the file has another trace", &c);
}

/* The facts and the totals may be in blocks that have not arrived, or not be there. */
static void traces_without_names_or_totals_are_shipped(void)
{
	struct shipper_config c = story_config();
	struct trace_writer *w;

	story_begin(8);
	w = trace_begin(3000, false);
	trace_module(w, "/opt/late", NULL);
	trace_block(w, 6);
	trace_end(w, NULL);
	c.has_ended = true;
	snprintf(c.labels.host, sizeof(c.labels.host), "h");
	story_run("a name of the module, no totals", &c);
	story_begin(8);
	w = trace_begin(3000, false);
	trace_block(w, 6);
	trace_end(w, NULL);
	story_run("no names", &c);
}

static void a_trace_is_shipped_while_it_grows(void)
{
	struct shipper_config c = story_config();

	story_begin(8);
	grows_module = true;
	grows = trace_begin(4000, true);
	trace_flush(grows);
	story_run("a trace that grows", &c);
	CHECK(!grows);
	story_begin(8);
	grows_module = false;
	grows_until = 30;
	grows = trace_begin(4000, true);
	trace_flush(grows);
	story_run("the program's file stays unknown", &c);
	CHECK(!grows);
	story_begin(8);
	stops_after = 4;
	grows = trace_begin(5000, true);
	story_run("stopped while it grows", &c);
	trace_end(grows, NULL);
	grows = NULL;
}

static struct ship_block story_block(uint64_t number)
{
	struct ship_follow f;
	struct ship_block block;
	struct err err = { 0 };

	CHECK_EQ(ship_follow_open(&f, path, false, &err), 0);
	do
		CHECK(ship_follow_head(&f, &block, &err) > 0);
	while (block.head.number != number);
	ship_follow_close(&f);
	return block;
}

static void story_damage(uint64_t number)
{
	off_t at = (off_t)(story_block(number).offset + sizeof(struct compact_block_head));
	int fd = open(path, O_RDWR);

	CHECK(pwrite(fd, "damage!!", 8, at) == 8);
	CHECK_EQ(close(fd), 0);
}

/* Bytes of the facts and of the last two blocks of events. */
static uint64_t story_spool_size(void)
{
	static const uint64_t kept[] = { 0, 1, 6, 7, 8 };
	uint64_t size = 0;
	size_t i;

	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		size += story_block(kept[i]).head.size + sizeof(struct compact_block_head);
	return size;
}

static void damaged_and_old_blocks_are_given_up(void)
{
	struct shipper_config c = story_config();

	story_begin(8);
	story_damage(3);
	story_run("a damaged block", &c);
	story_begin(2);
	c.spool_size = story_spool_size();
	receiver.away = 100;
	story_run("a small spool", &c);
	receiver_new(8);
	story_run("the rest of a small spool", &c);
}

static void story_watch(bool has_ended, void (*found)(void *arg, uint64_t probe_id), void *arg)
{
	fprintf(story, "%u ms: watch%s\n", at_ms(), has_ended ? " the end" : "");
	found(arg, 2);
	found(arg, 3);
	found(arg, 2);
}

static void a_sample_is_shipped_with_whole_coroutines(void)
{
	struct shipper_config c = story_config();

	story_begin(8);
	c.labels.sample = 3;
	story_run("one in three", &c);
	story_begin(8);
	c.watch = story_watch;
	story_run("one in three, and those with findings", &c);
	story_begin(8);
	receiver.lost_polls = 2;
	c.spool_size = 1 << 20;
	story_run("the same with a connection that breaks", &c);
	story_begin(8);
	receiver.silent_after = 10;
	story_run("the same, silent after ten", &c);
	receiver_new(8);
	story_run("and the rest", &c);
}

static void errors_are_told(void)
{
	struct shipper_config c = story_config();
	char part[96];
	FILE *f;

	story_begin(8);
	snprintf(part, sizeof(part), "%s.part", state_path);
	CHECK_EQ(mkdir(part, 0700), 0);
	story_run("a state that cannot be saved", &c);
	CHECK_EQ(rmdir(part), 0);
	f = fopen(state_path, "w");
	CHECK(f && fputs("{\"labels\":{}}", f) >= 0 && fclose(f) == 0);
	receiver_new(8);
	story_run("a damaged state", &c);
	c.is_new = true;
	story_run("a damaged state that is not used", &c);
	CHECK_EQ(unlink(state_path), 0);
	CHECK_EQ(truncate(path, 40), 0);
	story_run("a trace without blocks", &c);
	CHECK_EQ(unlink(path), 0);
	story_run("no trace", &c);
}

/* ---- files and addresses ------------------------------------------------------------------ */

static unsigned file_acks;

static void file_acked(void *ctx, uint64_t number)
{
	CHECK(ctx == &file_acks);
	CHECK_EQ(number, file_acks++);
}

static void blocks_become_files(void)
{
	struct ship_labels labels = { .host = "a/b.c", .run = "0123456789abcdef0123456789abcdef" };
	struct ship_parcel p = { .labels = &labels,
				 .labels_text = "{}",
				 .labels_size = 2,
				 .block = (const uint8_t *)"xyz",
				 .size = 3 };
	struct ship_envelope e;
	struct ship_transport *t;
	struct err err = { 0 };
	char folder[96], name[300];
	uint8_t bytes[256];
	ssize_t size;
	int fd;

	snprintf(folder, sizeof(folder), "file:%s/out", dir);
	t = ship_transport_open(folder, &err);
	CHECK(t != NULL);
	CHECK_STR(t->name, folder);
	CHECK_EQ(t->window, 64);
	for (p.number = 0; p.number < 64; p.number++)
		CHECK_EQ(t->ops->send(t, &p, &err), 0);
	CHECK_EQ(t->ops->send(t, &p, &err), -EAGAIN);
	CHECK_EQ(t->ops->poll(t, 0, file_acked, &file_acks, &err), 0);
	CHECK_EQ(file_acks, 64);
	CHECK_EQ(t->ops->poll(t, 0, file_acked, &file_acks, &err), 0);
	for (p.number = 0; p.number < 64; p.number++) {
		snprintf(name, sizeof(name), "%s/a_b_c/%s/%020u.ctblock", folder + 5, labels.run,
			 (unsigned)p.number);
		fd = open(name, O_RDONLY);
		CHECK(fd >= 0);
		size = read(fd, bytes, sizeof(bytes));
		CHECK(size > 0 && !close(fd) && !unlink(name));
		CHECK_EQ(ship_envelope_decode(bytes, (size_t)size, &e, &err), 0);
		CHECK(e.number == p.number && e.parts == 1 && e.labels_size == 2 &&
		      e.block_size == 3);
	}
	/* The folder goes away and is made again. */
	*strrchr(name, '/') = '\0';
	CHECK_EQ(rmdir(name), 0);
	CHECK_EQ(t->ops->send(t, &p, &err), -ENOENT);
	CHECK(strstr(err.text, "cannot create '") == err.text);
	CHECK_EQ(t->ops->send(t, &p, &err), 0);
	/* A directory is where the file should be. */
	snprintf(name + strlen(name), 40, "/%020u.ctblock", 65);
	CHECK_EQ(mkdir(name, 0700), 0);
	p.number = 65;
	CHECK(t->ops->send(t, &p, &err) < 0);
	CHECK(strstr(err.text, "cannot rename '") == err.text);
	CHECK(!rmdir(name));
	snprintf(strrchr(name, '/'), 40, "/%020u.ctblock.part", 65);
	CHECK(access(name, F_OK) < 0);
	ship_transport_close(t);
	snprintf(strrchr(name, '/'), 40, "/%020u.ctblock", 64);
	CHECK(!unlink(name));
	while (strlen(name) > strlen(dir)) {
		*strrchr(name, '/') = '\0';
		CHECK(strlen(name) <= strlen(dir) || !rmdir(name));
	}
}

static void places_that_cannot_be_used_are_explained(void)
{
	static const struct {
		const char *url, *text;
	} cases[] = {
		{ "file:", "cannot ship to file: without a directory" },
		{ "file:/proc/none/x",
		  "cannot make directory '/proc/none/x': No such file or directory" },
		{ "http://me:secret@x", "cannot ship to http:: unknown kind of receiver" },
		{ "nats", "cannot ship to nats: unknown kind of receiver" },
	};
	struct ship_labels labels = { .host = "h", .run = "0123456789abcdef0123456789abcdef" };
	struct ship_parcel p = { .labels = &labels, .labels_text = "{}", .labels_size = 2 };
	struct ship_transport *t;
	struct err err = { 0 };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(!ship_transport_open(cases[i].url, &err));
		CHECK_STR(err.text, cases[i].text);
	}
	t = ship_transport_open("file:/proc/self", &err);
	CHECK(t && t->ops->send(t, &p, &err) < 0);
	CHECK(strstr(err.text, "cannot make directory '/proc/self/h'") == err.text);
	ship_transport_close(t);
	ship_transport_close(NULL);
}

/* The name of the receiver has no password. */
static void addresses_of_nats_are_understood(void)
{
	static const char *const right[][2] = { { "h", "h" },
						{ "h:4222", "h:4222" },
						{ "a,b:2,c", "a,b:2,c" },
						{ "me@h", "me@h" },
						{ "me:secret@h:1,h2", "me@h:1,h2" },
						{ "m%65%2f%7E:x@h", "me/~@h" },
						{ "m%4@h", "m%4@h" },
						{ "%zz%4g@h", "%zz%4g@h" },
						{ "a:b@c@h", "a@h" },
						{ ":p@h", "@h" } };
	static const char *const wrong[] = { "",     "@",
					     "a,,b", ",a",
					     "a/b",  "/a",
					     "me@",  "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17" };
	char url[400], expected[400];
	struct ship_transport *t;
	struct err err = { 0 };
	size_t i;

	for (i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		snprintf(url, sizeof(url), "nats://%s", right[i][0]);
		snprintf(expected, sizeof(expected), "nats://%s", right[i][1]);
		t = ship_transport_open(url, &err);
		if (!t && err.code != -EINVAL)
			return; /* without the library */
		CHECK(t != NULL);
		CHECK_STR(t->name, expected);
		ship_transport_close(t);
	}
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(url, sizeof(url), "nats://%s", wrong[i]);
		CHECK(!ship_transport_open(url, &err));
		CHECK_EQ(err.code, -EINVAL);
		CHECK(strstr(err.text, "this is not an address") != NULL);
	}
	for (i = 255; i <= 301; i++) { /* longer than a user, and than a host, may be */
		snprintf(url, sizeof(url), "nats://%s%0*d%s", i < 300 ? "" : "h", (int)i, 0,
			 i < 300 ? "@h" : "");
		t = ship_transport_open(url, &err);
		CHECK_EQ(t != NULL, i == 255);
		ship_transport_close(t);
	}
}

static void names_for_files_are_plain(void)
{
	static const char *const cases[][2] = { { "", "_" },
						{ "azAZ09_-", "azAZ09_-" },
						{ "../a b", "___a_b" },
						{ "`{@[/:", "______" },
						{ "\xc3\xa9", "__" },
						{ "abcdefghijk", "abcdefghi" } };
	char to[10];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ship_plain_name(cases[i][0], to, sizeof(to));
		CHECK_STR(to, cases[i][1]);
	}
}

static void runs_are_as_in_the_golden_file(void)
{
	char *text = NULL;
	size_t size;

	story = open_memstream(&text, &size);
	CHECK(story);
	all_blocks_and_the_account_arrive();
	given_labels_are_used();
	a_receiver_that_is_away_is_tried_again();
	the_next_shipper_goes_on();
	traces_without_names_or_totals_are_shipped();
	a_trace_is_shipped_while_it_grows();
	damaged_and_old_blocks_are_given_up();
	a_sample_is_shipped_with_whole_coroutines();
	errors_are_told();
	fclose(story);
	golden_check("shipper.txt", text);
	free(text);
}

int main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/trace.ct", dir);
	snprintf(state_path, sizeof(state_path), "%s.shipped", path);
	RUN(runs_are_as_in_the_golden_file);
	RUN(blocks_become_files);
	RUN(places_that_cannot_be_used_are_explained);
	RUN(addresses_of_nats_are_understood);
	RUN(names_for_files_are_plain);
	CHECK_EQ(rmdir(dir), 0);
	return 0;
}
