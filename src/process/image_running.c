/* SPDX-License-Identifier: MIT */
/* image_running.c - a running process, read without stopping it. */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process/image_backend.h"
#include "process/image_hidden.h"
#include "process/page_residency.h"
#include "process/process_maps.h"
#include "process/target_memory.h"
#include "base/io.h"

#define VISIT_PIECE  ((size_t)1 << 18) /* fits into a second-level cache */
#define VISIT_PIECES 512
#define VISIT_RUNS   512

struct image_running {
	struct image_backend backend; /* first */
	struct target target;
	struct process_maps maps; /* holds the paths of image->ranges, index by index */
	struct page_residency residency;
	char exe[4096];
};

static struct image_running *running_of(const struct process_image *image)
{
	return (struct image_running *)image->backend;
}

static int running_ended(const struct process_image *image, struct err *err)
{
	return err_set(err, -ESRCH, "cannot read process %d: it has ended", (int)image->pid);
}

static ssize_t running_read(const struct process_image *image, uint64_t addr, void *buf,
			    size_t size)
{
	return target_read_some(&running_of(image)->target, addr, buf, size);
}

/* ---- visit --------------------------------------------------------------- */

/* Runs of pages that are read with one system call. */
struct visit_batch {
	struct process_image *image;
	image_visitor visit;
	void *arg;
	char *data; /* VISIT_PIECE bytes */
	size_t size, nr;
	const struct image_range *ranges[VISIT_PIECES];
	struct iovec pieces[VISIT_PIECES]; /* addresses of the process */
};

static void *batch_address(uint64_t addr)
{
	return (void *)(uintptr_t)addr; // NOLINT(performance-no-int-to-ptr)
}

/* Read from piece @from on, into the start of the data. */
static ssize_t batch_read(struct visit_batch *b, size_t from)
{
	struct target *t = &running_of(b->image)->target;
	struct iovec here = { .iov_base = b->data, .iov_len = VISIT_PIECE };
	ssize_t got;

	if (!t->by_ptrace) {
		got = process_vm_readv(t->pid, &here, 1, b->pieces + from, b->nr - from, 0);
		if (got >= 0)
			return got;
		if (errno != ENOSYS && errno != EPERM)
			return -errno;
	}
	return target_read_some(t, (uint64_t)(uintptr_t)b->pieces[from].iov_base, b->data,
				b->pieces[from].iov_len);
}

/* Remove the first @size bytes of a piece.  True if nothing is left. */
static bool batch_advance(struct iovec *piece, size_t size)
{
	if (size >= piece->iov_len)
		return true;
	piece->iov_base = (char *)piece->iov_base + size;
	piece->iov_len -= size;
	return false;
}

/* Pass @got bytes on, which begin with piece *@at; *@at becomes the first that is not complete. */
static int batch_deliver(struct visit_batch *b, size_t *at, size_t got)
{
	const char *data = b->data;

	b->image->bytes_read += got;
	while (got && *at < b->nr) {
		struct iovec *piece = &b->pieces[*at];
		size_t part = piece->iov_len < got ? piece->iov_len : got;
		int rc = b->visit(b->arg, b->ranges[*at], (uint64_t)(uintptr_t)piece->iov_base,
				  data, part);

		if (rc)
			return rc;
		data += part;
		got -= part;
		if (batch_advance(piece, part))
			(*at)++;
	}
	return 0;
}

/* A page that was unmapped since it was listed is counted and left out. */
static int batch_flush(struct visit_batch *b)
{
	size_t page = running_of(b->image)->residency.page, at = 0;
	int rc = 0;

	while (at < b->nr && !rc) {
		ssize_t got = batch_read(b, at);

		if (got == -ESRCH)
			return -ESRCH;
		if (got > 0) {
			rc = batch_deliver(b, &at, (size_t)got & ~(page - 1));
			if ((size_t)got >= page)
				continue;
		}
		b->image->bytes_failed += page;
		if (batch_advance(&b->pieces[at], page))
			at++;
	}
	b->nr = b->size = 0;
	return rc;
}

static int batch_add(struct visit_batch *b, const struct image_range *range, uint64_t start,
		     uint64_t end)
{
	int rc = 0;

	while (start < end && !rc) {
		uint64_t part = VISIT_PIECE - b->size;

		if (part > end - start)
			part = end - start;
		b->ranges[b->nr] = range;
		b->pieces[b->nr++] = (struct iovec){ batch_address(start), part };
		b->size += part;
		start += part;
		if (b->size == VISIT_PIECE || b->nr == VISIT_PIECES)
			rc = batch_flush(b);
	}
	return rc;
}

/* A part of a range that is visited. */
struct visit_cursor {
	const struct image_range *range;
	uint64_t listed; /* bytes in runs of pages */
	uint64_t behind; /* the last of them */
	int fd;          /* of a shared mapping; -1: none, or it cannot be opened */
	bool is_protected;
};

static int visit_runs(struct visit_batch *b, struct visit_cursor *c, const struct page_run *runs,
		      size_t nr)
{
	const struct image_range *range = c->range;
	size_t i;
	int rc = 0;

	for (i = 0; i < nr && !rc; i++) {
		uint64_t size = runs[i].end - runs[i].start;

		c->listed += size;
		if (range->is_shared)
			b->image->bytes_hidden += hidden_shared(c->fd, range, c->behind,
								runs[i].start);
		c->behind = runs[i].end;
		if (c->is_protected && runs[i].is_file)
			continue;
		if (runs[i].is_swapped)
			b->image->bytes_swapped += size;
		else
			rc = batch_add(b, range, runs[i].start, runs[i].end);
	}
	return rc;
}

static int visit_range(struct visit_batch *b, const struct image_range *range)
{
	struct image_running *r = running_of(b->image);
	struct visit_cursor c = { .range = range, .behind = range->start };
	struct page_run runs[VISIT_RUNS];
	uint64_t at = range->start, after = at;
	int rc = 0;

	c.is_protected = image_range_protected(range);
	c.fd = range->is_shared ? hidden_open(b->image, range) : -1;
	for (; at < range->end && !rc; at = after) {
		ssize_t nr = residency_find(&r->residency, at, range->end, runs, VISIT_RUNS,
					    &after);

		if (nr < 0) {
			b->image->bytes_failed += range->end - at;
			c.listed += range->end - at;
			break;
		}
		rc = visit_runs(b, &c, runs, (size_t)nr);
	}
	if (range->is_shared)
		b->image->bytes_hidden += hidden_shared(c.fd, range, c.behind, range->end);
	if (c.fd >= 0)
		close(c.fd);
	if (!rc && !c.is_protected)
		b->image->bytes_absent += range->end - range->start - c.listed;
	return rc;
}

static int running_visit_ranges(struct process_image *image,
				bool (*is_visited)(const struct image_range *range),
				image_visitor visit, void *arg)
{
	struct image_running *r = running_of(image);
	struct visit_batch *b = calloc(1, sizeof(*b));
	size_t i;
	int rc = 0;

	if (b)
		b->data = aligned_alloc(4096, VISIT_PIECE);
	if (!b || !b->data) {
		free(b);
		return -ENOMEM;
	}
	b->image = image;
	b->visit = visit;
	b->arg = arg;
	for (i = 0; i < image->nr_ranges && !rc; i++) {
		if (is_visited(&image->ranges[i]))
			rc = visit_range(b, &image->ranges[i]);
	}
	if (!rc)
		rc = batch_flush(b);
	free(b->data);
	free(b);
	if (rc)
		return rc;
	if (!target_alive(&r->target))
		return -ESRCH;
	return target_replaced(&r->target) ? -ESTALE : 0;
}

static int running_visit(struct process_image *image, image_visitor visit, void *arg)
{
	size_t i;

	for (i = 0; i < image->nr_ranges; i++)
		hidden_range(image, &running_of(image)->residency, &image->ranges[i]);
	return running_visit_ranges(image, image_range_visited, visit, arg);
}

/* Without the page map it is not known which pages were written. */
static int running_visit_protected(struct process_image *image, image_visitor visit, void *arg)
{
	return image->has_pagemap ? running_visit_ranges(image, image_range_protected, visit, arg)
				  : 0;
}

/* ---- ranges -------------------------------------------------------------- */

static void range_fill(struct image_range *range, const struct process_map *map)
{
	*range = (struct image_range){
		.start = map->start,
		.end = map->end,
		.offset = map->offset,
		.can_read = map->read,
		.can_write = map->write,
		.can_execute = map->exec,
		.is_shared = map->shared,
		.path = map->path ? map->path : "",
	};
}

static int ranges_take(struct process_image *image, struct process_maps *maps)
{
	struct image_running *r = running_of(image);
	struct image_range *ranges = malloc(maps->nr * sizeof(*ranges));
	size_t i;

	if (!ranges)
		return -ENOMEM;
	for (i = 0; i < maps->nr; i++) {
		range_fill(&ranges[i], &maps->list[i]);
		image->has_io_uring = image->has_io_uring || image_range_queues(&ranges[i]);
	}
	free(image->ranges);
	image->ranges = ranges;
	image->nr_ranges = maps->nr;
	process_maps_free(&r->maps);
	r->maps = *maps;
	*maps = (struct process_maps){ 0 };
	return 0;
}

static int running_read_ranges(struct process_image *image, struct err *err)
{
	struct image_running *r = running_of(image);
	struct process_maps maps;
	char byte;
	int rc = process_maps_read(image->pid, &maps);

	if (rc == -EACCES) {
		rc = target_read(&r->target, 0, &byte, 1, err);
		return rc == -EPERM
			       ? rc
			       : err_set(err, -EACCES, "cannot read the mappings of process %d",
					 (int)image->pid);
	}
	if (rc == -ENOENT || rc == -ESRCH || (!rc && !maps.nr)) {
		process_maps_free(&maps);
		return running_ended(image, err);
	}
	if (!rc && target_replaced(&r->target))
		rc = err_set(err, -ESTALE, "process %d has executed another program",
			     (int)image->pid);
	else if (!rc || rc == -ENOMEM)
		rc = rc ? rc : ranges_take(image, &maps);
	process_maps_free(&maps);
	if (rc < 0 && rc != -ESTALE)
		err_set(err, rc, "cannot read the mappings of process %d: %s", (int)image->pid,
			strerror(-rc));
	return rc;
}

/* ---- files --------------------------------------------------------------- */

/* True if the mapping is of the program itself, which /proc/PID/exe opens without privileges. */
static bool file_is_exe(const struct image_running *r, const struct process_map *map)
{
	return map->path && !strcmp(map->path, r->exe);
}

static void running_find_file(const struct process_image *image, const struct image_range *range,
			      char *path, size_t size)
{
	const struct image_running *r = running_of(image);
	const struct process_map *map = &r->maps.list[range - image->ranges];
	int pid = (int)image->pid;

	snprintf(path, size, "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)range->start,
		 (unsigned long long)range->end);
	if (image_file_opens(path))
		return;
	snprintf(path, size, "/proc/%d/exe", pid);
	if (file_is_exe(r, map) && image_file_opens(path))
		return;
	snprintf(path, size, "/proc/%d/root%s", pid, range->path);
	if (!map->deleted && image_file_opens(path))
		return;
	snprintf(path, size, "%s", range->path);
	if (map->deleted || !image_file_opens(path))
		*path = '\0';
}

/* The descriptors of the process: is one an io_uring? */
static bool running_has_io_uring(pid_t pid)
{
	char path[64], link[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		link[len > 0 ? len : 0] = '\0';
		found = !strcmp(link, "anon_inode:[io_uring]");
	}
	closedir(dir);
	return found;
}

/* ---- open ---------------------------------------------------------------- */

static int running_read_threads(struct process_image *image, struct err *err)
{
	struct image_thread *threads;
	ssize_t nr = image_read_tasks(image->pid, &threads);

	if (nr == -ESRCH)
		return running_ended(image, err);
	if (nr < 0)
		return err_set(err, (int)nr, "cannot read the threads of process %d: %s",
			       (int)image->pid, strerror((int)-nr));
	free(image->threads);
	image->threads = threads;
	image->nr_threads = (size_t)nr;
	return 0;
}

static void running_close(struct process_image *image)
{
	struct image_running *r = running_of(image);

	residency_close(&r->residency);
	process_maps_free(&r->maps);
	target_close(&r->target);
	free(r);
}

static const struct image_operations running_operations = {
	.read = running_read,
	.visit = running_visit,
	.visit_protected = running_visit_protected,
	.read_threads = running_read_threads,
	.read_ranges = running_read_ranges,
	.find_file = running_find_file,
	.close = running_close,
};

/* An address that is never mapped: the kernel checks the rights first. */
static int running_check_rights(struct image_running *r, struct err *err)
{
	char byte;
	int rc = target_read(&r->target, 0, &byte, 1, err);

	if (rc == -EPERM || rc == -ESRCH)
		return rc;
	*err = (struct err){ 0 };
	return 0;
}

static int running_check_machine(struct process_image *image, struct err *err)
{
	char path[64], what[64], header[64];
	ssize_t got = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)image->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = io_pread(fd, header, sizeof(header), 0);
		close(fd);
	}
	image->machine = image_own_machine();
	if (got <= 0)
		return 0; /* a file that may be executed and not read */
	snprintf(what, sizeof(what), "process %d", (int)image->pid);
	return image_check_machine(header, (size_t)got, what, err);
}

static void running_read_exe(struct process_image *image)
{
	static const char deleted[] = PROCESS_MAP_DELETED;
	struct image_running *r = running_of(image);
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)image->pid);
	len = readlink(path, r->exe, sizeof(r->exe) - 1);
	r->exe[len > 0 ? len : 0] = '\0';
	len -= (ssize_t)sizeof(deleted) - 1;
	if (len > 0 && !strcmp(r->exe + len, deleted))
		r->exe[len] = '\0';
	image->exe = r->exe;
	target_name(image->pid, image->name);
}

static int running_start(struct process_image *image, struct err *err)
{
	struct image_running *r = running_of(image);
	int rc = running_check_rights(r, err);

	if (!rc)
		rc = running_check_machine(image, err);
	if (rc < 0)
		return rc;
	running_read_exe(image);
	if (residency_open(&r->residency, image->pid) < 0)
		return err_set(err, -ENOMEM, "cannot read process %d: out of memory",
			       (int)image->pid);
	image->has_pagemap = r->residency.fd >= 0;
	image->has_io_uring = running_has_io_uring(image->pid);
	rc = image_read_ranges(image, err);
	return rc ? rc : image_read_threads(image, err);
}

int image_open_process(struct process_image *image, pid_t pid, struct err *err)
{
	struct image_running *r = calloc(1, sizeof(*r));
	int rc;

	memset(image, 0, sizeof(*image));
	image->kind = IMAGE_RUNNING;
	image->pid = pid;
	if (!r)
		return err_set(err, -ENOMEM, "cannot read process %d: out of memory", (int)pid);
	rc = target_open(&r->target, pid, err);
	if (rc < 0) {
		free(r);
		return rc;
	}
	r->residency.fd = -1;
	r->backend.operations = &running_operations;
	image->backend = &r->backend;
	rc = running_start(image, err);
	if (rc < 0)
		image_close(image);
	return rc;
}
