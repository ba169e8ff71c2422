/* SPDX-License-Identifier: MIT */
/* image_core.c - a process in a core file. */
#include "process/image_core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory_shortage.h"
#include "process/elf_headers.h"
#include "base/io.h"

#define CORE_PIECE ((uint64_t)1 << 20)
#define CORE_PAGE  UINT64_C(4096)
#define CORE_HOLE  UINT64_C(65536) /* holes in less are not looked for */

static struct image_core *core_backend(const struct process_image *image)
{
	return (struct image_core *)image->backend;
}

/* ---- files --------------------------------------------------------------- */

static ssize_t core_read_descriptor(const void *arg, uint64_t at, void *buf, size_t size)
{
	ssize_t got = io_pread(*(const int *)arg, buf, size, (off_t)at);

	if (got >= 0)
		return got;
	memory_shortage_note();
	return -errno;
}

static void core_find_file(const struct process_image *image, const struct image_range *range,
			   char *path, size_t size)
{
	const struct image_core *core = core_backend(image);

	if (core->exe && !strcmp(range->path, image->exe))
		snprintf(path, size, "%s", core->exe);
	else
		snprintf(path, size, "%s", range->path);
	if (!image_file_opens(path))
		*path = '\0';
}

static bool core_read_file_headers(const struct process_image *image,
				   const struct image_range *range, struct elf_headers *headers)
{
	char path[4096];
	bool done;
	int fd;

	core_find_file(image, range, path, sizeof(path));
	fd = *path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd < 0)
		return false;
	done = elf_headers_read(headers,
				&(struct elf_source){ .read = core_read_descriptor, .arg = &fd }, 0,
				image->machine);
	close(fd);
	return done;
}

/* Open the file of a module, if it is the one that the process had. */
static void core_open_file(const struct process_image *image, const struct image_module *module,
			   struct core_module_file *file)
{
	const struct elf_source source = { .read = core_read_descriptor, .arg = &file->fd };
	char id[ELF_BUILD_ID_TEXT];

	file->is_tried = true;
	file->fd = -1;
	if (!module->build_id || !*module->open_path)
		return;
	file->headers = malloc(sizeof(*file->headers));
	if (!file->headers) {
		memory_shortage_note();
		return;
	}
	file->fd = open(module->open_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0) {
		memory_shortage_check(0);
		return;
	}
	if (elf_headers_read(file->headers, &source, 0, image->machine) &&
	    elf_file_build_id(file->headers, &source, id) && !strcmp(id, module->build_id))
		return;
	close(file->fd);
	file->fd = -1;
}

static void core_close_files(struct process_image *image)
{
	struct image_core *core = core_backend(image);
	size_t i;

	for (i = 0; core->files && i < image->nr_modules; i++) {
		free(core->files[i].headers);
		if (core->files[i].is_tried && core->files[i].fd >= 0)
			close(core->files[i].fd);
	}
	free(core->files);
	core->files = NULL;
}

/* Read from a part of a module that is never written: code and constants. */
static ssize_t core_read_module(const struct process_image *image, uint64_t addr, void *buf,
				size_t size)
{
	const struct image_core *core = core_backend(image);
	struct core_module_file *file;
	size_t m, i;

	for (m = 0; m < image->nr_modules; m++) {
		if (addr >= image->modules[m].start && addr < image->modules[m].end)
			break;
	}
	if (!core->files || m == image->nr_modules)
		return -EFAULT;
	file = &core->files[m];
	if (!file->is_tried)
		core_open_file(image, &image->modules[m], file);
	for (i = 0; file->fd >= 0 && i < file->headers->nr; i++) {
		const Elf64_Phdr *p = &file->headers->phdrs[i];
		uint64_t at = addr - image->modules[m].bias - p->p_vaddr;

		if (p->p_type != PT_LOAD || (p->p_flags & PF_W) || at >= p->p_filesz)
			continue;
		if (size > p->p_filesz - at)
			size = p->p_filesz - at;
		return core_read_descriptor(&file->fd, p->p_offset + at, buf, size);
	}
	return -EFAULT;
}

/* ---- memory -------------------------------------------------------------- */

/* The bytes that are in one piece, from the core or from a file. */
static ssize_t core_read_piece(const struct process_image *image, uint64_t addr, void *buf,
			       size_t size)
{
	const struct core_file *file = &core_backend(image)->file;
	const struct core_segment *s = core_file_find(file, addr);
	uint64_t at = s ? addr - s->start : 0;

	if (s && at < s->available) {
		if (size > s->available - at)
			size = s->available - at;
		memcpy(buf, file->data + s->offset + at, size);
		return (ssize_t)size;
	}
	if (s && at < s->dumped)
		return -EFAULT; /* behind the end of a truncated core */
	if (s && size > s->end - addr)
		size = s->end - addr;
	return core_read_module(image, addr, buf, size);
}

static ssize_t core_read(const struct process_image *image, uint64_t addr, void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = core_read_piece(image, addr + done, (char *)buf + done, size - done);

		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done ? (ssize_t)done : -EFAULT;
}

struct core_visit {
	struct process_image *image;
	image_visitor visit;
	void *arg;
	const struct image_range *range;
	void *copy; /* for data that is not aligned in the file */
};

/* Pass on @size bytes at @offset of the file, which the process had at @addr. */
static int core_pass_data(struct core_visit *v, uint64_t addr, uint64_t offset, uint64_t size)
{
	const struct core_file *file = &core_backend(v->image)->file;
	int rc = 0;

	while (size && !rc) {
		size_t part = size < CORE_PIECE ? size : CORE_PIECE;
		const void *data = file->data + offset;

		if (offset % sizeof(uint64_t)) {
			if (!v->copy)
				v->copy = malloc(CORE_PIECE);
			if (!v->copy)
				return -ENOMEM;
			data = memcpy(v->copy, data, part);
		}
		v->image->bytes_read += part;
		rc = v->visit(v->arg, v->range, addr, data, part);
		addr += part;
		offset += part;
		size -= part;
	}
	return rc;
}

/* The first offset from @at on with data, and the end of that data; holes are zeros. */
static uint64_t core_find_data(const struct core_file *file, uint64_t at, uint64_t end,
			       uint64_t *data_end)
{
	off_t data, hole;

	*data_end = end;
	if (at % CORE_PAGE || end - at < CORE_HOLE)
		return at;
	data = lseek(file->fd, (off_t)at, SEEK_DATA);
	if (data < 0)
		return errno == ENXIO ? end : at;
	if ((uint64_t)data >= end)
		return end;
	hole = lseek(file->fd, data, SEEK_HOLE);
	if (hole > data && (uint64_t)hole < end)
		*data_end = ((uint64_t)hole + CORE_PAGE - 1) & ~(CORE_PAGE - 1);
	if (*data_end > end)
		*data_end = end;
	return (uint64_t)data < at ? at : (uint64_t)data & ~(CORE_PAGE - 1);
}

/* The part from @from to @to of a segment. */
static int core_visit_segment(struct core_visit *v, const struct core_segment *s, uint64_t from,
			      uint64_t to)
{
	const struct core_file *file = &core_backend(v->image)->file;
	uint64_t end = s->start + s->available, dumped = s->start + s->dumped, at, last;
	int rc = 0;

	if (to > dumped) {
		uint64_t absent = to - (from > dumped ? from : dumped);

		v->image->bytes_absent += absent;
		v->image->bytes_hidden += absent;
	}
	if (to > end && from < dumped)
		v->image->bytes_failed += (to < dumped ? to : dumped) - (from > end ? from : end);
	end = to < end ? to : end;
	if (from >= end)
		return 0;
	at = s->offset + (from - s->start);
	last = at + (end - from);
	while (at < last && !rc) {
		uint64_t data_end, data = core_find_data(file, at, last, &data_end);

		v->image->bytes_absent += data - at;
		if (data < data_end)
			rc = core_pass_data(v, s->start + (data - s->offset), data,
					    data_end - data);
		at = data_end;
	}
	return rc;
}

static int core_visit_range(struct core_visit *v, size_t *next)
{
	const struct core_file *file = &core_backend(v->image)->file;
	const struct image_range *range = v->range;
	uint64_t at = range->start;
	int rc = 0;

	while (*next < file->nr_segments && file->segments[*next].end <= at)
		(*next)++;
	while (at < range->end && *next < file->nr_segments && !rc) {
		const struct core_segment *s = &file->segments[*next];
		uint64_t to = s->end < range->end ? s->end : range->end;

		if (s->start >= range->end)
			break;
		if (s->start > at) {
			v->image->bytes_absent += s->start - at;
			at = s->start;
		}
		rc = core_visit_segment(v, s, at, to);
		at = to;
		if (s->end <= range->end)
			(*next)++;
	}
	v->image->bytes_absent += range->end - at;
	return rc;
}

static int core_visit_ranges(struct process_image *image,
			     bool (*is_visited)(const struct image_range *range),
			     image_visitor visit, void *arg)
{
	struct core_visit v = { .image = image, .visit = visit, .arg = arg };
	size_t i, next = 0;
	int rc = 0;

	for (i = 0; i < image->nr_ranges && !rc; i++) {
		v.range = &image->ranges[i];
		if (is_visited(v.range))
			rc = core_visit_range(&v, &next);
	}
	free(v.copy);
	return rc;
}

static int core_visit_all(struct process_image *image, image_visitor visit, void *arg)
{
	int rc = core_visit_ranges(image, image_range_visited, visit, arg);

	/* What was not read when the process was saved. */
	image->bytes_swapped += core_backend(image)->saved_swapped;
	image->bytes_hidden += core_backend(image)->saved_hidden;
	return rc;
}

/* Pages that a core has although their file has them are modified.  Others are not counted. */
static int core_visit_protected(struct process_image *image, image_visitor visit, void *arg)
{
	uint64_t absent = image->bytes_absent, hidden = image->bytes_hidden;
	int rc = core_visit_ranges(image, image_range_protected, visit, arg);

	image->bytes_absent = absent;
	image->bytes_hidden = hidden;
	return rc;
}

/* ---- ranges -------------------------------------------------------------- */

static const struct core_mapping *core_find_mapping(const struct image_core *core, uint64_t addr)
{
	size_t from = 0, to = core->nr_mappings;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (core->mappings[middle].start <= addr)
			from = middle + 1;
		else
			to = middle;
	}
	return from && addr < core->mappings[from - 1].end ? &core->mappings[from - 1] : NULL;
}

/* A core does not say which mappings are shared; files in memory usually are. */
static bool path_is_shared(const char *path)
{
	static const char *const prefixes[] = { "/dev/shm/", "/dev/zero", "/dev/hugepages",
						"/memfd:",   "/SYSV",     "anon_inode:" };
	size_t i;

	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (!strncmp(path, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

static const char *core_name_range(const struct image_core *core, const struct core_segment *s)
{
	if (core->name_on_stack >= s->start && core->name_on_stack < s->end)
		return "[stack]";
	if (core->vdso >= s->start && core->vdso < s->end)
		return "[vdso]";
	return s->start >= UINT64_C(0xffffffffff600000) ? "[vsyscall]" : "";
}

static void range_from_segment(const struct image_core *core, const struct core_segment *s,
			       struct image_range *range)
{
	const struct core_mapping *m = core_find_mapping(core, s->start);

	*range = (struct image_range){
		.start = s->start,
		.end = s->end,
		.offset = m ? m->offset + (s->start - m->start) : 0,
		.can_read = s->dumped || (s->flags & PF_R),
		.can_write = s->flags & PF_W,
		.can_execute = s->flags & PF_X,
		.is_shared = m && path_is_shared(m->path),
		.path = m ? m->path : core_name_range(core, s),
	};
}

static int range_compare(const void *a, const void *b)
{
	const struct image_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Segments, and mapped files that have none: gdb leaves out code. */
static int core_build_ranges(struct process_image *image, const struct image_core *core)
{
	size_t i, nr = 0;

	image->ranges = calloc(core->file.nr_segments + core->nr_mappings, sizeof(*image->ranges));
	if (!image->ranges)
		return -ENOMEM;
	for (i = 0; i < core->file.nr_segments; i++)
		range_from_segment(core, &core->file.segments[i], &image->ranges[nr++]);
	for (i = 0; i < core->nr_mappings; i++) {
		const struct core_mapping *m = &core->mappings[i];

		if (core_file_find(&core->file, m->start))
			continue;
		image->ranges[nr++] = (struct image_range){ .start = m->start,
							    .end = m->end,
							    .offset = m->offset,
							    .can_read = true,
							    .can_execute = true,
							    .path = m->path };
	}
	qsort(image->ranges, nr, sizeof(*image->ranges), range_compare);
	for (i = 0; i < nr; i++) {
		struct image_range *range = &image->ranges[i];

		if (i + 1 < nr && range->end > range[1].start)
			range->end = range[1].start;
		if (range->start < range->end)
			image->ranges[image->nr_ranges++] = *range;
	}
	return 0;
}

/* ---- open ---------------------------------------------------------------- */

/* The threads and mappings of a core do not change. */
static int core_keep(struct process_image *image, struct err *err)
{
	(void)image;
	(void)err;
	return 0;
}

static void core_close(struct process_image *image)
{
	struct image_core *core = core_backend(image);

	core_close_files(image);
	core_file_close(&core->file);
	image_strings_free(&core->strings);
	free(core->mappings);
	free(core);
}

static const struct image_operations core_operations = {
	.read = core_read,
	.visit = core_visit_all,
	.visit_protected = core_visit_protected,
	.read_threads = core_keep,
	.read_ranges = core_keep,
	.find_file = core_find_file,
	.read_headers = core_read_file_headers,
	.close = core_close,
};

#if defined(__aarch64__)
/* The kernel sets a thread that will repeat its system call back to the instruction. */
static void core_find_syscalls(struct process_image *image)
{
	static const unsigned char svc[] = { 0x01, 0x00, 0x00, 0xd4 };
	unsigned char there[sizeof(svc)];
	size_t i;

	for (i = 0; i < image->nr_threads; i++) {
		struct image_thread *t = &image->threads[i];

		if (t->has_syscall || !t->has_registers ||
		    image_read(image, t->pc, there, sizeof(there)) != sizeof(there) ||
		    memcmp(there, svc, sizeof(svc)) != 0)
			continue;
		t->has_syscall = true;
		t->state = 'S';
		t->syscall_nr = (int64_t)t->registers[8];
		memcpy(t->args, t->registers, sizeof(t->args));
	}
}
#else
static void core_find_syscalls(struct process_image *image)
{
	(void)image; /* the registers say it */
}
#endif

static int core_start(struct process_image *image, struct image_core *core)
{
	const struct image_range *program;
	size_t i;
	int rc = core_read_notes(image, core);

	if (!rc && !core->has_ranges) {
		free(image->ranges);
		image->ranges = NULL;
		rc = core_build_ranges(image, core);
	}
	if (rc < 0)
		return rc;
	for (i = 0; i < image->nr_ranges; i++)
		image->has_io_uring = image->has_io_uring || image_range_queues(&image->ranges[i]);
	program = core->entry ? image_find_range(image, core->entry) : NULL;
	image->exe = program && !image_range_anonymous(program) ? program->path : "";
	rc = image_find_modules(image);
	if (rc < 0)
		return rc;
	core->files = calloc(image->nr_modules + 1, sizeof(*core->files));
	if (!core->files)
		return -ENOMEM;
	core_find_syscalls(image);
	return 0;
}

int image_open_core(struct process_image *image, const char *path, const char *exe, struct err *err)
{
	struct image_core *core = calloc(1, sizeof(*core));
	int rc;

	memset(image, 0, sizeof(*image));
	image->kind = IMAGE_CORE;
	if (!core)
		return err_set(err, -ENOMEM, "cannot read core file '%s': out of memory", path);
	rc = core_file_open(&core->file, path, err);
	if (rc < 0) {
		free(core);
		return rc;
	}
	image->machine = image_own_machine();
	image->is_truncated = core->file.is_truncated;
	core->backend.operations = &core_operations;
	image->backend = &core->backend;
	if (exe) {
		core->exe = image_strings_copy(&core->strings, exe);
		rc = core->exe ? 0 : -ENOMEM;
	}
	if (!rc)
		rc = core_start(image, core);
	if (rc < 0) {
		image_close(image);
		return err_set(err, rc, "cannot read core file '%s': %s", path, strerror(-rc));
	}
	return 0;
}
