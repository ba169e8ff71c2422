/* SPDX-License-Identifier: MIT */
/* record.c - what of a run goes into files: the events, and the sidecar beside them. */
#include "ctp/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "trace/sidecar.h"

static char *old_name(const char *path)
{
	char *old = NULL;

	return asprintf(&old, "%s.old", path) < 0 ? NULL : old;
}

/* An earlier file of that name is kept; that there is none is no failure. */
static int keep_old(const char *path, bool *kept, struct err *err)
{
	char *old = old_name(path);
	int rc = 0;

	if (!old)
		return err_set(err, -ENOMEM, "no memory for a path");
	*kept = rename(path, old) == 0;
	if (!*kept && errno != ENOENT)
		rc = err_errno(err, "cannot keep '%s' as '%s'", path, old);
	free(old);
	return rc;
}

static void bring_back_old(const char *path)
{
	char *old = old_name(path);

	if (old && rename(old, path) < 0)
		unlink(path);
	free(old);
}

/* A link stays what it is: /dev/stdout is one, and not ours to rename. */
static bool is_plain_file(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int in_use(const char *path, struct err *err)
{
	err_set(err, -EBUSY, "another collector is writing '%s'", path);
	err_hint(err, "choose another file with -o");
	return err->code;
}

/* "-", or what it is called elsewhere: /dev/stdout, /dev/fd/1, /proc/self/fd/1. */
static bool is_stdout(const char *path)
{
	struct stat named, out;

	return !strcmp(path, "-") || (!is_plain_file(path) && stat(path, &named) == 0 &&
				      fstat(STDOUT_FILENO, &out) == 0 &&
				      named.st_dev == out.st_dev && named.st_ino == out.st_ino);
}

static int open_output(const char *path, bool *is_file, struct err *err)
{
	struct stat st;
	int fd;

	*is_file = false;
	if (is_stdout(path))
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	if (fd < 0) {
		err_errno(err, "cannot write the trace to '%s'", path);
		err_hint(err, "choose another file with -o");
		return err->code;
	}
	if (is_stdout(path) || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fd;
	/* Held as long as we write it; emptied only once it is ours. */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		close(fd);
		return in_use(path, err);
	}
	*is_file = true;
	if (st.st_size && ftruncate(fd, 0) < 0) {
		close(fd);
		return err_errno(err, "cannot write the trace to '%s'", path);
	}
	return fd;
}

static bool is_filled_file(const char *path)
{
	struct stat st;

	return is_plain_file(path) && stat(path, &st) == 0 && st.st_size > 0;
}

/* Somebody who writes it holds a lock on it: see open_output(). */
static int refuse_in_use(const char *path, struct err *err)
{
	int rc = 0, fd = is_plain_file(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		rc = in_use(path, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Trace and sidecar belong together; a sidecar of nothing is not kept. */
static int keep_earlier_run(struct record *r, struct err *err)
{
	const char *path = r->config->output;
	char *sidecar;
	int rc;

	if (refuse_in_use(path, err) < 0)
		return err->code;
	if (is_filled_file(path) && keep_old(path, &r->kept_trace, err) < 0)
		return err->code;
	if (is_stdout(path) || is_plain_file(path)) /* empty, or none of ours */
		return 0;
	sidecar = sidecar_path(path);
	rc = sidecar ? keep_old(sidecar, &r->kept_sidecar, err)
		     : err_set(err, -ENOMEM, "no memory for a path");
	free(sidecar);
	return rc;
}

/* ---- the sidecar ------------------------------------------------------------ */

static size_t count_words(char *const *argv)
{
	size_t nr = 0;

	while (argv && argv[nr])
		nr++;
	return nr;
}

static void put_run(const struct record *r, struct sidecar_writer *w, uint64_t pid)
{
	struct sidecar_run run = {
		.tool = r->config->tool,
		.command = (const char *const *)r->config->argv,
		.nr_command = count_words(r->config->argv),
		.pid = pid,
		.start_ts = r->start_ns,
		.start_realtime = r->start_realtime_ns,
		.stations = r->config->nr_stations,
	};
	struct utsname uts;

	if (uname(&uts) == 0) {
		run.hostname = uts.nodename;
		run.arch = uts.machine;
	}
	sidecar_put_run(w, &run);
}

static void put_processes(struct sidecar_writer *w, const struct endpoint *e)
{
	uint32_t i;

	for (i = 0; i < e->nr_peers; i++) {
		struct sidecar_process process = {
			.pid = e->peers[i].pid,
			.uid = e->peers[i].uid,
			.connected_ts = e->peers[i].connected_ns,
		};

		sidecar_put_process(w, &process);
	}
}

static void put_coroutines(struct sidecar_writer *w, const struct harvest *h)
{
	struct harvest_coroutine co;
	uint32_t i;

	for (i = 0; i < h->nr_claimed; i++) {
		struct sidecar_coroutine out;

		if (!harvest_describe(h, i, &co))
			continue;
		out = (struct sidecar_coroutine){
			.station = co.station,
			.probe_id = co.probe_id,
			.pid = co.pid,
			.name = co.name[0] ? co.name : NULL,
			.name_truncated = co.name_truncated,
			.birth_ts = co.birth_ts,
			.death_ts = co.death_ts,
			.dead = co.dead,
			.writer = co.writer,
			.written = co.written,
			.collected = co.collected,
			.lost = co.lost,
			.garbage = co.garbage,
		};
		sidecar_put_coroutine(w, &out);
	}
}

static void put_totals(struct sidecar_writer *w, const struct collector_result *r)
{
	struct sidecar_totals totals = {
		.complete = true,
		.written = r->totals.written,
		.collected = r->collected,
		.lost = r->lost,
		.lost_overwritten = r->lost - r->lost_output,
		.lost_output = r->lost_output,
		.garbage = r->totals.garbage,
		.unfinished = r->totals.unfinished,
		.coroutines = r->totals.coroutines,
		.without_station = r->totals.without_station,
		.exit_status = r->launched && !r->signal ? r->exit_status : -1,
		.signal = r->signal,
		.end_ts = clock_now_ns(),
	};

	sidecar_put_totals(w, &totals);
}

/* At the start only the run itself: that much is there if we are killed. */
static int begin_sidecar(struct record *r, struct err *err)
{
	struct sidecar_writer w;

	r->sidecar = sidecar_path(r->config->output);
	if (!r->sidecar)
		return err_set(err, -ENOMEM, "no memory for a path");
	if (sidecar_writer_open(&w, r->sidecar, err) < 0)
		return err->code;
	put_run(r, &w, 0);
	return sidecar_writer_commit(&w, err);
}

static int write_sidecar(struct record *r, const struct harvest *h, const struct endpoint *e,
			 const struct collector_result *result, struct err *err)
{
	struct sidecar_writer w;

	if (sidecar_writer_open(&w, r->sidecar, err) < 0)
		return err->code;
	put_run(r, &w, (uint64_t)result->pid);
	put_processes(&w, e);
	put_coroutines(&w, h);
	put_totals(&w, result);
	return sidecar_writer_commit(&w, err);
}

/* The disk is full: the totals, at least, fit where the start of the sidecar is. */
static void write_totals_only(struct record *r, const struct collector_result *result)
{
	struct err ignored = { 0 };
	struct sidecar_writer w;

	if (sidecar_writer_open_in_place(&w, r->sidecar, &ignored) < 0)
		return;
	put_run(r, &w, (uint64_t)result->pid);
	put_totals(&w, result);
	sidecar_writer_commit(&w, &ignored);
}

static void finish_sidecar(struct record *r, const struct harvest *h, const struct endpoint *e,
			   struct collector_result *result)
{
	if (r->sidecar && write_sidecar(r, h, e, result, &result->sidecar) < 0)
		write_totals_only(r, result);
}

/*
 * Somebody wants us to end, and we cannot take the signal while we wait for a reader.
 * Blocked signals are pending until the loop takes them.
 */
static bool stop_is_pending(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		sigismember(&pending, SIGHUP) == 1);
}

/* ---- the record --------------------------------------------------------------- */

int record_open(struct record *r, const struct collector_config *config, uint64_t start_ns,
		struct err *err)
{
	bool is_file;
	int fd;

	r->config = config;
	r->start_ns = start_ns;
	r->start_realtime_ns = clock_ns(CLOCK_REALTIME);
	if (keep_earlier_run(r, err) < 0)
		return err->code;
	fd = open_output(config->output, &is_file, err);
	if (fd < 0)
		return err->code;
	if (jsonl_writer_open(&r->events, fd, config->output, err) < 0)
		return err->code;
	r->is_open = true;
	if (!is_file)
		r->events.stop = stop_is_pending;
	return is_file ? begin_sidecar(r, err) : 0;
}

void record_close(struct record *r)
{
	struct err ignored = { 0 };

	if (r->is_open)
		jsonl_close(&r->events, &ignored);
	r->is_open = false;
	free(r->sidecar);
	r->sidecar = NULL;
}

void record_undo(struct record *r)
{
	/* Only a plain file has a sidecar: anything else we have not made. */
	if (r->sidecar && r->kept_trace)
		bring_back_old(r->config->output);
	else if (r->sidecar)
		unlink(r->config->output);
	if (r->sidecar && r->kept_sidecar)
		bring_back_old(r->sidecar);
	else if (r->sidecar)
		unlink(r->sidecar);
}

void record_event(void *ctx, const struct trace_event *event)
{
	struct record *r = ctx;

	jsonl_put(&r->events, event);
}

void record_flush(struct record *r)
{
	jsonl_flush(&r->events);
}

void record_finish(struct record *r, const struct harvest *h, const struct endpoint *e,
		   struct collector_result *result)
{
	jsonl_close(&r->events, &result->output);
	r->is_open = false;
	result->collected = r->events.written;
	result->lost_output = r->events.unwritten;
	result->lost = result->totals.lost + result->lost_output;
	finish_sidecar(r, h, e, result);
}
