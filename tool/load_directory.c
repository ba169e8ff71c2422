/* SPDX-License-Identifier: MIT */
/*
 * load_directory.c - load the envelopes of a directory, DIR/HOST/RUN/NUMBER.ctblock, in order.
 *
 * Another tool may move the files there in any order.  Where a number is missing, the blocks
 * behind it wait until it arrives, until the account of the run says that it was given up, or until
 * the next file is older than a limit.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "load_source.h"
#include "message.h"
#include "ship/ship_envelope.h"
#include "ship/ship_whole.h"
#include "trace/compact_block.h"

#define LOAD_SUFFIX   ".ctblock"
#define LOAD_PAUSE_MS 200u

/* The files of one run, by number. */
struct load_folder {
	char path[4096];
	uint64_t *numbers;
	size_t nr, room;
	size_t done; /* the first ones, which the loader was given: removed after a flush */
};

static int load_compare_numbers(const void *va, const void *vb)
{
	uint64_t a = *(const uint64_t *)va, b = *(const uint64_t *)vb;

	return a < b ? -1 : a > b;
}

/* False: not the name of an envelope. */
static bool load_parse_name(const char *name, uint64_t *number)
{
	char *end;

	if (*name < '0' || *name > '9')
		return false;
	*number = strtoull(name, &end, 10);
	return !strcmp(end, LOAD_SUFFIX);
}

static int load_folder_add(struct load_folder *f, uint64_t number)
{
	if (f->nr == f->room) {
		size_t room = f->room ? f->room * 2 : 256;
		uint64_t *more = reallocarray(f->numbers, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		f->numbers = more;
		f->room = room;
	}
	f->numbers[f->nr++] = number;
	return 0;
}

/* The last block of the trace, which may be its account, comes behind those of whole coroutines. */
static void load_folder_put_last(struct load_folder *f)
{
	uint64_t number;
	size_t i = f->nr;

	while (i && f->numbers[i - 1] >= SHIP_WHOLE_FIRST)
		i--;
	if (!i || i == f->nr)
		return;
	number = f->numbers[i - 1];
	memmove(&f->numbers[i - 1], &f->numbers[i], (f->nr - i) * sizeof(number));
	f->numbers[f->nr - 1] = number;
}

static int load_folder_list(struct load_folder *f, struct err *err)
{
	DIR *dir = opendir(f->path);
	struct dirent *entry;
	uint64_t number;
	int rc = 0;

	f->nr = f->done = 0;
	if (!dir)
		return errno == ENOTDIR || errno == ENOENT
			       ? 0
			       : err_errno(err, "cannot open '%s'", f->path);
	while (rc == 0 && (entry = readdir(dir)))
		if (load_parse_name(entry->d_name, &number))
			rc = load_folder_add(f, number);
	closedir(dir);
	if (rc < 0)
		return err_set(err, rc, "no memory for the files of '%s'", f->path);
	if (f->nr)
		qsort(f->numbers, f->nr, sizeof(*f->numbers), load_compare_numbers);
	load_folder_put_last(f);
	return 0;
}

static void load_file_path(const struct load_folder *f, uint64_t number, char path[4160])
{
	snprintf(path, 4160, "%s/%020" PRIu64 LOAD_SUFFIX, f->path, number);
}

/* ---- files that are no envelopes --------------------------------------------------- */

static size_t load_find_bad(const struct load_job *job, const char *path)
{
	size_t i;

	for (i = 0; i < job->nr_bad && strcmp(job->bad_files[i], path) != 0; i++)
		;
	return i;
}

/* Another tool may still copy the file: it stays, and is read again in the next pass. */
static void load_leave_out(struct load_job *job, const char *path, const char *why)
{
	char **more;

	if (load_find_bad(job, path) < job->nr_bad)
		return; /* it was said in an earlier pass */
	message_print("load", "'%s' is left out: %s", path, why);
	job->unreadable++;
	more = reallocarray(job->bad_files, job->nr_bad + 1, sizeof(*more));
	if (!more)
		return;
	job->bad_files = more;
	more[job->nr_bad] = strdup(path);
	job->nr_bad += more[job->nr_bad] != NULL;
}

/* The file can be read now. */
static void load_forget_bad(struct load_job *job, const char *path)
{
	size_t i = load_find_bad(job, path);

	if (i == job->nr_bad)
		return;
	free(job->bad_files[i]);
	job->bad_files[i] = job->bad_files[--job->nr_bad];
	job->unreadable--;
}

static void load_release_bad(struct load_job *job)
{
	while (job->nr_bad)
		free(job->bad_files[--job->nr_bad]);
	free(job->bad_files);
	job->bad_files = NULL;
}

/* ---- one file ---------------------------------------------------------------------- */

/* Not negative; -EBADMSG: it cannot be an envelope, for the reason *@why; or another negative
 * errno. */
static int load_file_get(int fd, struct bytes *data, const char **why)
{
	struct stat st;

	bytes_clear(data);
	if (fstat(fd, &st) < 0)
		return -errno;
	*why = S_ISREG(st.st_mode) ? "it is too large" : "it is not a file";
	if (!S_ISREG(st.st_mode) || st.st_size > (off_t)(SHIP_BLOCK_MAX + SHIP_LABELS_MAX + 4096))
		return -EBADMSG;
	if (st.st_size && !bytes_more(data, (size_t)st.st_size))
		return -ENOMEM;
	return compact_read_at(fd, data->data, data->size, 0);
}

/* 1; 0: the file has gone, or is no envelope; or a negative errno. */
static int load_file_read(struct load_job *job, const char *path, struct bytes *data,
			  struct ship_envelope *e, struct ship_labels *labels, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc;
	const char *reason = "it is a symbolic link";
	struct err why = { 0 };

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno != ELOOP)
		return err_errno(err, "cannot open '%s'", path);
	rc = fd < 0 ? -EBADMSG : load_file_get(fd, data, &reason);
	if (fd >= 0)
		close(fd);
	if (rc < 0 && rc != -EBADMSG)
		return err_set(err, rc, "cannot read '%s': %s", path, strerror(-rc));
	if (rc >= 0 && ship_envelope_decode(data->data, data->size, e, &why) == 0 &&
	    ship_labels_parse(e->labels, e->labels_size, labels, &why) == 0 && e->parts <= 1) {
		load_forget_bad(job, path);
		return 1;
	}
	if (why.code == -ENOMEM)
		return err_set(err, why.code, "cannot read '%s': %s", path, why.text);
	load_leave_out(job, path,
		       rc < 0        ? reason
		       : why.text[0] ? why.text
				     : "it is a part of a block");
	return 0;
}

/* True if the account of the run is there and says that the missing blocks were given up. */
static bool load_were_given_up(struct load_job *job, const struct load_folder *f, size_t i,
			       uint64_t next)
{
	uint64_t last = f->numbers[f->nr - 1], missing = last - next, there;
	struct ship_labels labels = { .has_final = false };
	struct err err = { 0 };
	struct bytes data = { 0 };
	struct ship_envelope e;
	char path[4160];
	int rc;

	for (there = 0; i + 1 < f->nr && f->numbers[i] < last; i++)
		there++;
	load_file_path(f, last, path);
	rc = load_file_read(job, path, &data, &e, &labels, &err);
	bytes_release(&data);
	missing -= there < missing ? there : missing;
	return rc > 0 && labels.has_final && missing <= labels.final.given_up_blocks;
}

/* True if the blocks in front of file @i are not to be waited for. */
static bool load_may_pass(struct load_job *job, const struct load_folder *f, size_t i,
			  uint64_t next)
{
	char path[4160];
	struct stat st;

	if (f->numbers[i] <= next)
		return true;
	load_file_path(f, f->numbers[i], path);
	if (stat(path, &st) == 0 && time(NULL) - st.st_mtime >= (time_t)job->gap_s)
		return true;
	return load_were_given_up(job, f, i, next);
}

/* Among the first ones: it may be removed after a flush.  File @i is not needed any more. */
static void load_folder_done(struct load_folder *f, size_t i)
{
	f->numbers[f->done++] = f->numbers[i];
}

/* Removes the files that were loaded and saved. */
static void load_folder_remove(struct load_job *job, struct load_folder *f)
{
	char path[4160];
	size_t i;

	for (i = 0; job->remove && i < f->done; i++) {
		load_file_path(f, f->numbers[i], path);
		unlink(path);
	}
	f->done = 0;
}

static int load_flush_folder(struct load_job *job, struct load_folder *f, struct err *err)
{
	int rc = loader_flush(job->loader, err);

	if (rc == 0)
		load_folder_remove(job, f);
	return rc;
}

/* Loads what is there of one run; *@nr counts the blocks. */
static int load_folder_load(struct load_job *job, struct load_folder *f, struct bytes *data,
			    uint64_t *nr, struct err *err)
{
	struct ship_envelope e;
	struct ship_labels labels;
	struct loader_next next = { 0 };
	char path[4160];
	bool knows_next = false;
	size_t i;
	int rc = 0;

	for (i = 0; rc >= 0 && i < f->nr && !load_is_ending; i++) {
		bool is_whole = f->numbers[i] >= SHIP_WHOLE_FIRST;

		if (knows_next && f->numbers[i] < (is_whole ? next.whole : next.block)) {
			load_folder_done(f, i); /* it was loaded before */
			continue;
		}
		if (knows_next && !is_whole && !load_may_pass(job, f, i, next.block)) {
			job->waiting += f->nr - i;
			break;
		}
		load_file_path(f, f->numbers[i], path);
		rc = load_file_read(job, path, data, &e, &labels, err);
		if (rc <= 0)
			continue;
		if (!knows_next) {
			next = loader_next(job->loader, &labels, err);
			rc = err->code;
			knows_next = true;
			i--; /* this file again, now that it is known what comes next */
			continue;
		}
		rc = loader_block(job->loader, &labels, e.number, e.block, e.block_size, 0, err);
		*(is_whole ? &next.whole : &next.block) = e.number + 1;
		++*nr;
		load_folder_done(f, i);
		if (rc == 0 && loader_is_due(job->loader))
			rc = load_flush_folder(job, f, err);
	}
	if (rc < 0)
		return rc;
	return job->remove ? load_flush_folder(job, f, err) : 0;
}

static int load_each_run(struct load_job *job, const char *host, struct bytes *data, uint64_t *nr,
			 struct err *err)
{
	struct load_folder f = { .nr = 0 };
	DIR *dir = opendir(host);
	struct dirent *entry;
	int rc = 0;

	if (!dir)
		return errno == ENOTDIR || errno == ENOENT
			       ? 0
			       : err_errno(err, "cannot open '%s'", host);
	while (rc == 0 && !load_is_ending && (entry = readdir(dir))) {
		if (!ship_run_is_valid(entry->d_name))
			continue;
		if ((size_t)snprintf(f.path, sizeof(f.path), "%s/%s", host, entry->d_name) >=
		    sizeof(f.path))
			continue;
		rc = load_folder_list(&f, err);
		if (rc == 0 && f.nr)
			rc = load_folder_load(job, &f, data, nr, err);
	}
	closedir(dir);
	free(f.numbers);
	return rc;
}

/* One pass over all hosts. */
static int load_pass(struct load_job *job, const char *path, struct bytes *data, uint64_t *nr,
		     struct err *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char host[4000];
	int rc = 0;

	if (!dir)
		return err_errno(err, "cannot open '%s'", path);
	job->waiting = 0;
	while (rc == 0 && !load_is_ending && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if ((size_t)snprintf(host, sizeof(host), "%s/%s", path, entry->d_name) <
		    sizeof(host))
			rc = load_each_run(job, host, data, nr, err);
	}
	closedir(dir);
	return rc < 0 ? rc : loader_flush(job->loader, err);
}

int load_directory(struct load_job *job, const char *dir, struct err *err)
{
	uint64_t idle_since = clock_now_ns();
	struct bytes data = { 0 };
	int rc = 0;

	while (rc == 0 && !load_is_ending) {
		struct timespec pause = { .tv_nsec = LOAD_PAUSE_MS * 1000000L };
		uint64_t nr = 0;

		rc = load_pass(job, dir, &data, &nr, err);
		if (nr)
			idle_since = clock_now_ns();
		if (!job->follow && clock_now_ns() - idle_since >= job->idle_s * NS_PER_SEC)
			break;
		if (rc == 0 && !nr)
			nanosleep(&pause, NULL);
	}
	bytes_release(&data);
	load_release_bad(job);
	return rc;
}
