/* SPDX-License-Identifier: MIT */
/*
 * image_save.c - write a running process to a core file.
 *
 * The file has the memory that image_visit() passes on, and of each module what is needed to
 * recognize it elsewhere: its headers, its notes, and the constants that the loader relocated.
 * Pages of zeros are holes.  The program headers are at the end: their number is known last.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/output_file.h"
#include "process/elf_headers.h"
#include "process/image_backend.h"
#include "process/image_registers.h"
#include "process/saved_image.h"
#include "base/io.h"

#define SAVE_PAGE  ((size_t)4096)
#define SAVE_PIECE ((size_t)65536)

struct image_save_state {
	struct process_image *image;
	struct outfile file;
	uint64_t end;          /* of the file */
	struct bytes segments; /* Elf64_Phdr */
	struct bytes notes;
	struct bytes extras; /* struct save_extra */
};

/* A part of a module that is not visited. */
struct save_extra {
	uint64_t start, end;
};

static void save_write(struct image_save_state *s, const void *data, size_t size, uint64_t at)
{
	if (!s->file.error && io_pwrite(s->file.fd, data, size, (off_t)at) < 0)
		s->file.error = -errno;
}

/* ---- memory -------------------------------------------------------------- */

static bool page_is_zero(const char *page, size_t size)
{
	return !*page && !memcmp(page, page + 1, size - 1);
}

/* Write all pages but those of zeros. */
static void save_pages(struct image_save_state *s, const char *data, size_t size)
{
	size_t from = 0, at, part;

	for (at = 0; at < size; at += part) {
		part = size - at < SAVE_PAGE ? size - at : SAVE_PAGE;
		if (!page_is_zero(data + at, part))
			continue;
		save_write(s, data + from, at - from, s->end + from);
		from = at + part;
	}
	save_write(s, data + from, size - from, s->end + from);
	s->end += size;
}

static unsigned range_flags(const struct image_range *range)
{
	return (range->can_read ? PF_R : 0u) | (range->can_write ? PF_W : 0u) |
	       (range->can_execute ? PF_X : 0u);
}

/* A gap in the memory begins a new segment: its content is unknown, not zero. */
static int save_memory(void *arg, const struct image_range *range, uint64_t addr, const void *data,
		       size_t size)
{
	struct image_save_state *s = arg;
	struct bytes *segments = &s->segments;
	Elf64_Phdr p = { .p_type = PT_LOAD,
			 .p_flags = range_flags(range),
			 .p_offset = s->end,
			 .p_vaddr = addr,
			 .p_filesz = size,
			 .p_memsz = size,
			 .p_align = SAVE_PAGE };

	if (segments->size) {
		Elf64_Phdr last;
		unsigned char *at = segments->data + segments->size - sizeof(last);

		memcpy(&last, at, sizeof(last));
		if (last.p_vaddr + last.p_memsz == addr && addr != range->start) {
			last.p_filesz += size;
			last.p_memsz += size;
			memcpy(at, &last, sizeof(last));
			p.p_memsz = 0;
		}
	}
	if (p.p_memsz)
		bytes_add(segments, &p, sizeof(p));
	save_pages(s, data, size);
	return s->file.error ? s->file.error : segments->error;
}

/* ---- modules ------------------------------------------------------------- */

static void extra_add(struct image_save_state *s, uint64_t start, uint64_t size)
{
	struct save_extra extra = {
		.start = start & ~(uint64_t)(SAVE_PAGE - 1),
		.end = (start + size + SAVE_PAGE - 1) & ~(uint64_t)(SAVE_PAGE - 1),
	};

	if (size && extra.start < extra.end)
		bytes_add(&s->extras, &extra, sizeof(extra));
}

static ssize_t save_read_image(const void *arg, uint64_t at, void *buf, size_t size)
{
	return image_read(arg, at, buf, size);
}

static void extras_of_module(struct image_save_state *s, const struct image_module *module)
{
	const struct elf_source source = { .read = save_read_image, .arg = s->image };
	struct elf_headers h;
	size_t i;

	extra_add(s, module->start, SAVE_PAGE);
	if (!elf_headers_read(&h, &source, module->start, s->image->machine))
		return;
	for (i = 0; i < h.nr; i++) {
		const Elf64_Phdr *p = &h.phdrs[i];
		uint64_t start = p->p_vaddr + module->bias;

		if ((p->p_type == PT_NOTE || p->p_type == PT_GNU_RELRO) && start >= module->start &&
		    start < module->end && p->p_memsz <= module->end - start)
			extra_add(s, start, p->p_memsz);
	}
}

static int extra_compare(const void *a, const void *b)
{
	const struct save_extra *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* The first address from @at on that is not in a segment. */
static uint64_t save_skip_segments(const struct image_save_state *s, uint64_t at)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)s->segments.data;
	size_t nr = s->segments.size / sizeof(*p), i;

	for (i = 0; i < nr; i++) {
		if (at >= p[i].p_vaddr && at - p[i].p_vaddr < p[i].p_memsz)
			return p[i].p_vaddr + p[i].p_memsz;
	}
	return at;
}

/* The part of a range that was not visited; what cannot be read is left out. */
static int save_extra_memory(struct image_save_state *s, const struct image_range *range,
			     uint64_t from, uint64_t to)
{
	char data[SAVE_PIECE];
	int rc = 0;

	if (image_range_visited(range) || !range->can_read)
		return 0;
	while (from < to && !rc) {
		uint64_t free_at = save_skip_segments(s, from);
		ssize_t got;

		if (free_at != from) {
			from = free_at;
			continue;
		}
		got = image_read(s->image, from, data, SAVE_PAGE);
		if (got <= 0)
			break;
		rc = save_memory(s, range, from, data, (size_t)got);
		from += (uint64_t)got;
	}
	return rc;
}

static int save_modules(struct image_save_state *s)
{
	const struct process_image *image = s->image;
	const struct save_extra *extras;
	uint64_t done = 0;
	size_t i, nr;
	int rc = 0;

	for (i = 0; i < image->nr_modules; i++)
		extras_of_module(s, &image->modules[i]);
	nr = s->extras.size / sizeof(*extras);
	extras = (const struct save_extra *)s->extras.data;
	if (nr)
		qsort(s->extras.data, nr, sizeof(*extras), extra_compare);
	for (i = 0; i < nr && !rc; i++) {
		uint64_t at = extras[i].start > done ? extras[i].start : done;

		while (at < extras[i].end && !rc) {
			const struct image_range *range = image_find_range(image, at);
			uint64_t to = range && range->end < extras[i].end ? range->end
									  : extras[i].end;

			if (range)
				rc = save_extra_memory(s, range, at, to);
			at = done = to;
		}
	}
	return rc ? rc : s->extras.error;
}

/* ---- notes --------------------------------------------------------------- */

static void note_begin(struct bytes *notes, const char *owner, uint32_t type, size_t size)
{
	static const char zeros[4];
	Elf64_Nhdr h = { (uint32_t)strlen(owner) + 1, (uint32_t)size, type };

	bytes_add(notes, &h, sizeof(h));
	bytes_add(notes, owner, h.n_namesz);
	bytes_add(notes, zeros, -notes->size & 3);
}

static void note_end(struct bytes *notes)
{
	static const char zeros[4];

	bytes_add(notes, zeros, -notes->size & 3);
}

static void note_add(struct bytes *notes, const char *owner, uint32_t type, const void *data,
		     size_t size)
{
	note_begin(notes, owner, type, size);
	bytes_add(notes, data, size);
	note_end(notes);
}

/* The beginning of a file of the process; 0: not readable. */
static size_t save_read_proc(const struct process_image *image, const char *name, char *buf,
			     size_t size)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)image->pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, buf, size);
	close(fd);
	return got > 0 ? (size_t)got : 0;
}

static void save_thread(struct bytes *notes, const struct image_thread *t)
{
	struct elf_prstatus status;
	struct saved_thread saved;
	uint64_t raw[REGISTERS_RAW];

	memset(&status, 0, sizeof(status));
	status.pr_pid = t->tid;
	registers_get(t, raw);
	memcpy(&status.pr_reg, raw, sizeof(raw));
	note_add(notes, "CORE", NT_PRSTATUS, &status, sizeof(status));
	memset(&saved, 0, sizeof(saved));
	saved.tid = t->tid;
	saved.state = t->state;
	saved.flags = (uint8_t)((t->has_syscall ? SAVED_HAS_SYSCALL : 0u) |
				(t->has_registers ? SAVED_HAS_REGISTERS : 0u));
	memcpy(saved.name, t->name, sizeof(saved.name));
	saved.syscall_nr = t->syscall_nr;
	memcpy(saved.args, t->args, sizeof(saved.args));
	saved.sp = t->sp;
	saved.pc = t->pc;
	saved.switches = t->switches;
	saved.cpu_ns = t->cpu_ns;
	note_add(notes, SAVED_OWNER, SAVED_THREAD, &saved, sizeof(saved));
}

static void save_process(struct bytes *notes, const struct process_image *image)
{
	struct saved_process saved = {
		.pid = image->pid,
		.flags = (image->has_io_uring ? SAVED_IO_URING : 0) |
			 (image->has_run ? SAVED_RAN : 0),
		.bytes_swapped = image->bytes_swapped,
		.bytes_failed = image->bytes_failed,
		.bytes_hidden = image->bytes_hidden,
	};
	struct elf_prpsinfo info;
	char auxv[4096];
	size_t i, size;

	memset(&info, 0, sizeof(info));
	info.pr_sname = 'S';
	info.pr_pid = image->pid;
	memcpy(info.pr_fname, image->name, sizeof(info.pr_fname) - 1);
	size = save_read_proc(image, "cmdline", info.pr_psargs, sizeof(info.pr_psargs) - 1);
	for (i = 0; i + 1 < size; i++) {
		if (!info.pr_psargs[i])
			info.pr_psargs[i] = ' ';
	}
	note_add(notes, "CORE", NT_PRPSINFO, &info, sizeof(info));
	note_add(notes, SAVED_OWNER, SAVED_PROCESS, &saved, sizeof(saved));
	size = save_read_proc(image, "auxv", auxv, sizeof(auxv));
	note_add(notes, "CORE", NT_AUXV, auxv, size);
}

/* A count, the page size, {start, end, page of the file} for each mapped file, and the paths. */
static void save_files(struct bytes *notes, const struct process_image *image)
{
	uint64_t head[2] = { 0, SAVE_PAGE };
	struct bytes list = { 0 }, paths = { 0 };
	size_t i;

	for (i = 0; i < image->nr_ranges; i++) {
		const struct image_range *range = &image->ranges[i];
		uint64_t entry[3] = { range->start, range->end, range->offset / SAVE_PAGE };

		if (image_range_anonymous(range))
			continue;
		head[0]++;
		bytes_add(&list, entry, sizeof(entry));
		bytes_add(&paths, range->path, strlen(range->path) + 1);
	}
	note_begin(notes, "CORE", NT_FILE, sizeof(head) + list.size + paths.size);
	bytes_add(notes, head, sizeof(head));
	bytes_add(notes, list.data, list.size);
	bytes_add(notes, paths.data, paths.size);
	note_end(notes);
	if (list.error || paths.error)
		notes->error = -ENOMEM;
	bytes_release(&list);
	bytes_release(&paths);
}

static void save_ranges(struct bytes *notes, const struct process_image *image)
{
	uint64_t nr = image->nr_ranges;
	size_t i, paths = 0;

	for (i = 0; i < nr; i++)
		paths += strlen(image->ranges[i].path) + 1;
	note_begin(notes, SAVED_OWNER, SAVED_RANGES,
		   sizeof(nr) + nr * sizeof(struct saved_range) + paths);
	bytes_add(notes, &nr, sizeof(nr));
	for (i = 0; i < nr; i++) {
		const struct image_range *range = &image->ranges[i];
		struct saved_range saved = {
			.start = range->start,
			.end = range->end,
			.offset = range->offset,
			.flags = (range->can_read ? SAVED_READ : 0) |
				 (range->can_write ? SAVED_WRITE : 0) |
				 (range->can_execute ? SAVED_EXEC : 0) |
				 (range->is_shared ? SAVED_SHARED : 0),
		};

		bytes_add(notes, &saved, sizeof(saved));
	}
	for (i = 0; i < nr; i++)
		bytes_add(notes, image->ranges[i].path, strlen(image->ranges[i].path) + 1);
	note_end(notes);
}

static void save_notes(struct image_save_state *s)
{
	const struct process_image *image = s->image;
	size_t i;

	for (i = 0; i < image->nr_threads; i++)
		save_thread(&s->notes, &image->threads[i]);
	save_process(&s->notes, image);
	save_files(&s->notes, image);
	save_ranges(&s->notes, image);
	if (image->kernel_state)
		note_add(&s->notes, SAVED_OWNER, SAVED_KERNEL_STATE, image->kernel_state,
			 strlen(image->kernel_state));
}

/* ---- the file ------------------------------------------------------------ */

static int segment_order(const void *a, const void *b)
{
	const Elf64_Phdr *x = a, *y = b;

	return (x->p_vaddr > y->p_vaddr) - (x->p_vaddr < y->p_vaddr);
}

/* The notes, the program headers, and the header. */
static int save_headers(struct image_save_state *s)
{
	Elf64_Phdr notes = {
		.p_type = PT_NOTE, .p_offset = s->end, .p_filesz = s->notes.size, .p_align = 4
	};
	uint64_t nr = s->segments.size / sizeof(notes) + 1;
	struct {
		Elf64_Ehdr e;
		Elf64_Shdr section;
	} head = { 0 };

	if (s->notes.error || s->segments.error)
		return -ENOMEM;
	save_write(s, s->notes.data, s->notes.size, s->end);
	s->end += (s->notes.size + 7) & ~(size_t)7;
	memcpy(head.e.e_ident, ELFMAG, SELFMAG);
	head.e.e_ident[EI_CLASS] = ELFCLASS64;
	head.e.e_ident[EI_DATA] = ELFDATA2LSB;
	head.e.e_ident[EI_VERSION] = EV_CURRENT;
	head.e.e_type = ET_CORE;
	head.e.e_machine = (Elf64_Half)s->image->machine;
	head.e.e_version = EV_CURRENT;
	head.e.e_ehsize = sizeof(head.e);
	head.e.e_phentsize = sizeof(notes);
	head.e.e_phoff = s->end;
	head.e.e_phnum = nr < PN_XNUM ? (Elf64_Half)nr : PN_XNUM;
	if (nr >= PN_XNUM) {
		head.e.e_shoff = sizeof(head.e);
		head.e.e_shentsize = sizeof(head.section);
		head.e.e_shnum = 1;
		head.section.sh_info = (Elf64_Word)nr;
	}
	if (s->segments.size)
		qsort(s->segments.data, s->segments.size / sizeof(notes), sizeof(notes),
		      segment_order);
	save_write(s, &notes, sizeof(notes), s->end);
	save_write(s, s->segments.data, s->segments.size, s->end + sizeof(notes));
	save_write(s, &head, sizeof(head), 0);
	return 0;
}

/* The memory is of one moment only if no thread has run since the threads were listed. */
static void save_compare_threads(struct process_image *image)
{
	struct image_thread *now;
	ssize_t nr = image_read_tasks(image->pid, &now);

	image->has_run = nr < 0 ||
			 !image_threads_idle(image->threads, image->nr_threads, now, (size_t)nr);
	if (nr >= 0)
		free(now);
}

static int save_all(struct image_save_state *s)
{
	int rc;

	s->end = SAVE_PAGE; /* after the header */
	if (fchmod(s->file.fd, 0600) < 0)
		return -errno; /* it has the memory of a process */
	rc = image_visit(s->image, save_memory, s);
	if (!rc)
		rc = image_visit_protected(s->image, save_memory, s);
	if (!rc)
		rc = save_modules(s);
	if (!rc)
		save_compare_threads(s->image);
	if (rc)
		return rc;
	save_notes(s);
	return save_headers(s);
}

int image_save(struct process_image *image, const char *path, struct err *err)
{
	struct image_save_state s = { .image = image };
	int rc;

	if (image->kind != IMAGE_RUNNING)
		return err_set(err, -EINVAL, "cannot save '%s': the process is in a file already",
			       path);
	rc = outfile_reserve(&s.file, path, err);
	if (rc < 0)
		return rc;
	rc = save_all(&s);
	if (rc && !s.file.error)
		err_set(err, rc, "cannot save process %d: %s", (int)image->pid,
			rc == -ESRCH    ? "it has ended"
			: rc == -ESTALE ? "it has executed another program"
					: strerror(-rc));
	else
		rc = outfile_commit(&s.file, err);
	outfile_close(&s.file);
	bytes_release(&s.segments);
	bytes_release(&s.notes);
	bytes_release(&s.extras);
	return rc;
}
