/* SPDX-License-Identifier: MIT */
/* trace_files.c - the output files of a run: one container per traced process. */
#include "memory/collect/trace_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "memory/format/mem_reader.h"

void outputs_init(struct outputs *o)
{
	memset(o, 0, sizeof(*o));
	o->last = &o->first;
	o->level = 1;
}

/* ---- names --------------------------------------------------------------- */

static char *with_pid(const char *name, const char *at, uint32_t pid)
{
	char *out;

	return asprintf(&out, "%.*s%u%s", (int)(at - name), name, pid, at + 2) < 0 ? NULL : out;
}

static bool outputs_is_taken(const struct outputs *o, const char *path)
{
	const struct output *out;

	for (out = o->first; out; out = out->next) {
		if (!strcmp(out->path, path))
			return true;
	}
	return false;
}

/* A name for the next process that this run has not used. */
static char *next_name(const struct outputs *o, uint32_t pid)
{
	const char *pattern = strstr(o->name, "%p");
	char *base = pattern ? with_pid(o->name, pattern, pid) : strdup(o->name), *path;
	unsigned n;

	if (base && !pattern && outputs_is_taken(o, base)) {
		free(base);
		if (asprintf(&base, "%s.%u", o->name, pid) < 0)
			return NULL;
	}
	if (!base || !outputs_is_taken(o, base))
		return base;
	/* One process replaced itself by another program. */
	for (n = 2;; n++) {
		if (asprintf(&path, "%s.%u", base, n) < 0)
			path = NULL;
		if (!path || !outputs_is_taken(o, path))
			break;
		free(path);
	}
	free(base);
	return path;
}

/* True if the file is a memory trace, which may be renamed. */
static bool is_trace(const char *path)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);
	bool is = false;
	int i;

	if (!r)
		return false;
	is = mem_reader_format(r) == MEM_FORMAT_CONTAINER;
	for (i = 0; !is && i < 1000 && mem_reader_next(r); i++)
		;
	is = is || mem_reader_faults(r)->nr == 0;
	mem_reader_close(r);
	return is;
}

/* Rename an existing trace to NAME.old; a device or pipe is left as it is. */
static int outputs_make_room(const char *path, struct err *err)
{
	struct stat st;
	char *old;
	int ret;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return 0;
	if (!is_trace(path)) {
		err_set(err, -EEXIST, "'%s' is there already, and is no memory trace", path);
		err_hint(err, "remove it, or give the trace another name with -o");
		return err->code;
	}
	if (asprintf(&old, "%s.old", path) < 0)
		return err_set(err, -ENOMEM, "no memory for a file name");
	ret = rename(path, old);
	if (ret < 0)
		err_errno(err, "cannot keep the earlier '%s' as '%s'", path, old);
	free(old);
	return ret < 0 ? err->code : 0;
}

/* True if the name is that of a device or a pipe, which need not be created. */
static bool outputs_is_device(const struct outputs *o)
{
	struct stat st;

	return stat(o->name, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int outputs_check(struct outputs *o, struct err *err)
{
	char *slash, *dir;
	int ok;

	if (!strstr(o->name, "%p") && outputs_make_room(o->name, err) < 0)
		return err->code;
	if (outputs_is_device(o))
		return access(o->name, W_OK) < 0 ? err_errno(err, "cannot write '%s'", o->name) : 0;
	dir = strdup(o->name);
	if (!dir)
		return err_set(err, -ENOMEM, "no memory for a file name");
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	ok = access(slash ? dir : ".", W_OK | X_OK);
	if (ok < 0) {
		err_errno(err, "cannot write '%s'", o->name);
		err_hint(err, "the folder must be there and writable");
	}
	free(dir);
	return ok < 0 ? err->code : 0;
}

/* ---- files --------------------------------------------------------------- */

static void tell_process(struct outputs *o, struct output *out)
{
	uint64_t pid = out->pid;
	struct utsname uts;
	char path[64], target[PATH_MAX];
	ssize_t size;

	cfile_fact(&out->file, CRAY_FACT_PID, &pid, sizeof(pid));
	if (o->writer)
		cfile_fact(&out->file, CRAY_FACT_WRITER, o->writer, strlen(o->writer));
	if (uname(&uts) == 0)
		cfile_fact(&out->file, CRAY_FACT_MACHINE, uts.machine, strlen(uts.machine));
	snprintf(path, sizeof(path), "/proc/%u/exe", out->pid);
	size = readlink(path, target, sizeof(target));
	if (size > 0)
		cfile_fact(&out->file, CRAY_FACT_EXE, target, (size_t)size);
	snprintf(path, sizeof(path), "/proc/%u/cwd", out->pid);
	size = readlink(path, target, sizeof(target));
	if (size > 0)
		cfile_fact(&out->file, CRAY_FACT_CWD, target, (size_t)size);
}

/*
 * Write the arguments: those of the process if it still exists, else those of the started
 * program.
 */
static void tell_command(struct outputs *o, struct output *out)
{
	char path[64], text[65536];
	char *const *word;
	size_t used = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", out->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && used < sizeof(text) &&
	       (got = read(fd, text + used, sizeof(text) - used)) > 0)
		used += (size_t)got;
	if (fd >= 0)
		close(fd);
	for (word = used ? NULL : o->command; word && *word; word++) {
		size_t len = strlen(*word) + 1;

		if (used + len > sizeof(text))
			break;
		memcpy(text + used, *word, len);
		used += len;
	}
	if (used)
		cfile_fact(&out->file, CRAY_FACT_COMMAND, text, used);
}

static void outputs_open_file(struct outputs *o, struct output *out, uint64_t start_ns)
{
	uint64_t now = clock_now_ns();
	struct cfile_config config = {
		.level = o->level,
		.start_ns = start_ns && start_ns < now ? start_ns : now,
	};
	int fd;

	config.start_wall_ns = monotonic_clock_ns(CLOCK_REALTIME) - (now - config.start_ns);
	if (outputs_make_room(out->path, &out->err) < 0)
		return;
	fd = open(out->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		err_errno(&out->err, "cannot write '%s'", out->path);
		return;
	}
	if (cfile_open(&out->file, fd, out->path, &config, &out->err) < 0)
		return;
	out->open = true;
	tell_process(o, out);
	tell_command(o, out);
}

struct output *outputs_of(struct outputs *o, uint64_t serial, uint32_t pid, uint64_t start_ns)
{
	struct output *out;

	for (out = o->first; out; out = out->next) {
		if (out->serial == serial)
			return out;
	}
	out = calloc(1, sizeof(*out));
	if (!out)
		return NULL;
	out->path = next_name(o, pid);
	if (!out->path) {
		free(out);
		return NULL;
	}
	out->serial = serial;
	out->pid = pid;
	*o->last = out;
	o->last = &out->next;
	o->nr++;
	if (serial > o->highest)
		o->highest = serial;
	outputs_open_file(o, out, start_ns);
	return out;
}

void output_end(struct outputs *o, struct output *out, int status)
{
	const struct cray_writer *w = out->file.writer;

	if (!out->open)
		return;
	out->open = false;
	out->nr_threads = w->nr_threads;
	out->accesses = w->end.nr_accesses;
	out->annotations = w->end.nr_records - w->end.nr_accesses;
	out->lost = w->end.lost;
	out->left_out = w->end.left_out;
	out->lost_unknown = cray_writer_lost_unknown(w);
	cfile_close(&out->file, status, &out->err);
	out->size = out->file.size;
	o->closed_size += out->size;
}

uint64_t outputs_size(const struct outputs *o)
{
	const struct output *out;
	uint64_t size = o->closed_size;

	for (out = o->first; out; out = out->next) {
		if (out->open)
			size += out->file.writer->at;
	}
	return size;
}

bool outputs_full(const struct outputs *o)
{
	return o->max_size && outputs_size(o) >= o->max_size;
}

const struct err *outputs_error(struct outputs *o)
{
	struct output *out;

	for (out = o->first; out; out = out->next) {
		if (out->err.code)
			return &out->err;
		if (out->open && cfile_error(&out->file, &out->err))
			return &out->err;
	}
	return NULL;
}

void outputs_release(struct outputs *o)
{
	while (o->first) {
		struct output *out = o->first;

		output_end(o, out, -1);
		o->first = out->next;
		free(out->path);
		free(out);
	}
	outputs_init(o);
}
