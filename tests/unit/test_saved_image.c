/* SPDX-License-Identifier: MIT */
/*
 * test_saved_image.c - the core file of image_save(), read by the rules of ELF: a process that
 * waits, one that runs, and those that cannot be saved.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "check.h"
#include "process/image_backend.h"
#include "process/process_image.h"
#include "process/saved_image.h"

#define PAGE  ((size_t)4096)
#define PAGES 8

static char path[64];
static struct err err;
static char *pages; /* 0 and 1 have data, 2 is zeros, 3 was never touched, 4 is read-only */

/* ---- processes ------------------------------------------------------------------ */

static void memory_map(void)
{
	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	CHECK(pages != MAP_FAILED);
	madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE);
	memset(pages, 'a', PAGE);
	memset(pages + PAGE, 'b', PAGE);
	pages[2 * PAGE] = 1;
	pages[2 * PAGE] = 0;
	memset(pages + 4 * PAGE, 'e', PAGE);
	mprotect(pages + 4 * PAGE, PAGE, PROT_READ);
	mprotect(pages + 5 * PAGE, (PAGES - 5) * PAGE, PROT_NONE);
}

static void wait_for_read(pid_t pid)
{
	struct image_thread *threads;
	bool asleep = false;

	while (!asleep) {
		CHECK_EQ(image_read_tasks(pid, &threads), 1);
		asleep = threads->has_syscall && threads->syscall_nr == SYS_read;
		free(threads);
		usleep(1000);
	}
}

/* A child that waits for a byte, or runs (@waits false). */
static pid_t child_start(int *input, bool waits)
{
	int ends[2];
	pid_t pid;
	char byte;

	CHECK_EQ(pipe(ends), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "it waits a bit");
		close(ends[1]);
		if (!waits) {
			for (;;)
				usleep(1);
		}
		(void)!read(ends[0], &byte, 1);
		_exit(0);
	}
	close(ends[0]);
	*input = ends[1];
	if (waits)
		wait_for_read(pid);
	return pid;
}

static void child_end(pid_t pid, int input)
{
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	close(input);
}

/* ---- the file --------------------------------------------------------------------- */

static uint8_t *core;
static size_t core_size;
static const Elf64_Ehdr *header;
static const Elf64_Phdr *segments;

static void read_core(void)
{
	struct stat st;
	int fd = open(path, O_RDONLY);

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	core_size = (size_t)st.st_size;
	/* Pages of zeros have no room in the file. */
	CHECK((size_t)st.st_blocks * 512 < core_size + 64 * PAGE);
	core = malloc(core_size);
	CHECK(core && io_pread(fd, core, core_size, 0) == (ssize_t)core_size);
	close(fd);
	header = (const Elf64_Ehdr *)core;
	segments = (const Elf64_Phdr *)(core + header->e_phoff);
	CHECK(!memcmp(header->e_ident, ELFMAG, SELFMAG));
	CHECK(header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB);
	CHECK(header->e_ident[EI_VERSION] == EV_CURRENT && header->e_version == EV_CURRENT);
	CHECK_EQ(header->e_type, ET_CORE);
	CHECK_EQ(header->e_machine, image_own_machine());
	CHECK(header->e_ehsize == sizeof(*header) && header->e_phentsize == sizeof(*segments));
	CHECK(header->e_shnum == 0 && header->e_shoff == 0 && header->e_phoff % 8 == 0);
	CHECK_EQ(header->e_phoff + header->e_phnum * sizeof(*segments), core_size);
}

/* The segment with @at; NULL: it is not in the core. */
static const Elf64_Phdr *segment_of(const void *at)
{
	uint64_t addr = (uint64_t)(uintptr_t)at;
	size_t i;

	for (i = 1; i < header->e_phnum; i++) {
		if (addr - segments[i].p_vaddr < segments[i].p_memsz)
			return &segments[i];
	}
	return NULL;
}

static const char *content_of(const char *at)
{
	const Elf64_Phdr *p = segment_of(at);

	return (const char *)core + p->p_offset + ((uint64_t)(uintptr_t)at - p->p_vaddr);
}

static void check_segments(const struct process_image *image)
{
	uint64_t last = 0;
	size_t i;

	CHECK_EQ(segments[0].p_type, PT_NOTE);
	for (i = 1; i < header->e_phnum; i++) {
		const Elf64_Phdr *p = &segments[i];
		const struct image_range *range = image_find_range(image, p->p_vaddr);

		CHECK_EQ(p->p_type, PT_LOAD);
		CHECK(p->p_vaddr >= last && p->p_memsz && p->p_filesz == p->p_memsz);
		CHECK(p->p_offset >= PAGE && p->p_offset + p->p_filesz <= segments[0].p_offset);
		CHECK_EQ(p->p_align, PAGE);
		CHECK(range && p->p_vaddr + p->p_memsz <= range->end);
		CHECK_EQ(p->p_flags, (range->can_read ? PF_R : 0) | (range->can_write ? PF_W : 0) |
					     (range->can_execute ? PF_X : 0));
		last = p->p_vaddr + p->p_memsz;
	}
	/* Two neighbours are one segment; a hole begins another one. */
	CHECK(segment_of(pages) == segment_of(pages + PAGE) && segment_of(pages));
	CHECK(!memcmp(content_of(pages), pages, 2 * PAGE));
	CHECK(!segment_of(pages + 3 * PAGE) && !segment_of(pages + 5 * PAGE));
	CHECK(segment_of(pages + 4 * PAGE) &&
	      !memcmp(content_of(pages + 4 * PAGE), pages + 4 * PAGE, PAGE));
	CHECK(segment_of(pages) != segment_of(pages + 4 * PAGE));
}

/* Each module can be recognized: its first page, with the note of its build-id. */
static void check_modules(const struct process_image *image)
{
	size_t i;

	for (i = 0; i < image->nr_modules; i++) {
		const struct image_module *m = &image->modules[i];
		const char *start = (const char *)(uintptr_t)m->start; // NOLINT

		CHECK(segment_of(start) && !memcmp(content_of(start), ELFMAG, SELFMAG));
		CHECK(!memcmp(content_of(start), start, PAGE / 4));
	}
}

/* ---- notes -------------------------------------------------------------------------- */

static char list[512];

/* The notes, one after the other; the data of the one of @type is returned. */
static const uint8_t *find_note(const char *owner, uint32_t type, size_t *size)
{
	const uint8_t *at = core + segments[0].p_offset, *end = at + segments[0].p_filesz;
	const uint8_t *found = NULL;
	size_t used = 0;

	while (at < end) {
		Elf64_Nhdr h;
		const char *name = (const char *)at + sizeof(h);

		memcpy(&h, at, sizeof(h));
		CHECK_EQ(h.n_namesz, strlen(name) + 1);
		at += sizeof(h) + ((h.n_namesz + 3) & ~3u);
		if (!strcmp(name, owner) && h.n_type == type) {
			found = at;
			*size = h.n_descsz;
		}
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s %u\n", name,
					 h.n_type);
		at += (h.n_descsz + 3) & ~3u;
	}
	CHECK(at == end);
	return found;
}

static void check_thread(pid_t pid, const struct image_thread *t)
{
	struct elf_prstatus status;
	struct saved_thread saved;
	size_t size = 0;

	memcpy(&status, find_note("CORE", NT_PRSTATUS, &size), sizeof(status));
	CHECK_EQ(size, sizeof(status));
	CHECK_EQ(status.pr_pid, pid);
	memcpy(&saved, find_note(SAVED_OWNER, SAVED_THREAD, &size), sizeof(saved));
	CHECK_EQ(size, sizeof(saved));
	CHECK_EQ(saved.tid, pid);
	CHECK_EQ(saved.state, 'S');
	CHECK_EQ(saved.flags, SAVED_HAS_SYSCALL);
	CHECK_STR(saved.name, "it waits a bit");
	CHECK_EQ(saved.syscall_nr, SYS_read);
	CHECK_EQ(saved.args[2], 1);
	CHECK(saved.sp == t->sp && saved.pc == t->pc && saved.sp && saved.pc);
	CHECK(saved.switches == t->switches && saved.switches && saved.cpu_ns == t->cpu_ns);
}

static void check_process(pid_t pid, uint32_t flags)
{
	struct saved_process saved;
	struct elf_prpsinfo info;
	char words[4096], name[64];
	size_t size = 0, got;
	FILE *f;

	memcpy(&info, find_note("CORE", NT_PRPSINFO, &size), sizeof(info));
	CHECK_EQ(size, sizeof(info));
	CHECK(info.pr_sname == 'S' && info.pr_pid == pid);
	CHECK_STR(info.pr_fname, "it waits a bit");
	/* The arguments, with spaces between them. */
	f = fopen("/proc/self/cmdline", "r");
	CHECK(f != NULL);
	got = fread(words, 1, sizeof(info.pr_psargs) - 1, f);
	fclose(f);
	words[got] = '\0';
	CHECK(got > 5 && !memcmp(info.pr_psargs, words, got < 70 ? got : 70));
	CHECK_EQ(info.pr_psargs[sizeof(info.pr_psargs) - 1], 0);
	memcpy(&saved, find_note(SAVED_OWNER, SAVED_PROCESS, &size), sizeof(saved));
	CHECK_EQ(size, sizeof(saved));
	CHECK(saved.pid == pid && saved.flags == flags && saved.bytes_failed == 0);
	/* The same auxiliary vector as in this program, of which the child is a copy. */
	snprintf(name, sizeof(name), "/proc/self/auxv");
	f = fopen(name, "r");
	CHECK(f != NULL);
	got = fread(words, 1, sizeof(words), f);
	fclose(f);
	CHECK(got > 100 && !memcmp(find_note("CORE", NT_AUXV, &size), words, got));
	CHECK_EQ(size, got);
}

/* The files that are mapped: their number, the size of a page, where, and their names. */
static void check_files(const struct process_image *image)
{
	size_t size = 0, i, nr = 0;
	const uint8_t *note = find_note("CORE", NT_FILE, &size);
	const char *name;
	uint64_t word[3];

	memcpy(word, note, 2 * sizeof(word[0]));
	for (i = 0; i < image->nr_ranges; i++)
		nr += !image_range_anonymous(&image->ranges[i]);
	CHECK(nr > 4);
	CHECK_EQ(word[0], nr);
	CHECK_EQ(word[1], PAGE);
	name = (const char *)note + 16 + 24 * nr;
	for (i = nr = 0; i < image->nr_ranges; i++) {
		const struct image_range *range = &image->ranges[i];

		if (image_range_anonymous(range))
			continue;
		memcpy(word, note + 16 + 24 * nr++, sizeof(word));
		CHECK(word[0] == range->start && word[1] == range->end);
		CHECK_EQ(word[2], range->offset / PAGE);
		CHECK_STR(name, range->path);
		name += strlen(name) + 1;
	}
	CHECK(name == (const char *)note + size);
}

/* ---- tests ---------------------------------------------------------------------------- */

static void a_process_that_waits_is_saved_as_it_is(void)
{
	struct process_image image, copy;
	size_t size = 0;
	int input;
	pid_t pid = child_start(&input, true);

	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	image.kernel_state = strdup("state");
	CHECK_EQ(image_save(&image, path, &err), 0);
	CHECK(!image.has_run);
	read_core();
	check_segments(&image);
	check_modules(&image);
	find_note("", 0, &size);
	CHECK_STR(list, "CORE 1\ncorotracer 2\nCORE 3\ncorotracer 1\nCORE 6\nCORE 1179208773\n"
			"corotracer 3\ncorotracer 4\n");
	check_thread(pid, &image.threads[0]);
	check_process(pid, 0);
	check_files(&image);
	CHECK(!memcmp(find_note(SAVED_OWNER, SAVED_KERNEL_STATE, &size), "state", 5) && size == 5);
	CHECK_EQ(image_open_core(&copy, path, NULL, &err), 0);
	CHECK(!copy.has_run && !copy.has_io_uring);
	image_close(&copy);
	image_close(&image);
	child_end(pid, input);
	free(core);
}

static void a_process_that_runs_is_marked(void)
{
	struct process_image image, copy;
	int input;
	pid_t pid = child_start(&input, false);

	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	image.has_io_uring = true;
	usleep(20000); /* it has run since its threads were listed */
	CHECK_EQ(image_save(&image, path, &err), 0);
	CHECK(image.has_run);
	CHECK_EQ(image_open_core(&copy, path, NULL, &err), 0);
	CHECK(copy.has_run && copy.has_io_uring);
	CHECK(copy.kernel_state == NULL);
	CHECK_EQ(image_save(&copy, path, &err), -EINVAL);
	CHECK(strstr(err.text, "the process is in a file already") != NULL);
	image_close(&copy);
	image_close(&image);
	child_end(pid, input);
}

/* Debuggers show the arguments as one line. */
static void arguments_have_spaces_between_them(void)
{
	struct process_image image;
	struct elf_prpsinfo info;
	int executed[2];
	size_t size = 0;
	pid_t pid;
	char byte;

	CHECK_EQ(pipe2(executed, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sleep", "sleep", "50", "10", (char *)NULL);
		_exit(1);
	}
	close(executed[1]);
	CHECK_EQ(read(executed[0], &byte, 1), 0);
	close(executed[0]);
	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	CHECK_EQ(image_save(&image, path, &err), 0);
	image_close(&image);
	read_core();
	memcpy(&info, find_note("CORE", NT_PRPSINFO, &size), sizeof(info));
	CHECK_STR(info.pr_psargs, "sleep 50 10");
	CHECK_STR(info.pr_fname, "sleep");
	free(core);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void check_not_saved(struct process_image *image, int code, const char *why)
{
	char words[200];

	err = (struct err){ 0 };
	CHECK_EQ(unlink(path), 0);
	snprintf(words, sizeof(words), "cannot save process %d: %s", (int)image->pid, why);
	CHECK_EQ(image_save(image, path, &err), code);
	CHECK_STR(err.text, words);
	CHECK(access(path, F_OK) < 0);
	CHECK_EQ(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	image_close(image);
}

static void a_process_that_is_gone_is_not_saved(void)
{
	struct process_image image;
	char byte;
	int input, ready[2];
	pid_t pid = child_start(&input, true);

	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	child_end(pid, input);
	check_not_saved(&image, -ESRCH, "it has ended");
	/* Another program runs in it. */
	CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[1]);
		(void)!read(ready[0], &byte, 1);
		execl("/bin/sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	wait_for_read(pid);
	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	CHECK_EQ(write(ready[1], "", 1), 1);
	for (byte = 0; byte != 's';) {
		char name[64];
		int fd;

		snprintf(name, sizeof(name), "/proc/%d/comm", (int)pid);
		fd = open(name, O_RDONLY);
		CHECK_EQ(read(fd, &byte, 1), 1);
		close(fd);
	}
	check_not_saved(&image, -ESTALE, "it has executed another program");
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/test_saved_image.XXXXXX");
	CHECK_EQ(close(mkstemp(path)), 0);
	memory_map();
	RUN(a_process_that_waits_is_saved_as_it_is);
	RUN(a_process_that_runs_is_marked);
	RUN(arguments_have_spaces_between_them);
	RUN(a_process_that_is_gone_is_not_saved);
	CHECK_EQ(unlink(path), 0);
	return 0;
}
