/* SPDX-License-Identifier: MIT */
/* process_image.c - what running processes and core files have in common. */
#include "process/process_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory_shortage.h"
#include "process/image_backend.h"
#include "process/registers_bpf.h"

/* ---- strings ------------------------------------------------------------- */

struct image_string {
	struct image_string *next;
	char text[];
};

char *image_strings_copy_n(struct image_strings *strings, const char *text, size_t len)
{
	struct image_string *s = malloc(sizeof(*s) + len + 1);

	if (!s)
		return NULL;
	memcpy(s->text, text, len);
	s->text[len] = '\0';
	s->next = strings->first;
	strings->first = s;
	return s->text;
}

const char *image_strings_copy(struct image_strings *strings, const char *text)
{
	return image_strings_copy_n(strings, text, strlen(text));
}

void image_strings_free(struct image_strings *strings)
{
	struct image_string *s, *next;

	for (s = strings->first; s; s = next) {
		next = s->next;
		free(s);
	}
	strings->first = NULL;
}

/* ---- ranges -------------------------------------------------------------- */

const struct image_range *image_find_range(const struct process_image *image, uint64_t addr)
{
	size_t from = 0, to = image->nr_ranges;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (image->ranges[middle].start <= addr)
			from = middle + 1;
		else
			to = middle;
	}
	return from && addr < image->ranges[from - 1].end ? &image->ranges[from - 1] : NULL;
}

bool image_range_anonymous(const struct image_range *range)
{
	return !*range->path || *range->path == '[';
}

/* Memory of devices has side effects; these are files in memory. */
static bool range_is_device(const char *path)
{
	static const char *const memory[] = { "/dev/shm/", "/dev/zero", "/dev/hugepages" };
	size_t i;

	if (strncmp(path, "/dev/", 5) != 0)
		return false;
	for (i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
		if (!strncmp(path, memory[i], strlen(memory[i])))
			return false;
	}
	return true;
}

bool image_range_visited(const struct image_range *range)
{
	if (!range->can_read || !strncmp(range->path, "[vvar", 5) ||
	    !strcmp(range->path, "[vdso]") || !strcmp(range->path, "[vsyscall]") ||
	    range_is_device(range->path))
		return false;
	return range->can_write || range->is_shared || image_range_anonymous(range);
}

bool image_range_protected(const struct image_range *range)
{
	return range->can_read && !range->can_write && !range->is_shared &&
	       !image_range_anonymous(range) && !range_is_device(range->path);
}

bool image_range_queues(const struct image_range *range)
{
	return !strcmp(range->path, "anon_inode:[io_uring]") || !strcmp(range->path, "/[aio]");
}

/* The path comes from the process: it may name a pipe or a device. */
bool image_file_opens(const char *path)
{
	struct stat st;
	int fd;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		close(fd);
	else
		memory_shortage_check(errno);
	return fd >= 0;
}

/* ---- machines ------------------------------------------------------------ */

unsigned image_own_machine(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#else
	return EM_NONE;
#endif
}

static const char *machine_name(unsigned machine)
{
	switch (machine) {
	case EM_386:
		return "32-bit x86";
	case EM_X86_64:
		return "x86_64";
	case EM_ARM:
		return "32-bit Arm";
	case EM_AARCH64:
		return "aarch64";
	case EM_RISCV:
		return "RISC-V";
	case EM_PPC64:
		return "PowerPC 64";
	case EM_S390:
		return "s390";
	default:
		return "another machine";
	}
}

int image_check_machine(const void *header, size_t size, const char *what, struct err *err)
{
	Elf64_Ehdr h;
	unsigned machine;

	/* e_machine has the same place in both classes. */
	if (size < offsetof(Elf64_Ehdr, e_version) || memcmp(header, ELFMAG, SELFMAG) != 0)
		return err_set(err, -ENOEXEC, "cannot inspect %s: it is not an ELF file", what);
	memset(&h, 0, sizeof(h));
	memcpy(&h, header, offsetof(Elf64_Ehdr, e_version));
	machine = h.e_machine;
	if (h.e_ident[EI_DATA] != ELFDATA2LSB) {
		err_set(err, -ENOTSUP, "cannot inspect %s: its byte order is big-endian", what);
	} else if (h.e_ident[EI_CLASS] != ELFCLASS64) {
		err_set(err, -ENOTSUP, "cannot inspect %s: it is a 32-bit program (%s)", what,
			machine == EM_X86_64 ? "x32" : machine_name(machine));
	} else if (machine != image_own_machine()) {
		err_set(err, -ENOTSUP, "cannot inspect %s: it is a program for %s", what,
			machine_name(machine));
	} else {
		return 0;
	}
	err_hint(err, "this corotracer inspects 64-bit programs for %s",
		 machine_name(image_own_machine()));
	return -ENOTSUP;
}

/* ---- operations ---------------------------------------------------------- */

void image_close(struct process_image *image)
{
	if (image->backend) {
		image_strings_free(&image->backend->module_strings);
		if (image->backend->bpf)
			registers_bpf_close(image->backend->bpf);
		free(image->backend->bpf);
		image->backend->operations->close(image);
	}
	free(image->ranges);
	free(image->modules);
	free(image->threads);
	free(image->vectors);
	free(image->kernel_state);
	memset(image, 0, sizeof(*image));
}

int image_read_threads(struct process_image *image, struct err *err)
{
	return image->backend->operations->read_threads(image, err);
}

int image_refresh_ranges(struct process_image *image, struct err *err)
{
	return image->backend->operations->read_ranges(image, err);
}

int image_read_ranges(struct process_image *image, struct err *err)
{
	int rc = image_refresh_ranges(image, err);

	if (!rc && image_find_modules(image) < 0)
		rc = err_set(err, -ENOMEM, "cannot read the mappings of process %d: out of memory",
			     (int)image->pid);
	return rc;
}

ssize_t image_read(const struct process_image *image, uint64_t addr, void *buf, size_t size)
{
	if (!size)
		return 0;
	if (addr + size < addr)
		size = (size_t)(0 - addr);
	return image->backend->operations->read(image, addr, buf, size);
}

int image_visit(struct process_image *image, image_visitor visit, void *arg)
{
	image->bytes_read = image->bytes_absent = 0;
	image->bytes_swapped = image->bytes_failed = image->bytes_hidden = 0;
	return image->backend->operations->visit(image, visit, arg);
}

int image_visit_protected(struct process_image *image, image_visitor visit, void *arg)
{
	return image->backend->operations->visit_protected(image, visit, arg);
}

/* ---- threads ------------------------------------------------------------- */

static int thread_compare(const void *a, const void *b)
{
	const struct image_thread *x = *(const struct image_thread *const *)a;
	const struct image_thread *y = *(const struct image_thread *const *)b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Pointers to the threads, by ascending tid.  NULL: out of memory. */
static const struct image_thread **threads_sorted(const struct image_thread *threads, size_t nr)
{
	const struct image_thread **list = malloc(nr * sizeof(void *));
	size_t i;

	for (i = 0; list && i < nr; i++)
		list[i] = &threads[i];
	if (list)
		qsort(list, nr, sizeof(void *), thread_compare);
	return list;
}

static bool thread_has_run(const struct image_thread *earlier, const struct image_thread *now)
{
	return earlier->tid != now->tid || earlier->switches != now->switches ||
	       earlier->state == 'R' || now->state == 'R';
}

bool image_threads_idle(const struct image_thread *earlier, size_t nr_earlier,
			const struct image_thread *now, size_t nr_now)
{
	const struct image_thread **a, **b;
	bool idle;
	size_t i;

	if (nr_earlier != nr_now)
		return false;
	if (!nr_now)
		return true;
	a = threads_sorted(earlier, nr_now);
	b = threads_sorted(now, nr_now);
	idle = a && b;
	for (i = 0; idle && i < nr_now; i++)
		idle = !thread_has_run(a[i], b[i]);
	free(a);
	free(b);
	return idle;
}

/* ---- registers ----------------------------------------------------------- */

bool image_add_vectors(struct process_image *image, const void *data, size_t size)
{
	size_t nr = size / sizeof(uint64_t), i;
	uint64_t word;

	if (image->nr_vectors + nr > image->room_vectors) {
		size_t room = 2 * (image->nr_vectors + nr);
		uint64_t *more = reallocarray(image->vectors, room, sizeof(*more));

		if (!more)
			return false;
		image->vectors = more;
		image->room_vectors = room;
	}
	for (i = 0; i < nr; i++) {
		memcpy(&word, (const char *)data + i * sizeof(word), sizeof(word));
		if (word)
			image->vectors[image->nr_vectors++] = word;
	}
	return true;
}

static int image_load_bpf(struct process_image *image, struct err *err)
{
	struct registers_bpf *bpf;
	int rc;

	if (image->backend->bpf)
		return 0;
	bpf = malloc(sizeof(*bpf));
	if (!bpf)
		return err_set(err, -ENOMEM, "cannot read registers: out of memory");
	rc = registers_bpf_open(bpf, image->pid, err);
	if (rc < 0)
		free(bpf);
	else
		image->backend->bpf = bpf;
	return rc;
}

/* The registers of a thread that ran since @earlier are those of an earlier system call. */
static void threads_drop_registers(struct process_image *image, const struct image_thread *now,
				   size_t nr_now)
{
	size_t i, k;

	for (i = 0; i < image->nr_threads; i++) {
		struct image_thread *t = &image->threads[i];

		/* Both lists are in the same order. */
		for (k = 0; k < nr_now; k++) {
			if (now[(i + k) % nr_now].tid == t->tid)
				break;
		}
		if (k < nr_now && !thread_has_run(t, &now[(i + k) % nr_now]))
			continue;
		t->has_registers = false;
		t->nr_registers = 0;
	}
}

static int image_registers_by_bpf(struct process_image *image, struct err *err)
{
	struct image_thread *earlier;
	ssize_t got;
	size_t nr;
	int rc = image_load_bpf(image, err);

	if (!rc)
		rc = image_read_threads(image, err);
	if (rc < 0)
		return rc;
	got = registers_bpf_read(image->backend->bpf, image->threads, image->nr_threads, err);
	if (got < 0)
		return (int)got;
	earlier = image->threads;
	nr = image->nr_threads;
	image->threads = NULL;
	image->nr_threads = 0;
	rc = image_read_threads(image, err);
	if (!rc) {
		struct image_thread *now = image->threads;
		size_t nr_now = image->nr_threads;

		image->threads = earlier;
		image->nr_threads = nr;
		threads_drop_registers(image, now, nr_now);
		free(now);
		return 0;
	}
	free(earlier);
	return rc;
}

int image_read_registers(struct process_image *image, enum image_registers_mode mode,
			 struct err *err)
{
	int rc;

	if (image->kind == IMAGE_CORE)
		return 0;
	if (mode == IMAGE_REGISTERS_BPF)
		return image_registers_by_bpf(image, err);
	rc = image_read_threads(image, err);
	return rc ? rc : image_stop_threads(image, NULL, NULL, err);
}
