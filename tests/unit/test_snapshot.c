/* SPDX-License-Identifier: MIT */
/*
 * test_snapshot.c - requests for snapshots: their queue, the child that writes them, and answers.
 *
 * The control socket, the trace and the sources of a snapshot are the test's.
 */
#include "collect/snapshot.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/coro_cpu.h"
#include "collect/coroutine_table.h"
#include "count_memory.h"
#include "count_open.h"

static struct {
	bool no_fork, no_pipe, is_killed;
	int open_fails, replay_fails, sidecar_fails;
	size_t nr_lives;
	char *log;           /* shared with the child */
	char request[2][64]; /* what the socket has; "": nothing */
	char answers[4096];
	unsigned nr_marks, nr_taken, nr_written, nr_closed;
	struct snapshot_result taken;
	char written[PATH_MAX];
} world;

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
	size_t used = strlen(world.log);
	va_list args;

	va_start(args, fmt);
	vsnprintf(world.log + used, 4096 - used, fmt, args);
	va_end(args);
}

/* ---- the socket ------------------------------------------------------------------------ */

int __wrap_control_open(struct control *c, const char *region, control_handler *handle, void *ctx,
			struct err *err);
int __wrap_control_open(struct control *c, const char *region, control_handler *handle, void *ctx,
			struct err *err)
{
	CHECK_STR(region, "region");
	c->handle = handle;
	c->ctx = ctx;
	c->epoll_fd = 77;
	return err->code;
}

void __wrap_control_close(struct control *c);
void __wrap_control_close(struct control *c)
{
	(void)c;
	world.nr_closed++;
}

void __wrap_control_serve(struct control *c);
void __wrap_control_serve(struct control *c)
{
	static char line[64];
	unsigned i;

	for (i = 0; i < 2; i++) {
		if (!world.request[i][0])
			continue;
		memcpy(line, world.request[i], sizeof(line));
		world.request[i][0] = '\0';
		c->handle(c->ctx, 10 + i, line);
	}
}

void __wrap_control_answer(struct control *c, uint64_t ticket, const char *text);
void __wrap_control_answer(struct control *c, uint64_t ticket, const char *text)
{
	size_t used = strlen(world.answers);

	(void)c;
	snprintf(world.answers + used, sizeof(world.answers) - used, "%d %s\n", (int)ticket, text);
}

/* ---- the trace ------------------------------------------------------------------------- */

static void write_lane(struct trace_writer *w, const struct trace_lane *lane)
{
	(void)w;
	note("lane %u ", lane->number);
}

static void write_event(struct trace_writer *w, uint32_t lane, const struct trace_event *ev)
{
	(void)w;
	note("event %u:%d ", lane, (int)ev->probe_id);
}

static void write_horizon(struct trace_writer *w, uint64_t ts)
{
	(void)w;
	note("horizon %d ", (int)ts);
}

static void write_fact(struct trace_writer *w, const struct trace_item *item)
{
	(void)w;
	if (item->type == TRACE_ITEM_SITE)
		note("site %u ", item->site.id);
	else if (item->type == TRACE_ITEM_GAP)
		note("gap %d,%d ", (int)item->gap.transitions, (int)item->gap.others);
	else if (item->type == TRACE_ITEM_COROUTINE)
		note("coroutine %d ", (int)item->coroutine.probe_id);
	else
		note("fact ");
}

static const struct trace_writer_ops ops = {
	.lane = write_lane, .event = write_event, .horizon = write_horizon, .fact = write_fact
};
static struct trace_writer writer = { .ops = &ops };

int __wrap_record_open(struct record *r, const struct collector_config *config, uint64_t start_ns,
		       struct err *err);
int __wrap_record_open(struct record *r, const struct collector_config *config, uint64_t start_ns,
		       struct err *err)
{
	CHECK_EQ(config->flight_size, 0); /* events go to a file */
	CHECK_EQ(start_ns, 1000);
	note("open %s %d ", config->output, config->format);
	if (world.is_killed)
		raise(SIGKILL);
	if (world.open_fails)
		return err_set(err, world.open_fails, "cannot open it");
	r->writer = &writer;
	return 0;
}

void __wrap_record_start(struct record *r, uint64_t pid);
void __wrap_record_start(struct record *r, uint64_t pid)
{
	CHECK_EQ(r->start_realtime_ns, 2000);
	note("start %d ", (int)pid);
}

void __wrap_record_processes(struct record *r, const struct endpoint *e);
void __wrap_record_processes(struct record *r, const struct endpoint *e)
{
	CHECK(r->writer && e);
	note("processes ");
}

void __wrap_record_finish(struct record *r, const struct harvest *h, const struct endpoint *e,
			  struct collector_result *result);
void __wrap_record_finish(struct record *r, const struct harvest *h, const struct endpoint *e,
			  struct collector_result *result)
{
	CHECK(r->writer && h && e);
	note("finish ");
	result->collected = 30;
	result->lost = 4;
	result->others_collected = 7;
	if (world.sidecar_fails)
		err_set(&result->sidecar, world.sidecar_fails, "no sidecar");
}

void __wrap_record_undo(struct record *r);
void __wrap_record_undo(struct record *r)
{
	(void)r;
	note("undo ");
}

void __wrap_record_close(struct record *r);
void __wrap_record_close(struct record *r)
{
	(void)r;
	note("close");
}

int __wrap_flight_replay(const struct flight *f, const struct flight_sink *sink, void *ctx,
			 struct err *err);
int __wrap_flight_replay(const struct flight *f, const struct flight_sink *sink, void *ctx,
			 struct err *err)
{
	struct sidecar_coroutine coroutine = { .probe_id = 8 };
	struct trace_lane lane = { .number = 3 };
	struct trace_item fact;
	struct trace_event ev;

	(void)f;
	if (world.replay_fails)
		return err_set(err, world.replay_fails, "no memory");
	trace_event_init(&ev);
	ev.probe_id = 5;
	sink->lane(ctx, &lane);
	sink->event(ctx, 3, &ev);
	sink->gap(ctx, 3, 1, 2, 6, 7);
	sink->horizon(ctx, 99);
	sink->coroutine(ctx, &coroutine);
	trace_item_init(&fact, TRACE_ITEM_SWITCH);
	sink->fact(ctx, &fact);
	return 0;
}

uint64_t __wrap_flight_used(const struct flight *f);
uint64_t __wrap_flight_used(const struct flight *f)
{
	(void)f;
	return 555;
}

/* ---- sources ------------------------------------------------------------------------------- */

void __wrap_lives_each(const struct lanes *l, uint32_t pid, life_visitor *visit, void *ctx);
void __wrap_lives_each(const struct lanes *l, uint32_t pid, life_visitor *visit, void *ctx)
{
	struct life life = { 0 };
	size_t i;

	CHECK(l != NULL);
	CHECK_EQ(pid, 0);
	world.nr_marks = 0;
	for (i = 0; i < world.nr_lives; i++) {
		life.id = 100 + i;
		visit(ctx, &life);
	}
}

bool __wrap_tickclock_mark(struct tickclock *tc);
bool __wrap_tickclock_mark(struct tickclock *tc)
{
	CHECK(tc != NULL);
	world.nr_marks++;
	return true;
}

/* Stations 0 and 2 have coroutines, the second one has ended. */
bool __wrap_harvest_describe(const struct harvest *h, uint32_t i, struct harvest_coroutine *out);
bool __wrap_harvest_describe(const struct harvest *h, uint32_t i, struct harvest_coroutine *out)
{
	(void)h;
	memset(out, 0, sizeof(*out));
	out->dead = i == 2;
	return i != 1;
}

void __wrap_life_describe(const struct life *life, const struct tickclock *clock,
			  const struct site_table *sites, struct sidecar_coroutine *out);
void __wrap_life_describe(const struct life *life, const struct tickclock *clock,
			  const struct site_table *sites, struct sidecar_coroutine *out)
{
	CHECK(clock && sites);
	CHECK_EQ(world.nr_marks, 1); /* after the states were read, before they get times */
	*out = (struct sidecar_coroutine){ .probe_id = life->id };
}

void __wrap_coro_cpu_put(const struct coro_cpu *c, struct json_writer *j);
void __wrap_coro_cpu_put(const struct coro_cpu *c, struct json_writer *j)
{
	CHECK(c != NULL);
	jw_field_u64(j, "cpu", 1);
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	if (world.no_fork) {
		errno = EAGAIN;
		return -1;
	}
	return __real_fork();
}

int __real_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags)
{
	if (world.no_pipe) {
		errno = EMFILE;
		return -1;
	}
	return __real_pipe2(fds, flags);
}

static void tell(void *collector, struct collector_result *r)
{
	CHECK(collector == &world);
	r->pid = 44;
	r->launched = true;
	r->totals.written = 34;
	r->totals.lost = 1;
	r->totals.coroutines = 9;
	r->others_lost = 2;
}

static void note_taken(const struct snapshot_result *r)
{
	world.nr_taken++;
	world.taken = *r;
}

static void note_written(const char *path)
{
	world.nr_written++;
	snprintf(world.written, sizeof(world.written), "%s", path);
}

static struct snapshots s;
static struct record record;
static struct collector_config config;
static struct coro_cpu cpu;
static struct peer peers[3];
static struct endpoint endpoint;

static void world_new(void)
{
	static struct harvest harvest;
	static struct lanes lanes;
	static struct tickclock tickclock;
	static struct site_table sites;
	static struct trace_site site = { .id = 12 };
	static char *argv[] = { (char *)"prog", (char *)"-x", NULL };
	static char *log;
	struct snapshot_source source = { &config,    &record, &harvest, &endpoint, &lanes,
					  &tickclock, &sites,  tell,     &world,    &cpu };

	if (!log)
		log = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(log != MAP_FAILED);
	memset(log, 0, 4096);
	memset(&world, 0, sizeof(world));
	world.log = log;
	world.nr_lives = 2;
	config = (struct collector_config){ .output = "/out/trace",
					    .format = TRACE_FORMAT_CTF,
					    .argv = argv,
					    .flight_size = 1 << 20,
					    .snapshot_taken = note_taken,
					    .snapshot_written = note_written };
	memset(&record, 0, sizeof(record));
	record.start_ns = 1000;
	record.start_realtime_ns = 2000;
	record.flight.totals = (struct flight_totals){ 50, 60, 11, 12, 13, 14, 15 };
	record.flight.sites = &site;
	record.flight.nr_sites = 1;
	peers[0] = (struct peer){ .fd = 5, .pid = 70 };
	peers[1] = (struct peer){ .fd = -1, .pid = 71 };
	peers[2] = (struct peer){ .fd = 6, .pid = 44 };
	endpoint = (struct endpoint){ .peers = peers, .nr_peers = 3 };
	harvest.nr_claimed = 3;
	cpu.is_on = true;
	snapshots_open(&s, &source, "region");
}

static void ask(unsigned i, const char *request)
{
	snprintf(world.request[i], sizeof(world.request[0]), "%s", request);
}

/* Serve until the child has ended. */
static void serve_all(void)
{
	unsigned open_before = count_open() - (s.child ? 1 : 0); /* its result */

	snapshots_serve(&s);
	while (s.child) {
		int fds[SNAPSHOTS_FDS];

		snapshots_fds(&s, fds);
		CHECK_EQ(fds[0], 77);
		CHECK(fds[1] >= 0);
		usleep(200);
		snapshots_serve(&s);
	}
	CHECK_EQ(s.result_fd, -1);
	CHECK_EQ(count_open(), open_before);
}

static const char whole[] = "start 44 processes site 12 lane 3 event 3:5 gap 6,7 horizon 99 "
			    "coroutine 8 fact coroutine 100 coroutine 101 finish close";

static void check_log(const char *begin)
{
	size_t size = strlen(begin);

	if (strncmp(world.log, begin, size) != 0 || strcmp(world.log + size, whole) != 0)
		fprintf(stderr, "%s\n", world.log);
	CHECK(!strncmp(world.log, begin, size));
	CHECK_STR(world.log + size, whole);
}

static const char numbers[] = "\"written\":34,\"collected\":30,\"lost\":4,\"forgotten\":11,"
			      "\"others\":7,\"others_forgotten\":12,\"facts_forgotten\":14,"
			      "\"facts_refused\":15,\"coroutines\":3";

/* ---- tests ---------------------------------------------------------------------------------- */

static void a_child_writes_a_snapshot(void)
{
	char wanted[1024];

	world_new();
	ask(0, "snapshot");
	serve_all();
	check_log("open /out/trace 2 ");
	snprintf(wanted, sizeof(wanted), "10 {\"trace\":\"/out/trace\",%s,\"pid\":%d}\n", numbers,
		 (int)getpid());
	CHECK_STR(world.answers, wanted);
	CHECK_EQ(world.nr_taken, 0); /* the client has the answer */
	CHECK_EQ(world.nr_written, 1);
	CHECK_STR(world.written, "/out/trace");
	CHECK_EQ(s.nr_queue, 0);
	snapshots_close(&s);
	CHECK_EQ(world.nr_closed, 1);
	snapshots_close(&s); /* it is closed */
	CHECK_EQ(world.nr_closed, 1);
}

static void without_a_child_the_collector_writes_it(void)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		world_new();
		world.no_fork = i == 0;
		world.no_pipe = i == 1;
		ask(0, "snapshot /there/file");
		serve_all();
		check_log("open /there/file 0 "); /* the format is that of the name */
		CHECK(strstr(world.answers, "10 {\"trace\":\"/there/file\",\"written\":34,") ==
		      world.answers);
		CHECK_EQ(world.nr_written, 1);
		CHECK_STR(world.written, "/there/file");
		CHECK_EQ(s.nr_queue, 0);
		CHECK_EQ(s.child, 0);
		snapshots_close(&s);
	}
}

static void one_is_written_after_the_other(void)
{
	world_new();
	ask(0, "snapshot /a");
	ask(1, "snapshot /b");
	snapshots_serve(&s);
	CHECK(s.child > 0);
	CHECK_EQ(s.nr_queue, 2);
	serve_all();
	CHECK_EQ(s.nr_queue, 0);
	CHECK(strstr(world.answers, "10 {\"trace\":\"/a\"") == world.answers);
	CHECK(strstr(world.answers, "\n11 {\"trace\":\"/b\"") != NULL);
	CHECK_EQ(world.nr_written, 2);
	snapshots_close(&s);
}

static void signals_are_requests(void)
{
	world_new();
	snapshots_want(&s);
	snapshots_want(&s); /* the same one */
	CHECK_EQ(s.nr_queue, 1);
	snapshots_serve(&s);
	CHECK(s.child > 0);
	snapshots_want(&s); /* what happens now is not in the one that is being written */
	CHECK_EQ(s.nr_queue, 2);
	snapshots_want(&s);
	CHECK_EQ(s.nr_queue, 2);
	serve_all();
	CHECK_EQ(world.nr_taken, 2);
	CHECK_EQ(world.taken.collected, 30);
	CHECK_STR(world.taken.path, "/out/trace");
	CHECK_STR(world.answers, "");
	ask(0, "snapshot /a");
	__wrap_control_serve(&s.control);
	snapshots_want(&s); /* another path: a request of its own */
	CHECK_EQ(s.nr_queue, 2);
	snapshots_close(&s);
	CHECK_EQ(s.nr_queue, 0);
}

static void a_full_queue_refuses(void)
{
	unsigned i;

	world_new();
	for (i = 0; i < CONTROL_CLIENTS + 1; i++) {
		ask(0, "snapshot /a");
		__wrap_control_serve(&s.control);
	}
	CHECK_EQ(s.nr_queue, CONTROL_CLIENTS + 1);
	CHECK_STR(world.answers, "");
	ask(0, "snapshot /a");
	__wrap_control_serve(&s.control);
	CHECK_EQ(s.nr_queue, CONTROL_CLIENTS + 1);
	CHECK_STR(world.answers, "10 {\"error\":\"too many snapshot requests are waiting\"}\n");
	snapshots_close(&s);
}

static void failures_are_answered(void)
{
	world_new();
	world.open_fails = -EACCES;
	ask(0, "snapshot");
	serve_all();
	CHECK_STR(world.log, "open /out/trace 2 undo close");
	CHECK(strstr(world.answers, "\"written\":34,\"collected\":0,\"lost\":51,") != NULL);
	CHECK(strstr(world.answers, "\"others\":0,") != NULL);
	CHECK(strstr(world.answers, ",\"error\":\"cannot open it\"}") != NULL);
	CHECK_EQ(world.nr_written, 0);
	snapshots_close(&s);
	world_new();
	world.replay_fails = -ENOMEM;
	ask(0, "snapshot");
	serve_all();
	CHECK_STR(world.log, "open /out/trace 2 start 44 processes site 12 undo close");
	CHECK(strstr(world.answers, ",\"error\":\"no memory\"}") != NULL);
	snapshots_close(&s);
	world_new();
	world.sidecar_fails = -EIO;
	snapshots_want(&s);
	serve_all();
	CHECK_EQ(world.taken.err.code, -EIO);
	CHECK_EQ(world.taken.collected, 30);
	CHECK_EQ(world.nr_written, 0);
	snapshots_close(&s);
	world_new();
	world.is_killed = true;
	ask(0, "snapshot /a");
	serve_all();
	CHECK(strstr(world.answers, "{\"trace\":\"/a\",\"written\":0") != NULL);
	CHECK(strstr(world.answers, "the snapshot was ended by signal 9 (Killed)") != NULL);
	CHECK_EQ(world.nr_written, 0);
	snapshots_close(&s);
}

static void check_answer(const char *request, const char *text)
{
	world.answers[0] = '\0';
	ask(0, request);
	snapshots_serve(&s);
	if (!strstr(world.answers, text))
		fprintf(stderr, "%s\n", world.answers);
	CHECK(strstr(world.answers, text) != NULL);
	CHECK_EQ(s.nr_queue, 0);
}

static void requests_that_cannot_be_met_are_refused(void)
{
	char path[PATH_MAX + 32];

	world_new();
	check_answer("snapshots", "does not understand the request\",\"hint\":\"use the same");
	check_answer("snapshot relative", "does not understand");
	check_answer("snapshot  /a", "does not understand");
	check_answer("snap", "does not understand");
	check_answer("", "");
	memset(path, 'x', sizeof(path));
	memcpy(path, "snapshot /", 10);
	path[9 + PATH_MAX] = '\0'; /* a path of PATH_MAX bytes is too long */
	s.control.handle(s.control.ctx, 5, path);
	CHECK(strstr(world.answers, "5 {\"error\":\"the collector does not understand") != NULL);
	CHECK_EQ(s.nr_queue, 0);
	path[8 + PATH_MAX] = '\0';
	s.control.handle(s.control.ctx, 5, path);
	CHECK_EQ(s.nr_queue, 1);
	snapshots_close(&s);
	world_new();
	config.flight_size = 0;
	check_answer("snapshot", "has no flight recorder: it writes its trace as it goes");
	CHECK(strstr(world.answers, "the trace so far is '/out/trace'") != NULL);
	snapshots_close(&s);
}

static void a_status_has_totals_and_processes(void)
{
	world_new();
	check_answer("status", "\"command\":[\"prog\",\"-x\"],\"since_ns\":2000,\"output\":"
			       "\"/out/trace\",\"coroutines\":11,\"written\":34,\"lost\":1,"
			       "\"others_lost\":2,\"recorder_size\":1048576,\"recorder_used\":555,"
			       "\"forgotten\":11,\"cpu\":true,\"pids\":[44,70]}");
	CHECK(strstr(world.answers, "10 {\"pid\":") == world.answers);
	check_answer("cpu", "10 {\"cpu\":1}");
	config.flight_size = 0;
	config.argv = NULL;
	cpu.is_on = false;
	check_answer("status", "\"command\":[]");
	CHECK(strstr(world.answers, "\"recorder_size\":0,\"recorder_used\":0,") != NULL);
	CHECK(strstr(world.answers, "\"cpu\":false") != NULL);
	snapshots_close(&s);
}

/* The last one is the run's: its exit status is known. */
static void the_end_writes_the_last_one(void)
{
	struct collector_result r = { .pid = 44, .launched = true, .totals = { .written = 34 } };

	world_new();
	ask(0, "snapshot /a");
	ask(1, "snapshot /b");
	snapshots_serve(&s); /* a child writes the first */
	ask(0, "snapshot");
	snapshots_finish(&s, &r);
	CHECK_EQ(s.child, 0);
	CHECK_EQ(s.nr_queue, 0);
	CHECK_EQ(world.nr_written, 3);
	CHECK_STR(world.written, "/out/trace");
	CHECK(r.launched);
	CHECK_EQ(r.collected, 30);
	CHECK_EQ(r.forgotten, 11);
	CHECK_EQ(r.others_forgotten, 12);
	CHECK_EQ(r.facts_forgotten, 14);
	CHECK_EQ(r.facts_refused, 15);
	CHECK(strstr(world.answers, "10 {\"trace\":\"/a\"") == world.answers);
	CHECK(strstr(world.answers, "\n11 {\"trace\":\"/b\"") != NULL);
	CHECK(strstr(world.answers, "\n10 {\"trace\":\"/out/trace\"") != NULL);
	CHECK_EQ(r.totals.coroutines, 0); /* they were counted before */
	snapshots_close(&s);
	world_new();
	config.flight_size = 0;
	snapshots_finish(&s, &r);
	CHECK_STR(world.log, "");
	snapshots_close(&s);
}

static void many_coroutines_are_described(void)
{
	unsigned nr = 0;
	const char *at;

	world_new();
	world.no_fork = true;
	world.nr_lives = 200;
	snapshots_want(&s);
	serve_all();
	for (at = world.log; (at = strstr(at, "coroutine 1")); at++)
		nr++;
	CHECK_EQ(nr, 100); /* 100 to 199; the log is full then */
	CHECK_EQ(world.taken.coroutines, 201);
	snapshots_close(&s);
}

static void take_one(void)
{
	world_new();
	world.no_fork = true;
	ask(0, "snapshot /a");
	serve_all();
	check_answer("status", "{");
	check_answer("cpu", "{");
	ask(0, "snapshot /b");
	__wrap_control_serve(&s.control);
	snapshots_close(&s);
}

static void nothing_is_kept(void)
{
	check_keeps_no_memory(take_one);
}

/* ---- the output --------------------------------------------------------------------------- */

static int check_output(const char *path)
{
	struct collector_config c = { .output = path };
	struct err err = { 0 };
	int rc = snapshot_check_output(&c, &err);

	CHECK_EQ(rc, err.code);
	CHECK(!rc || err.hint[0]);
	return rc;
}

static void an_output_can_be_replaced(void)
{
	char dir[] = "/tmp/corotracer-test-XXXXXX", path[64];

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/new", dir);
	CHECK_EQ(check_output(path), 0);
	snprintf(path, sizeof(path), "%s//", dir);
	CHECK_EQ(check_output(path), 0);
	CHECK_EQ(check_output(dir), 0);
	snprintf(path, sizeof(path), "%s/no/file", dir);
	CHECK_EQ(check_output(path), -ENOENT);
	snprintf(path, sizeof(path), "%s/fifo", dir);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(check_output(path), -EINVAL);
	unlink(path);
	CHECK_EQ(rmdir(dir), 0);
	CHECK_EQ(check_output("-"), -EINVAL);
	CHECK_EQ(check_output("/dev/null"), -EINVAL);
	CHECK_EQ(chdir("/tmp"), 0);
	CHECK_EQ(check_output("corotracer-test-none"), 0); /* in this directory */
	CHECK_EQ(check_output("/tmp"), 0);
}

int main(void)
{
	RUN(a_child_writes_a_snapshot);
	RUN(without_a_child_the_collector_writes_it);
	RUN(one_is_written_after_the_other);
	RUN(signals_are_requests);
	RUN(a_full_queue_refuses);
	RUN(failures_are_answered);
	RUN(requests_that_cannot_be_met_are_refused);
	RUN(a_status_has_totals_and_processes);
	RUN(the_end_writes_the_last_one);
	RUN(many_coroutines_are_described);
	RUN(nothing_is_kept);
	RUN(an_output_can_be_replaced);
	return 0;
}
