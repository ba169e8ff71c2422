/* SPDX-License-Identifier: MIT */
/* sidecar_writer.c - write what a trace does not say itself. */
#include "trace/sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *sidecar_path(const char *trace_path)
{
	char *path;

	return asprintf(&path, "%s" SIDECAR_SUFFIX, trace_path) < 0 ? NULL : path;
}

/* ---- life ---------------------------------------------------------------- */

/*
 * A name of our own in the same directory, so that the rename stays on one file
 * system.  Not mkstemp(): its files are 0600, and whoever may read the trace may
 * read this.
 */
static int create_temporary(struct sidecar_writer *w)
{
	int i, fd = -1;

	for (i = 0; i < 100; i++) {
		free(w->temporary);
		if (asprintf(&w->temporary, "%s.%ld-%d", w->path, (long)getpid(), i) < 0) {
			w->temporary = NULL;
			errno = ENOMEM;
			return -1;
		}
		fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd;
}

static void forget(struct sidecar_writer *w)
{
	free(w->path);
	free(w->temporary);
	memset(w, 0, sizeof(*w));
}

int sidecar_writer_open(struct sidecar_writer *w, const char *path, struct err *err)
{
	int fd;

	memset(w, 0, sizeof(*w));
	w->path = strdup(path);
	if (!w->path)
		return err_set(err, -ENOMEM, "no memory to write '%s'", path);
	fd = create_temporary(w);
	if (fd < 0) {
		err_errno(err, "cannot create '%s'", w->temporary ? w->temporary : path);
		forget(w);
		return err->code;
	}
	w->file = fdopen(fd, "w");
	if (!w->file) {
		err_set(err, -ENOMEM, "no memory to write '%s'", path);
		close(fd);
		unlink(w->temporary);
		forget(w);
		return err->code;
	}
	jw_init_file(&w->json, w->file);
	return 0;
}

int sidecar_writer_open_in_place(struct sidecar_writer *w, const char *path, struct err *err)
{
	memset(w, 0, sizeof(*w));
	w->path = strdup(path);
	w->file = w->path ? fopen(path, "r+e") : NULL;
	if (!w->file) {
		err_errno(err, "cannot write '%s'", path);
		forget(w);
		return err->code;
	}
	jw_init_file(&w->json, w->file);
	return 0;
}

/* Written over what was there: what is left behind our end goes. */
static int cut_behind(FILE *file)
{
	long at = ftell(file);

	return at < 0 || ftruncate(fileno(file), at) < 0 ? -errno : 0;
}

int sidecar_writer_commit(struct sidecar_writer *w, struct err *err)
{
	int rc = jw_release(&w->json);

	if (!rc && !w->temporary)
		rc = cut_behind(w->file);
	if (fclose(w->file) != 0 && !rc)
		rc = -errno;
	w->file = NULL;
	if (!rc && w->temporary && rename(w->temporary, w->path) < 0)
		rc = -errno;
	if (rc) {
		if (w->temporary)
			unlink(w->temporary);
		err_set(err, rc, "cannot write '%s': %s", w->path, strerror(-rc));
	}
	forget(w);
	return rc;
}

void sidecar_writer_abort(struct sidecar_writer *w)
{
	if (!w->file)
		return;
	fclose(w->file);
	if (w->temporary)
		unlink(w->temporary);
	forget(w);
}

/* ---- records ------------------------------------------------------------- */

static void begin(struct sidecar_writer *w, const char *type)
{
	jw_object_begin(&w->json);
	jw_field_string(&w->json, "type", type);
}

static void end(struct sidecar_writer *w)
{
	jw_object_end(&w->json);
	jw_newline(&w->json);
}

void sidecar_json_run(struct json_writer *j, const struct sidecar_run *run)
{
	size_t i;

	jw_field_u64(j, "format", run->format);
	jw_field_string(j, "tool", run->tool);
	jw_key(j, "command");
	jw_array_begin(j);
	for (i = 0; i < run->nr_command; i++)
		jw_string(j, run->command[i]);
	jw_array_end(j);
	jw_field_u64(j, "pid", run->pid);
	jw_field_u64(j, "start_ts", run->start_ts);
	jw_field_u64(j, "start_realtime", run->start_realtime);
	if (run->hostname)
		jw_field_string(j, "hostname", run->hostname);
	jw_field_string(j, "arch", run->arch);
	jw_field_u64(j, "stations", run->stations);
}

void sidecar_put_run(struct sidecar_writer *w, const struct sidecar_run *run)
{
	struct sidecar_run ours = *run;

	ours.format = SIDECAR_FORMAT;
	begin(w, "run");
	sidecar_json_run(&w->json, &ours);
	end(w);
}

void sidecar_json_process(struct json_writer *j, const struct sidecar_process *process)
{
	jw_field_u64(j, "pid", process->pid);
	jw_field_u64(j, "uid", process->uid);
	jw_field_u64(j, "connected_ts", process->connected_ts);
}

void sidecar_put_process(struct sidecar_writer *w, const struct sidecar_process *process)
{
	begin(w, "process");
	sidecar_json_process(&w->json, process);
	end(w);
}

static void put_u64_or_null(struct json_writer *j, const char *key, uint64_t value, bool there)
{
	if (there)
		jw_field_u64(j, key, value);
	else
		jw_field_null(j, key);
}

void sidecar_put_coroutine(struct sidecar_writer *w, const struct sidecar_coroutine *coroutine)
{
	const struct sidecar_coroutine *c = coroutine;
	struct json_writer *j = &w->json;

	begin(w, "coroutine");
	jw_field_u64(j, "station", c->station);
	jw_field_u64(j, "probe_id", c->probe_id);
	jw_field_u64(j, "pid", c->pid);
	jw_field_string(j, "name", c->name);
	if (c->name_truncated)
		jw_field_bool(j, "name_truncated", true);
	jw_field_u64(j, "birth_ts", c->birth_ts);
	put_u64_or_null(j, "death_ts", c->death_ts, c->death_ts != 0);
	jw_field_bool(j, "dead", c->dead);
	jw_field_string(j, "writer", c->writer ? c->writer : "unknown");
	jw_field_u64(j, "written", c->written);
	jw_field_u64(j, "collected", c->collected);
	jw_field_u64(j, "lost", c->lost);
	jw_field_u64(j, "garbage", c->garbage);
	end(w);
}

void sidecar_json_totals(struct json_writer *j, const struct sidecar_totals *t)
{
	jw_field_bool(j, "complete", t->complete);
	jw_field_u64(j, "written", t->written);
	jw_field_u64(j, "collected", t->collected);
	jw_field_u64(j, "lost", t->lost);
	jw_field_u64(j, "lost_overwritten", t->lost_overwritten);
	jw_field_u64(j, "lost_output", t->lost_output);
	jw_field_u64(j, "garbage", t->garbage);
	jw_field_u64(j, "unfinished", t->unfinished);
	jw_field_u64(j, "coroutines", t->coroutines);
	jw_field_u64(j, "without_station", t->without_station);
	put_u64_or_null(j, "exit_status", (uint64_t)(unsigned)t->exit_status, t->exit_status >= 0);
	put_u64_or_null(j, "signal", (uint64_t)(unsigned)t->signal, t->signal > 0);
	jw_field_u64(j, "end_ts", t->end_ts);
}

void sidecar_put_totals(struct sidecar_writer *w, const struct sidecar_totals *totals)
{
	begin(w, "totals");
	sidecar_json_totals(&w->json, totals);
	end(w);
}
