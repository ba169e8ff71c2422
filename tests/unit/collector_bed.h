/* SPDX-License-Identifier: MIT */
/*
 * collector_bed.h - whole runs of the collector: a traced program with a known story, the trace as
 * text, and the calls that the collector makes.
 */
#ifndef COLLECTOR_BED_H
#define COLLECTOR_BED_H

#include <corotracer/corotracer.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "collect/collector.h"
#include "collect/collector_client.h"
#include "collect/control_socket.h"
#include "collect/region.h"
#include "collect/region_inspect.h"
#include "collect/region_list.h"
#include "collect/snapshot.h"
#include "top/top_snapshot.h"
#include "trace/trace_reader.h"

#define SECOND_MS 1000

/* A test uses what it needs. */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"

static char scratch[64];
static const char *self;

static const char *in_scratch(const char *name)
{
	static char paths[8][512];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
	return path;
}

static void scratch_clean(const char *dir)
{
	struct dirent *e;
	char path[800];
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (unlink(path) < 0)
			scratch_clean(path);
	}
	if (d)
		closedir(d);
	rmdir(dir);
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Wait until @path exists; a test that waits too long is ended by ctest. */
static void await_file(const char *path)
{
	while (!is_there(path))
		usleep(1000);
}

static void touch(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	close(fd);
}

/* ---- the traced program ------------------------------------------------------ */

/* Known lines, for sites. */
static struct corotracer_site site_parent = { "story.c", "make_parent", 10, 0 };
static struct corotracer_site site_child = { "story.c", "make_child", 20, 0 };
static struct corotracer_site site_read = { "story.c", "read_all", 30, 0 };
static struct corotracer_site site_wake = { "story.c", "wake_up", 40, 0 };
static struct corotracer_site site_lock = { "story.c", "use_lock", 50, 0 };

/* Two coroutines; @a stays suspended, @b ends. */
static void tell_story(struct corotracer_coro *a, struct corotracer_coro *b)
{
	CHECK_EQ(corotracer_begin_at(a, "parent", NULL, &site_parent), 0);
	corotracer_resume(a);
	CHECK_EQ(corotracer_begin_at(b, "child", a, &site_child), 0);
	corotracer_resume(b);
	corotracer_suspend_on(b, (void *)0x1234, &site_read, CTP_REASON_IO_READ, 5);
	corotracer_wake_by(b, a, &site_wake, CTP_REASON_IO_READ, 5);
	corotracer_resume(b);
	corotracer_acquired_at(b, 0xabc, &site_lock);
	corotracer_released_at(b, 0xabc, &site_lock);
	corotracer_closing_at(b, 5, &site_read);
	corotracer_finish(b, CTP_END_CANCELLED);
	corotracer_end(b);
	corotracer_suspend_at(a, (void *)0x5678, &site_lock, CTP_REASON_MUTEX);
}

static const char story[] = "birth 1 of 0 parent story.c:10 make_parent\n"
			    "resume 1\n"
			    "birth 2 of 1 child story.c:20 make_child\n"
			    "resume 2\n"
			    "suspend 2 at 1234 reason 1 on 5 story.c:30 read_all\n"
			    "wake 2 by 1 reason 1 on 5 story.c:40 wake_up\n"
			    "resume 2\n"
			    "acquire 2 on abc story.c:50 use_lock\n"
			    "release 2 on abc story.c:50 use_lock\n"
			    "close 2 on 5 story.c:30 read_all\n"
			    "end 2 flags 10\n"
			    "destroy 2\n"
			    "suspend 1 at 5678 reason 6 story.c:50 use_lock\n"
			    "left 1 suspended reason 6 parent story.c:50 use_lock\n";

/* Events of a cTP 0.x writer, in the first station. */
static void write_station(uint32_t events)
{
	int fd = open(getenv(CTP_ENV_SHM), O_RDWR | O_CLOEXEC);
	struct ctp_header *h;
	struct ctp_station *s;
	uint32_t i;

	CHECK(fd >= 0);
	h = mmap(NULL, ctp_region_size(2), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(h != MAP_FAILED);
	CHECK_EQ(h->max_stations, 2);
	s = ctp_stations(h);
	s->probe_id = UINT64_C(0x7f0000000001);
	s->birth_ts = clock_now_ns();
	h->allocated_count = 1;
	for (i = 0; i < events; i++)
		ctp_slot_write(&s->slots[i % 8], 2 * (i / 8) + 2, clock_now_ns(), 77, 100 + i,
			       i % 2);
}

/* Events until @path exists. */
static void work_until(const char *path)
{
	struct corotracer_coro co = { 0 };

	corotracer_begin(&co, "worker");
	while (!is_there(path)) {
		corotracer_resume(&co);
		corotracer_suspend(&co, NULL);
		usleep(1000);
	}
	corotracer_end(&co);
}

static int child_main(const char *mode, const char *path)
{
	struct corotracer_coro a = { 0 }, b = { 0 };
	char up[512];

	/* Whatever happens to the test, its programs end. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(300);
	if (!strcmp(mode, "story")) {
		tell_story(&a, &b);
		return 7;
	}
	if (!strcmp(mode, "killed")) {
		tell_story(&a, &b);
		raise(SIGKILL);
	}
	if (!strcmp(mode, "stations")) {
		write_station(20);
		return 0;
	}
	if (!strcmp(mode, "pause")) { /* a story, then wait for the file */
		tell_story(&a, &b);
		await_file(path);
		return 0;
	}
	if (!strcmp(mode, "orphan")) { /* a second process outlives the first */
		snprintf(up, sizeof(up), "%s.up", path);
		if (fork() != 0) {
			tell_story(&a, &b);
			await_file(up);
			return 0;
		}
		corotracer_begin(&a, "orphan");
		corotracer_resume(&a);
		touch(up); /* it is connected */
		await_file(path);
		corotracer_suspend(&a, NULL);
		corotracer_end(&a);
		return 0;
	}
	if (!strcmp(mode, "work")) {
		snprintf(up, sizeof(up), "%s.up", path);
		touch(up);
		work_until(path);
		return 3;
	}
	if (!strcmp(mode, "nothing"))
		return 0;
	if (!strcmp(mode, "failed")) { /* cannot use the region */
		setenv(CTP_ENV_SHM, "/nonexistent/region", 1);
		unsetenv("CTP_FDS");
		CHECK(corotracer_begin(&a, "x") != 0);
		await_file(path);
		return 0;
	}
	return 99;
}

/* ---- the trace as text ---------------------------------------------------------- */

static char text[65536];
static size_t text_size;

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text_size += (size_t)vsnprintf(text + text_size, sizeof(text) - text_size, fmt, args);
	va_end(args);
	CHECK(text_size < sizeof(text));
}

struct seen {
	struct sidecar_totals totals;
	struct sidecar_run run;
	struct sidecar_process process;
	uint32_t nr_runs, nr_processes, nr_totals, nr_modules, nr_coroutines, nr_events;
	uint64_t first_ts, last_ts;
	uint64_t own_module; /* start of this program's code */
	bool has_build_id;
	char tool[64], command[256], site[64][64];
};

static void say_site(const struct seen *s, uint32_t site)
{
	if (site && site < 64)
		say(" %s", s->site[site]);
}

static void say_event(struct seen *s, const struct trace_event *e)
{
	static const char *const kinds[] = { "suspend", "resume", "birth",   "wake",    "end",
					     "destroy", "close",  "acquire", "release", "context" };

	s->nr_events++;
	s->first_ts = s->first_ts && s->first_ts < e->ts ? s->first_ts : e->ts;
	s->last_ts = s->last_ts > e->ts ? s->last_ts : e->ts;
	say("%s %" PRIu64, kinds[e->kind], e->probe_id);
	if (e->kind == TRACE_BIRTH)
		say(" of %" PRIu64 " %.*s", e->peer, (int)e->name_size, e->name);
	if (e->kind == TRACE_WAKE)
		say(" by %" PRIu64, e->peer);
	if (e->kind == TRACE_SUSPEND && e->addr)
		say(" at %" PRIx64, e->addr);
	if (e->reason)
		say(" reason %u", e->reason);
	if (e->flags & TRACE_HAS_RESOURCE)
		say(" on %" PRIx64, e->resource);
	if (e->flags & ~TRACE_HAS_RESOURCE)
		say(" flags %x", e->flags & ~(unsigned)TRACE_HAS_RESOURCE);
	say_site(s, e->site);
	say("\n");
}

static void say_coroutine(struct seen *s, const struct sidecar_coroutine *c)
{
	s->nr_coroutines++;
	say("left %" PRIu64, c->probe_id);
	if (c->state)
		say(" %s", trace_state_name(c->state));
	if (c->reason)
		say(" reason %u", c->reason);
	if (c->name)
		say(" %s", c->name);
	if (c->dead)
		say(" dead");
	if (c->lost)
		say(" lost %" PRIu64 " of %" PRIu64, c->lost, c->written);
	say_site(s, c->site);
	say("\n");
}

static void say_frame(const struct trace_frame *f)
{
	say("frame %s", f->buffer);
	if (f->lost)
		say(" lost %" PRIu64, f->lost);
	else
		say(" %s of %" PRIu64 " ticket %" PRIu64 " %s%s", f->type, f->probe_id, f->ticket,
		    f->fields, f->is_late ? " late" : "");
	say("\n");
}

static void take_item(struct seen *s, const struct trace_item *item)
{
	size_t i;

	if (item->type == TRACE_ITEM_RUN) {
		s->run = item->run;
		s->nr_runs++;
		snprintf(s->tool, sizeof(s->tool), "%s", item->run.tool);
		for (i = 0; i < item->run.nr_command; i++)
			snprintf(s->command + strlen(s->command),
				 sizeof(s->command) - strlen(s->command), "%s ",
				 item->run.command[i]);
	} else if (item->type == TRACE_ITEM_PROCESS) {
		s->process = item->process;
		s->nr_processes++;
	} else if (item->type == TRACE_ITEM_MODULE) {
		s->nr_modules++;
		if (!strcmp(item->module.path, self)) {
			s->own_module = item->module.start;
			s->has_build_id = item->module.build_id;
		}
	} else if (item->type == TRACE_ITEM_SITE && item->site.id < 64) {
		site_text(s->site[item->site.id], sizeof(s->site[0]), item->site.file,
			  item->site.line, item->site.function);
	} else if (item->type == TRACE_ITEM_EVENT) {
		say_event(s, &item->event);
	} else if (item->type == TRACE_ITEM_COROUTINE) {
		say_coroutine(s, &item->coroutine);
	} else if (item->type == TRACE_ITEM_TOTALS) {
		s->totals = item->totals;
		s->nr_totals++;
	} else if (item->type == TRACE_ITEM_GAP) {
		say("gap %" PRIu64 " %" PRIu64 "\n", item->gap.transitions, item->gap.others);
	} else if (item->type == TRACE_ITEM_FRAME) {
		say_frame(&item->frame);
	}
}

static struct seen read_trace(const char *path)
{
	struct err err = { 0 };
	struct trace_reader *r = trace_reader_open(path, &err);
	struct trace_item item;
	struct seen seen;
	int rc;

	memset(&seen, 0, sizeof(seen));
	text_size = 0;
	text[0] = '\0';
	CHECK_STR(err.text, "");
	CHECK(r != NULL);
	while ((rc = trace_next(r, &item, &err)) > 0)
		take_item(&seen, &item);
	CHECK_EQ(rc, 0);
	CHECK(trace_stats_are_clean(trace_reader_stats(r)));
	trace_reader_close(r);
	return seen;
}

/* ---- runs ----------------------------------------------------------------------- */

static struct {
	char shm[512], sock[512];
	uint32_t stations;
	int nr_ready, nr_connected, nr_moved, nr_facts, nr_attached, nr_taken, nr_written;
	int nr_drain_ends;
	pid_t connected;
	bool is_idle, facts_running, facts_attached, order_is_wrong, drain_is_over;
	struct snapshot_result taken;
	char written[512];
	void (*at_ready)(void); /* what a test does when the region exists */
} told;

static int tell_ready(const char *shm, const char *sock, uint32_t nr_stations, struct err *err)
{
	struct stat st;

	(void)err;
	told.nr_ready++;
	snprintf(told.shm, sizeof(told.shm), "%s", shm);
	snprintf(told.sock, sizeof(told.sock), "%s", sock);
	told.stations = nr_stations;
	CHECK_EQ(stat(shm, &st), 0);
	CHECK(S_ISREG(st.st_mode));
	CHECK_EQ(st.st_mode & 0777, 0600);
	CHECK_EQ(stat(sock, &st), 0);
	CHECK(S_ISSOCK(st.st_mode));
	CHECK_EQ(st.st_mode & 0777, 0600);
	if (told.at_ready)
		told.at_ready();
	return 0;
}

static void tell_connected(pid_t pid)
{
	told.nr_connected++;
	told.connected = pid;
}

static void tell_moved(void)
{
	told.nr_moved++;
}

static void tell_attached(pid_t pid, bool is_idle)
{
	told.nr_attached++;
	told.connected = pid;
	told.is_idle = is_idle;
}

static void add_facts(struct trace_writer *w, pid_t pid, bool is_running, bool has_attached)
{
	told.nr_facts++;
	CHECK(w != NULL);
	CHECK(pid >= 0);
	/* The region still exists. */
	told.order_is_wrong = !is_there(told.shm);
	told.facts_running = is_running;
	told.facts_attached = has_attached;
}

static void tell_draining(uint64_t done, uint64_t all)
{
	told.order_is_wrong |= done > all;
	told.nr_drain_ends += !all;
	told.drain_is_over = !all;
}

static void tell_taken(const struct snapshot_result *r)
{
	told.nr_taken++;
	told.taken = *r;
}

static void tell_written(const char *path)
{
	told.nr_written++;
	snprintf(told.written, sizeof(told.written), "%s", path);
}

static uint32_t count_fds(void)
{
	struct dirent *e;
	DIR *d = opendir("/proc/self/fd");
	uint32_t nr = 0;

	CHECK(d != NULL);
	while ((e = readdir(d)))
		nr += e->d_name[0] != '.';
	closedir(d);
	return nr;
}

/* "child @mode @path" as the command. */
static char **command(const char *mode, const char *path)
{
	static char words[4][512];
	static char *argv[5];

	snprintf(words[0], sizeof(words[0]), "%s", self);
	snprintf(words[1], sizeof(words[1]), "child");
	snprintf(words[2], sizeof(words[2]), "%s", mode);
	snprintf(words[3], sizeof(words[3]), "%s", path ? path : "-");
	argv[0] = words[0];
	argv[1] = words[1];
	argv[2] = words[2];
	argv[3] = words[3];
	return argv;
}

static struct collector_config config_of(const char *output)
{
	memset(&told, 0, sizeof(told));
	return (struct collector_config){
		.nr_stations = 2,
		.output = output,
		.tool = "corotracer test",
		.lanes = { .buffer = 1 << 20, .lives = 16 },
		.ready = tell_ready,
		.stdout_moved = tell_moved,
		.attached = tell_attached,
		.connected = tell_connected,
		.add_facts = add_facts,
		.draining = tell_draining,
		.snapshot_taken = tell_taken,
		.snapshot_written = tell_written,
	};
}

static struct collector_result r;

/* The collector leaves no descriptor, no file beside the trace, and no child. */
static void check_nothing_left(uint32_t fds)
{
	char dir[512], *slash;

	CHECK_EQ(count_fds(), fds);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
	if (!told.nr_ready)
		return;
	CHECK(!is_there(told.shm));
	CHECK(!is_there(told.sock));
	snprintf(dir, sizeof(dir), "%s", told.shm);
	slash = strrchr(dir, '/');
	*slash = '\0';
	if (strstr(dir, "/" REGION_DIR_PREFIX) && !strstr(dir, "corotracer-test"))
		CHECK(!is_there(dir));
}

static void collect(const struct collector_config *config)
{
	struct err err = { 0 };
	uint32_t fds = count_fds();
	int rc = collector_run(config, &r, &err);

	if (rc)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(rc, 0);
	CHECK_EQ(r.output.code, 0);
	CHECK_EQ(r.sidecar.code, 0);
	CHECK_EQ(told.nr_ready, 1);
	if (!config->pid)
		check_nothing_left(fds);
	CHECK_EQ(r.totals.written, r.collected + r.lost + r.forgotten);
	CHECK(r.duration_ns <= r.collecting_ns);
	CHECK(r.duration_ns > 0);
	CHECK(r.cpu_ns > 0);
	CHECK(!told.order_is_wrong);
	CHECK(told.nr_drain_ends >= 1);
	CHECK(told.drain_is_over);
}

/* Returns the code; the text is in @err. */
static int collect_fails(const struct collector_config *config, struct err *err)
{
	uint32_t fds = count_fds();
	int rc;

	memset(err, 0, sizeof(*err));
	rc = collector_run(config, &r, err);
	CHECK(rc < 0);
	CHECK_EQ(rc, err->code);
	check_nothing_left(fds);
	return rc;
}

/* ---- what several tests do ---------------------------------------------------------- */

static void check_story_result(const char *path)
{
	struct seen s = read_trace(path);

	CHECK_STR(text, story);
	CHECK_EQ(s.nr_runs, 1);
	CHECK_EQ(s.nr_processes, 1);
	CHECK_EQ(s.nr_totals, 1);
	CHECK_EQ(s.nr_coroutines, 1);
	CHECK_STR(s.tool, "corotracer test");
	CHECK(strstr(s.command, " child ") != NULL);
	CHECK_EQ(s.run.pid, r.pid);
	CHECK_EQ(s.run.stations, 2);
	CHECK_EQ(s.process.pid, r.pid);
	CHECK_EQ(s.process.uid, geteuid());
	CHECK(s.run.start_ts < s.process.connected_ts);
	CHECK(s.run.start_ts < s.first_ts);
	CHECK(s.process.connected_ts < s.totals.end_ts);
	CHECK(s.last_ts <= s.totals.end_ts);
	CHECK(s.totals.end_ts - s.run.start_ts == r.duration_ns);
	CHECK(s.totals.complete);
	CHECK_EQ(s.totals.written, 5);
	CHECK_EQ(s.totals.collected, 5);
	CHECK_EQ(s.totals.lost, 0);
	CHECK_EQ(s.totals.others_written, 8);
	CHECK_EQ(s.totals.others_collected, 8);
	CHECK_EQ(s.totals.coroutines, 2);
	CHECK_EQ(s.totals.detached, false);
}

static const char *let_go_path;
static unsigned let_go_ms = 100;

static void let_go_later(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		usleep(let_go_ms * 1000);
		touch(let_go_path);
		_exit(0);
	}
}

static pid_t helper;

/* What main() of a test does first; @argv[1] is not "child". */
static void bed_prepare(void)
{
	static char exe[512];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	CHECK(n > 0);
	self = exe;
	unsetenv("LD_PRELOAD"); /* a leak checker of the test is not for its programs */
	/* Processes that outlive their parent end before the test does. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	unsetenv(CTP_ENV_SHM);
	unsetenv(CTP_ENV_SOCK);
	unsetenv(CTP_ENV_STATIONS);
	snprintf(scratch, sizeof(scratch), "/tmp/corotracer-test-XXXXXX");
	CHECK(mkdtemp(scratch) != NULL);
}

#endif
