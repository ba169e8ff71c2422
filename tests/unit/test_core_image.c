/* SPDX-License-Identifier: MIT */
/* test_core_image.c - a process is read from the core files of the kernel and of gdb. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/procfs.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "process/core_file.h"
#include "process/image_backend.h"
#include "process/process_image.h"

#define PAGE    ((size_t)4096)
#define PATTERN UINT64_C(0x6f6c6c65682d6f63)
#define PAGES   64

static struct err err;
static char folder[64];
static char *sparse; /* the same in parent and child */

/* ---- a process ----------------------------------------------------------- */

static void memory_map(void)
{
	int i;

	sparse = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	CHECK(sparse != MAP_FAILED);
	madvise(sparse, PAGES * PAGE, MADV_NOHUGEPAGE);
	for (i = 0; i < PAGES; i += 2)
		memcpy(sparse + (size_t)i * PAGE, &(uint64_t){ PATTERN + (uint64_t)i }, 8);
}

/* A child that blocks in read() on a pipe; the caller ends it. */
static pid_t child_start(int *input)
{
	struct image_thread *threads;
	int ends[2];
	pid_t pid;
	char byte;
	bool asleep = false;

	CHECK_EQ(pipe(ends), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setrlimit(RLIMIT_CORE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
		close(ends[1]);
		_exit(chdir(folder) < 0 || read(ends[0], &byte, 1) < 0);
	}
	close(ends[0]);
	*input = ends[1];
	while (!asleep) {
		CHECK_EQ(image_read_tasks(pid, &threads), 1);
		asleep = threads->has_syscall && threads->syscall_nr == SYS_read;
		free(threads);
		usleep(1000);
	}
	return pid;
}

static void child_end(pid_t pid, int input, int sig)
{
	int status;

	kill(pid, sig);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	close(input);
}

/* ---- what a core must contain -------------------------------------------- */

struct seen {
	unsigned marks[128];
	uint64_t bytes, last;
	uint64_t start, size; /* where marks count; everywhere without a size */
};

static bool is_looked_at(const struct seen *s, uint64_t addr)
{
	return !s->size || addr - s->start < s->size;
}

static int seen_visit(void *arg, const struct image_range *range, uint64_t addr, const void *data,
		      size_t size)
{
	struct seen *s = arg;
	size_t i;

	CHECK(size && addr >= range->start && addr + size <= range->end && addr >= s->last);
	CHECK_EQ((uintptr_t)data % 8, 0);
	s->last = addr + size;
	s->bytes += size;
	for (i = 0; i + 8 <= size; i += PAGE) {
		uint64_t word;

		memcpy(&word, (const char *)data + i, sizeof(word));
		if (is_looked_at(s, addr + i) && word >= PATTERN && word < PATTERN + 128)
			s->marks[word - PATTERN]++;
	}
	return 0;
}

static void check_memory(struct process_image *image)
{
	/* A copy of the pattern on the stack may begin a page, too. */
	struct seen seen = { .start = (uint64_t)(uintptr_t)sparse, .size = PAGES * PAGE };
	uint64_t word;
	int i;

	CHECK_EQ(image_visit(image, seen_visit, &seen), 0);
	for (i = 0; i < PAGES; i++)
		CHECK_EQ(seen.marks[i], i % 2 == 0);
	CHECK_EQ(seen.bytes, image->bytes_read);
	CHECK_EQ(image->bytes_failed, 0);
	CHECK_EQ(image_read(image, (uint64_t)(uintptr_t)sparse + 2 * PAGE, &word, 8), 8);
	CHECK(word == PATTERN + 2);
	CHECK_EQ(image_read(image, 16, &word, 8), -EFAULT);
}

static int module_check(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct process_image *image = arg;
	char code[64];
	size_t i, m;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t text = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		for (m = 0; m < image->nr_modules; m++) {
			if (text < image->modules[m].start || text >= image->modules[m].end)
				continue;
			CHECK_EQ(image->modules[m].bias, info->dlpi_addr);
			/* Code is not in the core: the module's file has it. */
			CHECK_EQ(image_read(image, text, code, sizeof(code)), sizeof(code));
			// NOLINTNEXTLINE(performance-no-int-to-ptr)
			CHECK(memcmp(code, (const void *)(uintptr_t)text, sizeof(code)) == 0);
			image->bytes_read++;
		}
	}
	return 0;
}

static void check_modules(struct process_image *image)
{
	char exe[4096] = "";

	CHECK(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	CHECK_STR(image->exe, exe);
	image->bytes_read = 0;
	dl_iterate_phdr(module_check, image);
	CHECK(image->bytes_read >= 2);
	CHECK_EQ(image->bytes_read, image->nr_modules);
	CHECK(image->modules[0].build_id);
}

static void check_thread(const struct process_image *image, pid_t pid)
{
	const struct image_thread *t = image->threads;

	CHECK_EQ(image->nr_threads, 1);
	CHECK_EQ(t->tid, pid);
	CHECK_EQ(image->pid, pid);
	CHECK(t->has_registers && t->sp && t->pc);
	CHECK(image_find_range(image, t->pc)->can_execute);
	CHECK_STR(image_find_range(image, t->sp)->path, "[stack]");
	CHECK(t->has_syscall);
	CHECK_EQ(t->syscall_nr, SYS_read);
	CHECK_EQ(t->args[2], 1);
}

static void check_core(const char *path, pid_t pid)
{
	struct process_image image;
	int rc = image_open_core(&image, path, NULL, &err);

	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(rc, 0);
	CHECK(!image.is_truncated);
	CHECK(strncmp(image.name, "test_core_image", 15) == 0);
	check_memory(&image);
	check_modules(&image);
	check_thread(&image, pid);
	CHECK_EQ(image_read_threads(&image, &err), 0);
	CHECK_EQ(image_read_ranges(&image, &err), 0);
	image_close(&image);
	CHECK_EQ(image_open_core(&image, path, "/proc/self/exe", &err), 0);
	CHECK_STR(image.modules[0].open_path, "/proc/self/exe");
	check_modules(&image);
	image_close(&image);
}

/* ---- cores of others ------------------------------------------------------- */

/* A core from gdb: its path, or NULL without gdb. */
static const char *gdb_core(pid_t *pid)
{
	static char path[128];
	char command[256];
	int input, rc;

#if defined(__SANITIZE_ADDRESS__)
	return NULL; /* gdb would write 20 TB of shadow memory */
#endif
	*pid = child_start(&input);
	snprintf(path, sizeof(path), "%s/gdb.%d", folder, (int)*pid);
	snprintf(command, sizeof(command), "timeout 60 gcore -o %s/gdb %d >/dev/null 2>&1", folder,
		 (int)*pid);
	rc = system(command); // NOLINT(cert-env33-c)
	child_end(*pid, input, SIGKILL);
	return rc == 0 && access(path, R_OK) == 0 ? path : NULL;
}

static const char *kernel_core(pid_t *pid)
{
	static char path[128];
	int input;

	*pid = child_start(&input);
	child_end(*pid, input, SIGABRT);
	snprintf(path, sizeof(path), "%s/core", folder);
	if (access(path, R_OK) < 0)
		snprintf(path, sizeof(path), "%s/core.%d", folder, (int)*pid);
	return access(path, R_OK) == 0 ? path : NULL;
}

static void cores_of_gdb_are_read(void)
{
	pid_t pid = 0;
	const char *path = gdb_core(&pid);

	if (path)
		check_core(path, pid);
	else
		printf("no gcore here\n");
}

static void cores_of_the_kernel_are_read(void)
{
	pid_t pid = 0;
	const char *path = kernel_core(&pid);

	if (path)
		check_core(path, pid);
	else
		printf("the kernel writes no cores here\n");
}

static void truncated_cores_count_what_is_missing(void)
{
	struct process_image image;
	struct seen seen = { 0 };
	struct stat st;
	pid_t pid = 0;
	const char *path = kernel_core(&pid);
	uint64_t all = 0, part;
	off_t size;

	if (!path)
		return;
	CHECK_EQ(stat(path, &st), 0);
	for (size = st.st_size; size > 0; size = size * 3 / 4 - 1) {
		CHECK_EQ(truncate(path, size), 0);
		if (image_open_core(&image, path, NULL, &err) < 0) {
			CHECK(*err.text && strstr(err.text, path));
			continue;
		}
		memset(&seen, 0, sizeof(seen));
		CHECK_EQ(image_visit(&image, seen_visit, &seen), 0);
		part = image.bytes_read + image.bytes_absent + image.bytes_failed;
		if (size == st.st_size)
			all = part;
		CHECK(image.is_truncated == (image.bytes_failed > 0 || size < st.st_size));
		if (size > st.st_size / 2)
			CHECK_EQ(part, all);
		image_close(&image);
	}
}

/* ---- cores of our own ------------------------------------------------------- */

#define KERNEL_STATE "{\"epoll\": [\"\u00e4\"]}"

static void check_same(const struct process_image *a, const struct process_image *b)
{
	const struct image_thread *t = a->threads, *u = b->threads;
	size_t i;

	CHECK_EQ(a->nr_ranges, b->nr_ranges);
	for (i = 0; i < a->nr_ranges; i++) {
		const struct image_range *x = &a->ranges[i], *y = &b->ranges[i];

		CHECK(x->start == y->start && x->end == y->end && x->offset == y->offset);
		CHECK(x->can_read == y->can_read && x->can_write == y->can_write);
		CHECK(x->can_execute == y->can_execute && x->is_shared == y->is_shared);
		CHECK_STR(x->path, y->path);
	}
	CHECK_EQ(a->nr_modules, b->nr_modules);
	for (i = 0; i < a->nr_modules; i++) {
		CHECK_STR(a->modules[i].path, b->modules[i].path);
		CHECK_STR(a->modules[i].build_id, b->modules[i].build_id);
		CHECK_EQ(a->modules[i].end, b->modules[i].end);
	}
	CHECK_EQ(t->has_registers, u->has_registers);
	CHECK_EQ(memcmp(t->registers, u->registers, sizeof(t->registers)), 0);
	CHECK(t->sp == u->sp && t->pc == u->pc && t->switches == u->switches);
	CHECK_STR(t->name, u->name);
	CHECK_EQ(t->state, u->state);
	CHECK_EQ(memcmp(t->args, u->args, sizeof(t->args)), 0);
}

/* gdb prints the word at the third page of the memory above. */
static void check_gdb_reads(const char *path)
{
	char command[512], line[256], expected[64];
	bool found = false;
	FILE *out;

	if (system("gdb --version >/dev/null 2>&1") != 0) // NOLINT(cert-env33-c)
		return;
	snprintf(command, sizeof(command),
		 "timeout 60 gdb -nx -batch -iex 'set debuginfod enabled off' -core %s "
		 "-ex 'x/1gx %#lx' -ex 'info threads' 2>&1",
		 path, (unsigned long)(uintptr_t)sparse + 2 * PAGE);
	snprintf(expected, sizeof(expected), "%#llx", (unsigned long long)PATTERN + 2);
	out = popen(command, "r"); // NOLINT(cert-env33-c)
	CHECK(out);
	while (fgets(line, sizeof(line), out))
		found |= strstr(line, expected) != NULL;
	pclose(out);
	CHECK(found);
}

static void a_saved_process_is_read_back(void)
{
	struct process_image image, copy;
	char path[128];
	struct stat st;
	int input;
	pid_t pid = child_start(&input);

	snprintf(path, sizeof(path), "%s/saved", folder);
	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	CHECK_EQ(image_read_registers(&image, IMAGE_REGISTERS_STOP, &err), 0);
	image.kernel_state = strdup(KERNEL_STATE);
	CHECK_EQ(image_save(&image, path, &err), 0);
	child_end(pid, input, SIGKILL);
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0600);
	check_core(path, pid);
	CHECK_EQ(image_open_core(&copy, path, NULL, &err), 0);
	check_same(&image, &copy);
	CHECK_STR(copy.kernel_state, KERNEL_STATE);
	CHECK_EQ(image_save(&copy, path, &err), -EINVAL);
	image_close(&copy);
	CHECK_EQ(image_save(&image, path, &err), -ESRCH); /* the file stays */
	check_core(path, pid);
	image_close(&image);
	check_gdb_reads(path);
}

static void a_process_without_registers_is_saved_too(void)
{
	struct process_image image, copy;
	char path[128];
	int input;
	pid_t pid = child_start(&input);

	snprintf(path, sizeof(path), "%s/saved", folder);
	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	CHECK_EQ(image_save(&image, path, &err), 0);
	child_end(pid, input, SIGKILL);
	CHECK_EQ(image_open_core(&copy, path, NULL, &err), 0);
	check_same(&image, &copy);
	CHECK(!copy.threads[0].has_registers && copy.threads[0].sp);
	CHECK(copy.kernel_state == NULL);
	image_close(&copy);
	CHECK_EQ(image_save(&image, "/nonexistent/saved", &err), -ENOENT);
	image_close(&image);
}

/* ---- cores that are made here ---------------------------------------------- */

struct made_core {
	Elf64_Ehdr e;
	Elf64_Shdr section; /* with the number of program headers */
	Elf64_Phdr p[3];
	uint32_t padding; /* the note's parts follow each other */
	Elf64_Nhdr note;
	char owner[8];
	struct elf_prstatus status;
	char pages[2][4096];
};

static void made_fill(struct made_core *c)
{
	memset(c, 0, sizeof(*c));
	memcpy(c->e.e_ident, ELFMAG, SELFMAG);
	c->e.e_ident[EI_CLASS] = ELFCLASS64;
	c->e.e_ident[EI_DATA] = ELFDATA2LSB;
	c->e.e_type = ET_CORE;
	c->e.e_machine = (Elf64_Half)image_own_machine();
	c->e.e_phoff = offsetof(struct made_core, p);
	c->e.e_phentsize = sizeof(Elf64_Phdr);
	c->e.e_phnum = PN_XNUM;
	c->e.e_shoff = offsetof(struct made_core, section);
	c->section.sh_info = 3;
	c->p[0] = (Elf64_Phdr){ .p_type = PT_NOTE,
				.p_offset = offsetof(struct made_core, note),
				.p_filesz = sizeof(c->note) + 8 + sizeof(c->status) };
	c->note = (Elf64_Nhdr){ 5, sizeof(c->status), NT_PRSTATUS };
	memcpy(c->owner, "CORE", 5);
	c->status.pr_pid = 77;
	c->p[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
				.p_flags = PF_R | PF_W,
				.p_vaddr = 0x20000,
				.p_offset = offsetof(struct made_core, pages[1]),
				.p_filesz = PAGE,
				.p_memsz = 2 * PAGE };
	c->p[2] = (Elf64_Phdr){ .p_type = PT_LOAD,
				.p_flags = PF_R | PF_W,
				.p_vaddr = 0x10000,
				.p_offset = offsetof(struct made_core, pages[0]),
				.p_filesz = PAGE,
				.p_memsz = PAGE };
	memcpy(c->pages[0], &(uint64_t){ PATTERN }, 8);
	memcpy(c->pages[1], &(uint64_t){ PATTERN + 1 }, 8);
}

static int made_open(const struct made_core *c, size_t size, struct process_image *image)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/made", folder);
	file = fopen(path, "we");
	CHECK(file && fwrite(c, 1, size, file) == size && fclose(file) == 0);
	memset(&err, 0, sizeof(err));
	return image_open_core(image, path, NULL, &err);
}

static void more_program_headers_than_16_bits_are_counted_in_a_section(void)
{
	struct process_image image;
	struct seen seen = { 0 };
	struct made_core c;

	made_fill(&c);
	CHECK_EQ(made_open(&c, sizeof(c), &image), 0);
	CHECK_EQ(image.nr_threads, 1);
	CHECK_EQ(image.threads[0].tid, 77);
	CHECK_EQ(image.nr_ranges, 2);
	CHECK_EQ(image_visit(&image, seen_visit, &seen), 0);
	CHECK(seen.marks[0] == 1 && seen.marks[1] == 1);
	CHECK_EQ(image.bytes_read, 2 * PAGE);
	CHECK_EQ(image.bytes_absent, PAGE);
	image_close(&image);
}

static unsigned nr_visits;

static int visit_once(void *arg, const struct image_range *range, uint64_t addr, const void *data,
		      size_t size)
{
	(void)arg;
	(void)range;
	(void)addr;
	(void)data;
	(void)size;
	nr_visits++;
	return 7; /* it has seen enough */
}

/* A segment of more than two megabytes is visited in pieces, each at its address. */
static void a_large_segment_comes_in_pieces(void)
{
	enum { PIECES_PAGES = 600 };
	static struct {
		struct made_core c;
		char more[PIECES_PAGES][4096];
	} big;
	struct process_image image;
	struct seen seen = { 0 };

	made_fill(&big.c);
	big.c.p[1].p_offset = sizeof(big.c);
	big.c.p[1].p_filesz = big.c.p[1].p_memsz = sizeof(big.more);
	memcpy(big.more[0], &(uint64_t){ PATTERN + 3 }, 8);
	memcpy(big.more[PIECES_PAGES - 1], &(uint64_t){ PATTERN + 4 }, 8);
	CHECK_EQ(made_open(&big.c, sizeof(big), &image), 0);
	CHECK_EQ(image_visit(&image, seen_visit, &seen), 0);
	CHECK(seen.marks[3] == 1 && seen.marks[4] == 1);
	CHECK_EQ(seen.bytes, sizeof(big.more) + PAGE);
	CHECK_EQ(seen.last, 0x20000 + sizeof(big.more));
	nr_visits = 0;
	CHECK_EQ(image_visit(&image, visit_once, NULL), 7);
	CHECK_EQ(nr_visits, 1);
	image_close(&image);
}

static void damaged_cores_have_clear_errors(void)
{
	struct process_image image;
	struct made_core c;

	made_fill(&c);
	c.e.e_machine = EM_S390;
	CHECK_EQ(made_open(&c, sizeof(c), &image), -ENOTSUP);
	CHECK(strstr(err.text, "it is a program for s390"));
	made_fill(&c);
	c.e.e_type = ET_EXEC;
	CHECK_EQ(made_open(&c, sizeof(c), &image), -ENOEXEC);
	CHECK(strstr(err.text, "it is not a core file"));
	made_fill(&c);
	CHECK_EQ(made_open(&c, offsetof(struct made_core, p), &image), -ENOEXEC);
	CHECK(strstr(err.hint, "it is truncated"));
	memcpy(&c, "\x28\xb5\x2f\xfd", 4);
	CHECK_EQ(made_open(&c, sizeof(c), &image), -ENOEXEC);
	CHECK(strstr(err.hint, "compressed"));
	CHECK_EQ(image_open_core(&image, folder, NULL, &err), -EINVAL);
	CHECK_EQ(image_open_core(&image, "/nonexistent/core", NULL, &err), -ENOENT);
}

/* Notes that end behind the file, and notes that begin there. */
static void notes_end_with_the_file(void)
{
	struct {
		Elf64_Ehdr e;
		Elf64_Phdr p[3];
		char notes[100];
	} c = { 0 };
	struct core_file core;
	struct made_core other;
	char path[128];
	int k;

	snprintf(path, sizeof(path), "%s/notes", folder);
	made_fill(&other);
	for (k = 0; k < 4; k++) {
		FILE *f = fopen(path, "w");

		c.e = other.e;
		c.e.e_phnum = 3;
		c.e.e_phoff = offsetof(__typeof__(c), p);
		c.p[0] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_filesz = 100 };
		c.p[0].p_offset = offsetof(__typeof__(c), notes);
		c.p[1] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_filesz = k == 2 ? 1 : 0 };
		c.p[1].p_offset = sizeof(c) + (k == 3 ? 0 : 10);
		c.p[2] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = 0x1000, .p_memsz = 16 };
		c.p[0].p_filesz += k == 1 ? 1 : 0;
		CHECK(f && fwrite(&c, offsetof(__typeof__(c), notes) + 100, 1, f) == 1);
		CHECK_EQ(fclose(f), 0);
		CHECK_EQ(core_file_open(&core, path, &err), 0);
		CHECK_EQ(core.is_truncated, k == 1 || k == 2);
		CHECK_EQ(core.nr_areas, 1);
		CHECK_EQ(core.areas[0].offset, offsetof(__typeof__(c), notes));
		CHECK_EQ(core.areas[0].size, 100);
		core_file_close(&core);
		CHECK(core.fd == -1 && !core.segments);
	}
	unlink(path);
}

/* The files of a core: a count, the page size, {start, end, page} for each, and the paths. */
static void made_add_files(struct made_core *c, unsigned at, uint64_t nr, const char *path)
{
	Elf64_Nhdr head = { 5, 48, NT_FILE };
	uint64_t words[5] = { nr, PAGE, 0x10000, 0x10000 + PAGE, 0 };
	char *to = c->pages[0] + at * sizeof(head) + at * 56UL;

	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), "CORE\0\0\0", 8);
	memcpy(to + sizeof(head) + 8, words, sizeof(words));
	snprintf(to + sizeof(head) + 48, 8, "%s", path);
	c->p[0].p_filesz += sizeof(head) + 56;
}

/* Each core opens; of several lists of files the first one counts that has entries. */
static void lists_of_files_that_are_damaged_are_left_out(void)
{
	static const struct {
		uint64_t first, second;
		const char *path;
	} cases[] = {
		{ 1, 1, "/one" }, { 0, 1, "/two" },          { 2, 1, "/two" },
		{ 2, 2, "" },     { UINT64_MAX, 1, "/two" }, { 1, UINT64_MAX, "/one" },
	};
	struct process_image image;
	struct made_core c;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		made_fill(&c);
		made_add_files(&c, 0, cases[i].first, "/one");
		made_add_files(&c, 1, cases[i].second, "/two");
		CHECK_EQ(made_open(&c, sizeof(c), &image), 0);
		CHECK_EQ(image.ranges[0].start, 0x10000);
		CHECK_STR(image.ranges[0].path, cases[i].path);
		CHECK_EQ(image.nr_threads, 1);
		image_close(&image);
	}
}

static void segments_that_overlap_or_wrap_are_left_out(void)
{
	struct process_image image;
	struct seen seen = { 0 };
	struct made_core c;

	made_fill(&c);
	c.p[1].p_vaddr = 0x10800;
	CHECK_EQ(made_open(&c, sizeof(c), &image), 0);
	CHECK_EQ(image.nr_ranges, 1);
	CHECK_EQ(image_visit(&image, seen_visit, &seen), 0);
	CHECK_EQ(image.bytes_read, PAGE);
	image_close(&image);
	made_fill(&c);
	c.p[1].p_vaddr = UINT64_MAX - 16;
	c.p[2].p_offset = UINT64_MAX - 16;
	memset(&seen, 0, sizeof(seen));
	CHECK_EQ(made_open(&c, sizeof(c), &image), 0);
	CHECK_EQ(image.nr_ranges, 1);
	CHECK_EQ(image_visit(&image, seen_visit, &seen), 0);
	CHECK_EQ(image.bytes_failed, PAGE);
	image_close(&image);
}

static void folder_remove(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK_EQ(system(command), 0); // NOLINT(cert-env33-c)
}

int main(void)
{
	snprintf(folder, sizeof(folder), "/tmp/test_core_image.XXXXXX");
	CHECK(mkdtemp(folder));
	atexit(folder_remove);
	memory_map();
	RUN(more_program_headers_than_16_bits_are_counted_in_a_section);
	RUN(a_large_segment_comes_in_pieces);
	RUN(damaged_cores_have_clear_errors);
	RUN(notes_end_with_the_file);
	RUN(lists_of_files_that_are_damaged_are_left_out);
	RUN(segments_that_overlap_or_wrap_are_left_out);
	RUN(cores_of_the_kernel_are_read);
	RUN(cores_of_gdb_are_read);
	RUN(truncated_cores_count_what_is_missing);
	RUN(a_saved_process_is_read_back);
	RUN(a_process_without_registers_is_saved_too);
	return 0;
}
