/* SPDX-License-Identifier: MIT */
/* snapshot.c - write the flight recorder's events, while the program runs or at its end. */
#include "collect/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/io.h"
#include "base/json_writer.h"
#include "collect/lane_output.h"
#include "collect/coroutine_table.h"

/* Maximum number of connected processes in a status answer. */
#define STATUS_PIDS 4096u

/* ---- one snapshot ------------------------------------------------------------- */

/* Copies of all coroutine states at one moment: the program continues meanwhile. */
struct census {
	struct life *lives;
	size_t nr, room;
	bool short_of_memory;
};

static void count_in(void *ctx, const struct life *life)
{
	struct census *c = ctx;
	size_t room = c->room ? c->room * 2 : 256;
	struct life *lives;

	if (c->nr == c->room) {
		lives = reallocarray(c->lives, room, sizeof(*lives));
		if (!lives) {
			c->short_of_memory = true;
			return;
		}
		c->lives = lives;
		c->room = room;
	}
	c->lives[c->nr++] = *life;
}

static void snapshots_replay_lane(void *ctx, const struct trace_lane *lane)
{
	record_lane(ctx, lane);
}

static void replay_event(void *ctx, uint32_t lane, const struct trace_event *ev)
{
	record_event(ctx, lane, ev);
}

static void snapshots_replay_gap(void *ctx, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
				 uint64_t transitions, uint64_t others)
{
	record_gap(ctx, lane, from_ts, to_ts, transitions, others);
}

static void replay_horizon(void *ctx, uint64_t ts)
{
	record_scanned(ctx, ts);
}

static void snapshots_replay_coroutine(void *ctx, const struct sidecar_coroutine *coroutine)
{
	record_coroutine(ctx, coroutine);
}

static void snapshots_replay_fact(void *ctx, const struct trace_item *fact)
{
	struct record *to = ctx;

	to->writer->ops->fact(to->writer, fact);
}

static const struct flight_sink into_record = { snapshots_replay_lane,      replay_event,
						snapshots_replay_gap,       replay_horizon,
						snapshots_replay_coroutine, snapshots_replay_fact };

static void snapshots_put_sites(struct record *to, const struct flight *f)
{
	uint32_t i;

	for (i = 0; i < f->nr_sites; i++)
		record_site(to, &f->sites[i]);
}

static void put_lives(struct record *to, const struct census *census,
		      const struct snapshot_source *s)
{
	struct sidecar_coroutine coroutine;
	size_t i;

	for (i = 0; i < census->nr; i++) {
		life_describe(&census->lives[i], s->clock, s->sites, &coroutine);
		record_coroutine(to, &coroutine);
	}
}

/* Coroutines in stations: returns those that have not ended; *@ever counts all. */
static uint64_t count_stations(const struct harvest *h, uint64_t *ever)
{
	struct harvest_coroutine co;
	uint64_t there = 0;
	uint32_t i;

	*ever = 0;
	for (i = 0; i < h->nr_claimed; i++) {
		if (!harvest_describe(h, i, &co))
			continue;
		(*ever)++;
		there += !co.dead;
	}
	return there;
}

/* The trace could not be opened or begun. */
static void write_nothing(const struct flight *f, const struct err *why, struct collector_result *r)
{
	r->output = *why;
	r->collected = r->others_collected = 0;
	r->lost_output = f->totals.transitions;
	r->lost = r->totals.lost + r->lost_output;
	r->others_lost += f->totals.others;
}

static int write_events(const struct snapshot_source *s, struct record *to,
			const struct census *census, struct err *err)
{
	const struct flight *f = &s->record->flight;

	record_processes(to, s->endpoint);
	snapshots_put_sites(to, f);
	if (flight_replay(f, &into_record, to, err) < 0)
		return err->code;
	put_lives(to, census, s);
	return 0;
}

/* @r comes from the collector; the file results are added here. */
static void write_trace(const struct snapshot_source *s, const char *path,
			const struct census *census, struct collector_result *r)
{
	const struct flight *f = &s->record->flight;
	struct collector_config config = *s->config;
	struct record record;
	struct err err = { 0 };

	memset(&record, 0, sizeof(record));
	config.flight_size = 0;
	if (path) {
		config.output = path;
		config.format = TRACE_FORMAT_AUTO;
	}
	r->forgotten = f->totals.forgotten;
	r->others_forgotten = f->totals.forgotten_others;
	r->facts_forgotten = f->totals.forgotten_facts;
	r->facts_refused = f->totals.refused_facts;
	if (census->short_of_memory)
		err_set(&err, -ENOMEM, "no memory for the existing coroutines");
	if (!err.code && record_open(&record, &config, s->record->start_ns, &err) == 0) {
		record.start_realtime_ns = s->record->start_realtime_ns;
		record_start(&record, (uint64_t)r->pid);
		write_events(s, &record, census, &err);
	}
	if (err.code) {
		record_undo(&record);
		write_nothing(f, &err, r);
	} else {
		record_finish(&record, s->harvest, s->endpoint, r);
	}
	record_close(&record);
}

/* @last: the run is over.  Otherwise the exit status of the program is not known yet. */
static void take_snapshot(const struct snapshot_source *s, const char *path, bool last,
			  struct collector_result *r, struct snapshot_result *out)
{
	struct census census = { 0 };
	uint64_t ever, there;

	lives_each(s->lanes, 0, count_in, &census);
	tickclock_mark(s->clock); /* so that no coroutine has a later time than the last mark */
	there = census.nr + count_stations(s->harvest, &ever);
	if (!last) {
		memset(r, 0, sizeof(*r));
		s->tell(s->collector, r);
		r->launched = false;
		r->totals.coroutines += ever;
	}
	write_trace(s, path, &census, r);
	free(census.lives);
	memset(out, 0, sizeof(*out));
	out->err = r->output.code ? r->output : r->sidecar;
	snprintf(out->path, sizeof(out->path), "%s", path ? path : s->config->output);
	out->written = r->totals.written;
	out->collected = r->collected;
	out->lost = r->lost;
	out->forgotten = r->forgotten;
	out->others = r->others_collected;
	out->others_forgotten = r->others_forgotten;
	out->facts_forgotten = r->facts_forgotten;
	out->facts_refused = r->facts_refused;
	out->coroutines = there;
}

/* ---- answers -------------------------------------------------------------------- */

static void json_error(struct json_writer *j, const struct err *err)
{
	jw_field_string(j, "error", err->text);
	if (err->hint[0])
		jw_field_string(j, "hint", err->hint);
}

static void snapshots_answer(struct snapshots *s, uint64_t ticket, struct json_writer *j)
{
	const char *text = jw_text(j, NULL);

	control_answer(&s->control, ticket, text ? text : "{\"error\":\"no memory\"}");
	jw_release(j);
}

static void answer_error(struct snapshots *s, uint64_t ticket, const struct err *err)
{
	struct json_writer j;

	jw_init_buffer(&j);
	jw_object_begin(&j);
	json_error(&j, err);
	jw_object_end(&j);
	snapshots_answer(s, ticket, &j);
}

/* Make the path absolute: the client's working directory may differ. */
static void json_path(struct json_writer *j, const char *key, const char *path)
{
	char *whole = path[0] == '/' ? NULL : realpath(path, NULL);

	jw_field_string(j, key, whole ? whole : path);
	free(whole);
}

static void answer_snapshot(struct snapshots *s, uint64_t ticket, const struct snapshot_result *r)
{
	struct json_writer j;

	jw_init_buffer(&j);
	jw_object_begin(&j);
	json_path(&j, "trace", r->path);
	jw_field_u64(&j, "written", r->written);
	jw_field_u64(&j, "collected", r->collected);
	jw_field_u64(&j, "lost", r->lost);
	jw_field_u64(&j, "forgotten", r->forgotten);
	jw_field_u64(&j, "others", r->others);
	jw_field_u64(&j, "others_forgotten", r->others_forgotten);
	jw_field_u64(&j, "facts_forgotten", r->facts_forgotten);
	jw_field_u64(&j, "facts_refused", r->facts_refused);
	jw_field_u64(&j, "coroutines", r->coroutines);
	jw_field_u64(&j, "pid", (uint64_t)getpid());
	if (r->err.code)
		json_error(&j, &r->err);
	jw_object_end(&j);
	snapshots_answer(s, ticket, &j);
}

static void json_command(struct json_writer *j, char *const *argv)
{
	jw_key(j, "command");
	jw_array_begin(j);
	for (; argv && *argv; argv++)
		jw_string(j, *argv);
	jw_array_end(j);
}

/* The processes that are connected, and the program. */
static void json_pids(struct json_writer *j, const struct endpoint *e, int program)
{
	uint32_t i, nr = 0;

	jw_key(j, "pids");
	jw_array_begin(j);
	if (program)
		jw_u64(j, (uint64_t)program);
	for (i = e->nr_peers; i-- > 0 && nr < STATUS_PIDS;) {
		if (e->peers[i].fd < 0 || (int)e->peers[i].pid == program)
			continue;
		jw_u64(j, e->peers[i].pid);
		nr++;
	}
	jw_array_end(j);
}

static void answer_status(struct snapshots *s, uint64_t ticket)
{
	const struct snapshot_source *source = &s->source;
	const struct flight *f = &source->record->flight;
	struct collector_result *r = calloc(1, sizeof(*r));
	struct err err = { 0 };
	struct json_writer j;
	uint64_t ever;

	if (!r) {
		err_set(&err, -ENOMEM, "no memory for the status");
		answer_error(s, ticket, &err);
		return;
	}
	source->tell(source->collector, r);
	count_stations(source->harvest, &ever);
	jw_init_buffer(&j);
	jw_object_begin(&j);
	jw_field_u64(&j, "pid", (uint64_t)getpid());
	json_command(&j, source->config->argv);
	jw_field_u64(&j, "since_ns", source->record->start_realtime_ns);
	json_path(&j, "output", source->config->output);
	jw_field_u64(&j, "coroutines", r->totals.coroutines + ever);
	jw_field_u64(&j, "written", r->totals.written);
	jw_field_u64(&j, "lost", r->totals.lost);
	jw_field_u64(&j, "others_lost", r->others_lost);
	jw_field_u64(&j, "recorder_size", source->config->flight_size);
	jw_field_u64(&j, "recorder_used", source->config->flight_size ? flight_used(f) : 0);
	jw_field_u64(&j, "forgotten", f->totals.forgotten);
	jw_field_bool(&j, "cpu", source->cpu->is_on);
	json_pids(&j, source->endpoint, r->pid);
	jw_object_end(&j);
	snapshots_answer(s, ticket, &j);
	free(r);
}

/* Processor time of the coroutines. */
static void answer_cpu(struct snapshots *s, uint64_t ticket)
{
	struct json_writer j;

	jw_init_buffer(&j);
	jw_object_begin(&j);
	coro_cpu_put(s->source.cpu, &j);
	jw_object_end(&j);
	snapshots_answer(s, ticket, &j);
}

/* ---- requests ------------------------------------------------------------------- */

static void snapshots_enqueue(struct snapshots *s, uint64_t ticket, const char *path)
{
	struct snapshot_request *q;
	struct err err = { 0 };

	/*
	 * There are fewer clients than queue entries, and at most one waiting entry is from a
	 * signal.
	 */
	if (s->nr_queue == sizeof(s->queue) / sizeof(s->queue[0])) {
		err_set(&err, -EBUSY, "too many snapshot requests are waiting");
		answer_error(s, ticket, &err);
		return;
	}
	q = &s->queue[s->nr_queue];
	q->ticket = ticket;
	q->path = path ? strdup(path) : NULL;
	if (path && !q->path) {
		err_set(&err, -ENOMEM, "no memory for the snapshot request");
		answer_error(s, ticket, &err);
		return;
	}
	s->nr_queue++;
}

static void snapshots_dequeue(struct snapshots *s)
{
	free(s->queue[0].path);
	memmove(&s->queue[0], &s->queue[1], --s->nr_queue * sizeof(s->queue[0]));
}

static bool is_absolute_path(const char *path)
{
	return path[0] == '/' && strlen(path) < PATH_MAX;
}

static void snapshots_handle(void *ctx, uint64_t ticket, const char *request)
{
	struct snapshots *s = ctx;
	struct err err = { 0 };

	if (!strcmp(request, "status")) {
		answer_status(s, ticket);
		return;
	}
	if (!strcmp(request, "cpu")) {
		answer_cpu(s, ticket);
		return;
	}
	if (strncmp(request, "snapshot", 8) != 0 ||
	    (request[8] && (request[8] != ' ' || !is_absolute_path(request + 9)))) {
		err_set(&err, -EINVAL, "the collector does not understand the request");
		err_hint(&err, "use the same version of corotracer for both");
	} else if (!s->source.config->flight_size) {
		err_set(&err, -EOPNOTSUPP,
			"the collector (pid %d) has no flight recorder: it writes its trace as it "
			"goes",
			(int)getpid());
		err_hint(&err, "start it with --flight-recorder SIZE; the trace so far is '%s'",
			 s->source.config->output);
	} else {
		snapshots_enqueue(s, ticket, request[8] ? request + 9 : NULL);
		return;
	}
	answer_error(s, ticket, &err);
}

void snapshots_want(struct snapshots *s)
{
	uint32_t i;

	/* A queued request that has not started also covers this signal. */
	for (i = s->child ? 1 : 0; i < s->nr_queue; i++) {
		if (!s->queue[i].ticket)
			return;
	}
	snapshots_enqueue(s, 0, NULL);
}

/* ---- the child ------------------------------------------------------------------- */

static void tell_requester(struct snapshots *s, const struct snapshot_request *q,
			   const struct snapshot_result *r)
{
	if (q->ticket)
		answer_snapshot(s, q->ticket, r);
	else if (s->source.config->snapshot_taken)
		s->source.config->snapshot_taken(r);
}

static void snapshots_hand_over(const struct snapshots *s)
{
	if (!s->result.err.code && s->source.config->snapshot_written)
		s->source.config->snapshot_written(s->result.path);
}

static void child_main(const struct snapshots *s, int out)
{
	struct collector_result *r = calloc(1, sizeof(*r));
	struct snapshot_result *result = calloc(1, sizeof(*result));
	size_t at = 0;
	ssize_t n;

	if (!r || !result)
		_exit(1);
	take_snapshot(&s->source, s->queue[0].path, false, r, result);
	while (at < sizeof(*result) &&
	       (n = io_write(out, (const char *)result + at, sizeof(*result) - at)) > 0)
		at += (size_t)n;
	_exit(0);
}

/* Without a child the collector cannot collect meanwhile; that is better than no snapshot. */
static void take_it_ourselves(struct snapshots *s)
{
	struct collector_result *r = calloc(1, sizeof(*r));

	if (r) {
		take_snapshot(&s->source, s->queue[0].path, false, r, &s->result);
	} else {
		memset(&s->result, 0, sizeof(s->result));
		err_set(&s->result.err, -ENOMEM, "no memory for a snapshot");
	}
	free(r);
	snapshots_hand_over(s);
	tell_requester(s, &s->queue[0], &s->result);
	snapshots_dequeue(s);
}

static void start_next(struct snapshots *s)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0) {
		take_it_ourselves(s);
		return;
	}
	s->child = fork();
	if (s->child == 0)
		child_main(s, fds[1]);
	close(fds[1]);
	if (s->child < 0) {
		s->child = 0;
		close(fds[0]);
		take_it_ourselves(s);
		return;
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	s->result_fd = fds[0];
	s->got = 0;
}

/* The child has written its whole result, or was killed. */
static void child_done(struct snapshots *s)
{
	int status = 0;

	while (waitpid(s->child, &status, 0) < 0 && errno == EINTR)
		;
	close(s->result_fd);
	s->result_fd = -1;
	s->child = 0;
	if (s->got < sizeof(s->result)) {
		memset(&s->result, 0, sizeof(s->result));
		snprintf(s->result.path, sizeof(s->result.path), "%s",
			 s->queue[0].path ? s->queue[0].path : s->source.config->output);
		if (WIFSIGNALED(status))
			err_set(&s->result.err, -EIO, "the snapshot was ended by signal %d (%s)",
				WTERMSIG(status), strsignal(WTERMSIG(status)));
		else
			err_set(&s->result.err, -ENOMEM, "no memory for a snapshot");
	}
	snapshots_hand_over(s);
	tell_requester(s, &s->queue[0], &s->result);
	snapshots_dequeue(s);
}

/* False: the child is still writing. */
static bool hear_child(struct snapshots *s)
{
	ssize_t n;

	for (;;) {
		if (s->got == sizeof(s->result))
			return true;
		n = read(s->result_fd, (char *)&s->result + s->got, sizeof(s->result) - s->got);
		if (n == 0)
			return true;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno != EAGAIN;
		s->got += (size_t)n;
	}
}

/* ---- open, serve, close ------------------------------------------------------------ */

void snapshots_open(struct snapshots *s, const struct snapshot_source *source, const char *region)
{
	memset(s, 0, sizeof(*s));
	s->source = *source;
	s->result_fd = -1;
	/* Without the control socket the collector still works; signals can request snapshots. */
	control_open(&s->control, region, snapshots_handle, s, &s->no_control);
}

void snapshots_close(struct snapshots *s)
{
	if (!s->source.config)
		return;
	control_close(&s->control);
	while (s->nr_queue)
		snapshots_dequeue(s);
	s->source.config = NULL;
}

void snapshots_fds(const struct snapshots *s, int fds[SNAPSHOTS_FDS])
{
	fds[0] = s->control.epoll_fd;
	fds[1] = s->result_fd;
}

void snapshots_serve(struct snapshots *s)
{
	control_serve(&s->control);
	if (s->child && hear_child(s))
		child_done(s);
	if (!s->child && s->nr_queue)
		start_next(s);
}

void snapshots_finish(struct snapshots *s, struct collector_result *r)
{
	control_serve(&s->control);
	if (s->child) {
		fcntl(s->result_fd, F_SETFL, 0);
		hear_child(s);
		child_done(s);
	}
	/* Snapshots to other paths first; the output is written last. */
	while (s->nr_queue && s->queue[0].path)
		take_it_ourselves(s);
	if (s->source.config->flight_size) {
		take_snapshot(&s->source, NULL, true, r, &s->result);
		snapshots_hand_over(s);
	}
	while (s->nr_queue) {
		if (s->queue[0].path) {
			take_it_ourselves(s); /* its result is not the run's, which is in @r */
			continue;
		}
		tell_requester(s, &s->queue[0], &s->result);
		snapshots_dequeue(s);
	}
}

/* ---- the output ---------------------------------------------------------------------- */

static int refuse_output(const char *path, struct err *err)
{
	err_set(err, -EINVAL,
		"a flight recorder replaces its trace each time, and '%s' cannot be replaced",
		path);
	err_hint(err, "name a file or directory with -o");
	return err->code;
}

/* Check the kind of file, and that its directory exists and is writable. */
int snapshot_check_output(const struct collector_config *config, struct err *err)
{
	const char *path = config->output, *slash;
	struct stat st;
	char *dir;
	int rc = 0;

	if (!strcmp(path, "-") ||
	    (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return refuse_output(path, err);
	dir = strdup(path);
	if (!dir)
		return err_set(err, -ENOMEM, "no memory for a path");
	while (strlen(dir) > 1 && dir[strlen(dir) - 1] == '/')
		dir[strlen(dir) - 1] = '\0';
	slash = strrchr(dir, '/');
	if (slash)
		dir[slash == dir ? 1 : slash - dir] = '\0';
	if (access(slash ? dir : ".", W_OK | X_OK) < 0) {
		rc = err_errno(err, "the trace cannot be written to '%s'", path);
		err_hint(err, "choose another file with -o");
	}
	free(dir);
	return rc;
}
