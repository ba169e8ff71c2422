/* SPDX-License-Identifier: MIT */
/* test_process_image.c - a running process is read as it is, and not changed. */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "count_open.h"
#include "process/elf_headers.h"
#include "process/image_backend.h"
#include "process/image_hidden.h"
#include "process/page_residency.h"
#include "process/process_image.h"

#define PAGE    ((size_t)4096)
#define PATTERN UINT64_C(0x6f6c6c65682d6f63)
#define EXTENT  (UINT64_C(1) << 30)

static struct err err;

/* ---- children ------------------------------------------------------------ */

struct child {
	pid_t pid;
	int go; /* a byte lets the child run for a moment */
	int done;
};

/* Memory that child and parent know: the parent maps it before the fork. */
static char *untouched, *shared, *gap, *hidden, *sparse, *fixed;

static void memory_map(void)
{
	int rw = PROT_READ | PROT_WRITE, i;

	untouched = mmap(NULL, EXTENT, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	shared = mmap(NULL, 4 * PAGE, rw, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	gap = mmap(NULL, 6 * PAGE, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sparse = mmap(NULL, 64 * PAGE, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fixed = mmap(NULL, 4 * PAGE, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(untouched != MAP_FAILED && shared != MAP_FAILED && gap != MAP_FAILED);
	hidden = gap + 2 * PAGE; /* the pages before it can be read */
	CHECK(sparse != MAP_FAILED && fixed != MAP_FAILED);
	madvise(sparse, 64 * PAGE, MADV_NOHUGEPAGE);
	madvise(untouched, EXTENT, MADV_NOHUGEPAGE);
	for (i = 0; i < 64; i += 2)
		memcpy(sparse + (size_t)i * PAGE, &(uint64_t){ PATTERN + (uint64_t)i }, 8);
	memcpy(hidden, &(uint64_t){ PATTERN + 101 }, 8);
	memcpy(fixed, &(uint64_t){ PATTERN + 102 }, 8);
	mprotect(hidden, 4 * PAGE, PROT_NONE);
	mprotect(fixed, 4 * PAGE, PROT_READ);
}

static void *second_thread(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "second )R 1");
	for (;;)
		poll(NULL, 0, -1);
	return NULL;
}

static void child_run(const int *go, const int *done)
{
	pthread_t thread;
	char byte;

	memcpy(shared, &(uint64_t){ PATTERN + 100 }, 8); /* here: fork copies no shared pages */
	CHECK_EQ(pthread_create(&thread, NULL, second_thread, NULL), 0);
	CHECK_EQ(write(done[1], "", 1), 1);
	while (read(go[0], &byte, 1) == 1) {
		if (write(done[1], "", 1) != 1)
			break;
	}
	_exit(0);
}

/* Wait until every thread of @pid sleeps. */
static void child_settle(pid_t pid, size_t nr)
{
	struct image_thread *threads;
	ssize_t got, i, asleep = 0;

	while (asleep < (ssize_t)nr) {
		got = image_read_tasks(pid, &threads);
		CHECK(got > 0);
		for (i = asleep = 0; i < got; i++)
			asleep += threads[i].state == 'S' && threads[i].has_syscall;
		free(threads);
		usleep(1000);
	}
}

static void child_start(struct child *c)
{
	int go[2], done[2];
	char byte;

	CHECK(pipe2(go, O_CLOEXEC) == 0 && pipe2(done, O_CLOEXEC) == 0);
	c->pid = fork();
	CHECK(c->pid >= 0);
	if (!c->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(go[1]);
		child_run(go, done);
	}
	close(go[0]);
	close(done[1]);
	c->go = go[1];
	c->done = done[0];
	CHECK_EQ(read(c->done, &byte, 1), 1);
	child_settle(c->pid, 2);
}

static void child_end(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->go);
	close(c->done);
}

/* ---- visits -------------------------------------------------------------- */

struct seen {
	unsigned marks[128]; /* how often PATTERN + i was seen at the start of a page */
	uint64_t bytes, last;
	unsigned after; /* stop after this many calls; 0: never */
};

static int seen_visit(void *arg, const struct image_range *range, uint64_t addr, const void *data,
		      size_t size)
{
	struct seen *s = arg;
	size_t i;

	CHECK(size && addr % PAGE == 0 && size % PAGE == 0);
	CHECK(addr >= range->start && addr + size <= range->end);
	CHECK(addr >= s->last);
	s->last = addr + size;
	s->bytes += size;
	for (i = 0; i < size; i += PAGE) {
		uint64_t word;

		memcpy(&word, (const char *)data + i, sizeof(word));
		if (word >= PATTERN && word < PATTERN + 128)
			s->marks[word - PATTERN]++;
	}
	return s->after && !--s->after ? 42 : 0;
}

static uint64_t resident_pages(pid_t pid)
{
	unsigned long long size, resident;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	file = fopen(path, "r");
	CHECK(file && fscanf(file, "%llu %llu", &size, &resident) == 2);
	fclose(file);
	return resident;
}

static uint64_t visited_size(const struct process_image *image)
{
	uint64_t size = 0;
	size_t i;

	for (i = 0; i < image->nr_ranges; i++) {
		if (image_range_visited(&image->ranges[i]))
			size += image->ranges[i].end - image->ranges[i].start;
	}
	return size;
}

static void all_resident_memory_is_visited_and_no_page_is_added(void)
{
	struct process_image image;
	struct seen seen = { 0 };
	struct child c;
	uint64_t before;
	int i;

	child_start(&c);
	before = resident_pages(c.pid);
	CHECK_EQ(image_open_process(&image, c.pid, &err), 0);
	CHECK_EQ(image_visit(&image, seen_visit, &seen), 0);
	for (i = 0; i < 64; i++)
		CHECK_EQ(seen.marks[i], i % 2 == 0);
	CHECK_EQ(seen.marks[100], 1); /* shared */
	CHECK_EQ(seen.marks[101], 0); /* PROT_NONE */
	CHECK_EQ(seen.marks[102], 1); /* anonymous, read-only */
	CHECK_EQ(seen.bytes, image.bytes_read);
	CHECK_EQ(image.bytes_failed, 0);
	/* Every byte of the memory that is visited was read, or has a reason. */
	CHECK_EQ(image.bytes_read + image.bytes_absent + image.bytes_swapped, visited_size(&image));
	if (image.has_pagemap) {
		CHECK(image.bytes_absent >= EXTENT);
		CHECK(image.bytes_read < EXTENT);
		CHECK(resident_pages(c.pid) < before + 64); /* of code that the child ran */
	}
	memset(&seen, 0, sizeof(seen));
	seen.after = 2;
	CHECK_EQ(image_visit(&image, seen_visit, &seen), 42);
	image_close(&image);
	child_end(&c);
}

/* Kernels before 6.7 have only the file. */
static void both_ways_to_find_resident_pages_agree(void)
{
	uint64_t start = (uint64_t)(uintptr_t)sparse, after;
	struct page_run by_scan[64], by_file[64];
	struct page_residency r;
	ssize_t nr, i;
	struct child c;

	child_start(&c);
	CHECK_EQ(residency_open(&r, c.pid), 0);
	if (r.fd >= 0) {
		nr = residency_find(&r, start, start + 64 * PAGE, by_scan, 64, &after);
		CHECK_EQ(nr, 32);
		CHECK_EQ(after, start + 64 * PAGE);
		r.by_scan = false;
		CHECK_EQ(residency_find(&r, start, start + 64 * PAGE, by_file, 64, &after), nr);
		CHECK_EQ(after, start + 64 * PAGE);
		for (i = 0; i < nr; i++) {
			CHECK_EQ(by_scan[i].start, start + (size_t)i * 2 * PAGE);
			CHECK_EQ(by_scan[i].end, by_scan[i].start + PAGE);
			CHECK_EQ(by_scan[i].start, by_file[i].start);
			CHECK_EQ(by_scan[i].end, by_file[i].end);
		}
		/* With room for a few, the rest is found by the next calls. */
		for (i = 0; start < (uint64_t)(uintptr_t)sparse + 64 * PAGE; start = after)
			i += residency_find(&r, start, (uint64_t)(uintptr_t)sparse + 64 * PAGE,
					    by_file, 5, &after);
		CHECK_EQ(i, nr);
	}
	residency_close(&r);
	child_end(&c);
}

static void runs_of_pages_are_joined(void)
{
	uint64_t after, start;
	struct page_residency r;
	struct page_run runs[4];
	uint8_t *pages = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	int way;

	CHECK(pages != MAP_FAILED);
	CHECK_EQ(madvise(pages, 8 * PAGE, MADV_NOHUGEPAGE), 0);
	start = (uint64_t)(uintptr_t)pages;
	pages[1 * PAGE] = pages[2 * PAGE] = pages[3 * PAGE] = pages[6 * PAGE] = 1;
	CHECK_EQ(residency_open(&r, getpid()), 0);
	CHECK_EQ(r.page, PAGE);
	for (way = 0; r.fd >= 0 && way < 2; way++) {
		CHECK_EQ(residency_find(&r, start, start + 8 * PAGE, runs, 4, &after), 2);
		CHECK_EQ(after, start + 8 * PAGE);
		CHECK(runs[0].start == start + PAGE && runs[0].end == start + 4 * PAGE);
		CHECK(runs[1].start == start + 6 * PAGE && runs[1].end == start + 7 * PAGE);
		CHECK(!runs[0].is_swapped && !runs[0].is_file);
		/* Room for one. */
		CHECK_EQ(residency_find(&r, start, start + 8 * PAGE, runs, 1, &after), 1);
		CHECK_EQ(runs[0].end, start + 4 * PAGE);
		CHECK(after >= start + 4 * PAGE && after <= start + 6 * PAGE);
		CHECK_EQ(residency_find(&r, start + 4 * PAGE, start + 6 * PAGE, runs, 4, &after),
			 0);
		r.by_scan = false;
	}
	if (r.fd >= 0)
		CHECK_EQ(residency_find(&r, 0, UINT64_C(1) << 46, runs, 4, &after), -EFBIG);
	if (r.fd >= 0)
		close(r.fd);
	r.fd = -1; /* not allowed: all pages may be there */
	after = 0;
	CHECK_EQ(residency_find(&r, start, start + 8 * PAGE, runs, 4, &after), 1);
	CHECK(runs[0].start == start && runs[0].end == start + 8 * PAGE);
	CHECK_EQ(after, start + 8 * PAGE);
	residency_close(&r);
	munmap(pages, 8 * PAGE);
}

/* Of a file in memory with data in pages 2, 3 and 6, mapped from its second page on. */
static void data_of_shared_memory_is_counted(void)
{
	struct image_range range = { .start = 0x100000,
				     .end = 0x100000 + 7 * PAGE,
				     .offset = PAGE };
	int fd = memfd_create("holes", MFD_CLOEXEC);
	char byte = 1;

#define COUNT(from, to) \
	hidden_shared(fd, &range, range.start + (from)*PAGE, range.start + (to)*PAGE)
	CHECK(fd >= 0 && ftruncate(fd, 8 * PAGE) == 0);
	CHECK_EQ(COUNT(0, 7), 0);
	CHECK(pwrite(fd, &byte, 1, 2 * PAGE) == 1 && pwrite(fd, &byte, 1, 3 * PAGE) == 1 &&
	      pwrite(fd, &byte, 1, 6 * PAGE) == 1);
	CHECK_EQ(COUNT(0, 7), 3 * PAGE);
	CHECK_EQ(COUNT(0, 1), 0);
	CHECK_EQ(COUNT(0, 2), PAGE);
	CHECK_EQ(COUNT(2, 7), 2 * PAGE);
	CHECK_EQ(COUNT(3, 5), 0);
	CHECK_EQ(COUNT(5, 6), PAGE);
	CHECK_EQ(COUNT(6, 7), 0);
	close(fd);
	fd = -1; /* it cannot be opened: all of it may be data */
	CHECK_EQ(COUNT(0, 7), 7 * PAGE);
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC); /* and so if it cannot be searched */
	CHECK_EQ(COUNT(1, 3), 2 * PAGE);
	close(fd);
#undef COUNT
}

static void memory_is_read_up_to_the_first_gap(void)
{
	struct process_image image;
	struct child c;
	char buf[8 * PAGE];
	uint64_t word;

	child_start(&c);
	CHECK_EQ(image_open_process(&image, c.pid, &err), 0);
	CHECK_EQ(image_read(&image, (uint64_t)(uintptr_t)fixed, &word, 8), 8);
	CHECK(word == PATTERN + 102);
	CHECK_EQ(image_read(&image, (uint64_t)(uintptr_t)hidden, buf, 8), -EFAULT);
	CHECK_EQ(image_read(&image, (uint64_t)(uintptr_t)gap, buf, sizeof(buf)), 2 * PAGE);
	CHECK_EQ(image_read(&image, UINT64_MAX - 3, buf, 8), -EFAULT);
	image_close(&image);
	child_end(&c);
}

/* Refuse process_vm_readv(2), as the sandbox of a container may. */
static void sandbox_enter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		_exit(0); /* not here */
}

static void memory_is_read_in_a_sandbox_too(void)
{
	struct seen seen = { 0 };
	struct process_image image;
	struct child c;
	int status;
	pid_t pid;

	child_start(&c);
	pid = fork();
	if (!pid) {
		sandbox_enter();
		CHECK_EQ(image_open_process(&image, c.pid, &err), 0);
		CHECK_EQ(image_visit(&image, seen_visit, &seen), 0);
		CHECK(seen.marks[100] && seen.marks[62]); /* freed buffers may have copies */
		CHECK_EQ(image.bytes_failed, 0);
		image_close(&image);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	child_end(&c);
}

/* ---- modules ------------------------------------------------------------- */

struct module_search {
	const struct process_image *image;
	unsigned found;
};

static int module_expect(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct module_search *s = arg;
	uint64_t text = 0, end = 0, i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X))
			text = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD)
			end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	for (i = 0; i < s->image->nr_modules; i++) {
		const struct image_module *m = &s->image->modules[i];

		if (text < m->start || text >= m->end)
			continue;
		CHECK_EQ(m->bias, info->dlpi_addr);
		CHECK(end <= m->end && end > m->end - PAGE);
		CHECK(*info->dlpi_name == '\0' || access(m->open_path, R_OK) == 0);
		s->found++;
	}
	return 0;
}

static void modules_have_the_bias_of_the_loader(void)
{
	struct process_image image;
	struct module_search search = { .image = &image };
	const struct image_module *first;
	char buf[4096];
	struct child c;

	child_start(&c);
	CHECK_EQ(image_open_process(&image, c.pid, &err), 0);
	dl_iterate_phdr(module_expect, &search);
	CHECK(search.found >= 2); /* the program and libc, at least */
	CHECK_EQ(search.found, image.nr_modules);
	CHECK_EQ(readlink("/proc/self/exe", buf, sizeof(buf)) > 0, 1);
	CHECK(strncmp(image.exe, buf, strlen(image.exe)) == 0);
	CHECK(image.modules[0].build_id && strlen(image.modules[0].build_id) >= 16);
	first = image.modules;
	CHECK(access(first->open_path, R_OK) == 0);
	CHECK_EQ(image_read_ranges(&image, &err), 0);
	CHECK_EQ(image.nr_modules, search.found);
	image_close(&image);
	child_end(&c);
}

static void a_build_id_is_found_among_other_notes(void)
{
	struct {
		Elf64_Nhdr a;
		char name_a[4], desc_a[8];
		Elf64_Nhdr b;
		char name_b[4];
		unsigned char desc_b[4];
	} notes = { { 4, 8, 5 },         "GNU", "1234567", { 4, 4, NT_GNU_BUILD_ID }, "GNU",
		    { 0xab, 0, 1, 0xff } };
	char text[ELF_BUILD_ID_TEXT];
	size_t size;

	CHECK(elf_notes_build_id(&notes, sizeof(notes), text));
	CHECK_STR(text, "ab0001ff");
	for (size = 0; size < sizeof(notes); size++)
		CHECK(!elf_notes_build_id(&notes, size, text));
	notes.a.n_descsz = UINT32_MAX;
	CHECK(!elf_notes_build_id(&notes, sizeof(notes), text));
}

/* ---- threads ------------------------------------------------------------- */

static struct image_thread *threads_keep(const struct process_image *image)
{
	size_t size = image->nr_threads * sizeof(*image->threads);
	struct image_thread *copy = malloc(size);

	CHECK(copy);
	return memcpy(copy, image->threads, size);
}

static void words_of_vectors_are_kept(void)
{
	struct process_image image = { 0 };
	uint64_t words[17];
	size_t i;

	for (i = 0; i < 17; i++)
		words[i] = i + 1;
	words[3] = 0; /* no pointer */
	CHECK(image_add_vectors(&image, words, 8 * sizeof(words[0])));
	CHECK_EQ(image.nr_vectors, 7);
	CHECK(image_add_vectors(&image, words + 8, 8 * sizeof(words[0]) + 7));
	CHECK_EQ(image.nr_vectors, 15);
	CHECK(image.vectors[2] == 3 && image.vectors[3] == 5 && image.vectors[14] == 16);
	free(image.vectors);
}

static void one_thread_is_read_alone(void)
{
	unsigned before = count_open();
	struct image_thread thread;

	memset(&thread, 0x55, sizeof(thread));
	CHECK(image_read_task(getpid(), getpid(), &thread));
	CHECK_EQ(thread.tid, getpid());
	CHECK(!image_read_task(getpid(), getppid(), &thread)); /* not a thread of it */
	CHECK(!image_read_task(INT32_MAX, INT32_MAX, &thread));
	CHECK_EQ(count_open(), before);
}

static void threads_are_idle_until_one_runs(void)
{
	struct image_thread *earlier;
	struct process_image image;
	struct child c;
	char byte;

	child_start(&c);
	CHECK_EQ(image_open_process(&image, c.pid, &err), 0);
	CHECK_EQ(image.nr_threads, 2);
	earlier = threads_keep(&image);
	CHECK_EQ(image_read_threads(&image, &err), 0);
	CHECK(image_threads_idle(earlier, 2, image.threads, image.nr_threads));
	CHECK(!image_threads_idle(earlier, 1, image.threads, image.nr_threads));
	CHECK_EQ(write(c.go, "", 1), 1);
	CHECK_EQ(read(c.done, &byte, 1), 1);
	child_settle(c.pid, 2);
	CHECK_EQ(image_read_threads(&image, &err), 0);
	CHECK(!image_threads_idle(earlier, 2, image.threads, image.nr_threads));
	free(earlier);
	image_close(&image);
	child_end(&c);
}

static void threads_have_names_and_system_calls(void)
{
	const struct image_thread *main_thread, *second;
	struct process_image image;
	struct child c;

	child_start(&c);
	CHECK_EQ(image_open_process(&image, c.pid, &err), 0);
	main_thread = &image.threads[image.threads[0].tid == c.pid ? 0 : 1];
	second = &image.threads[image.threads[0].tid == c.pid ? 1 : 0];
	CHECK_EQ(main_thread->tid, c.pid);
	CHECK_STR(second->name, "second )R 1");
	CHECK_EQ(second->state, 'S');
	CHECK(main_thread->has_syscall && second->has_syscall);
	CHECK_EQ(main_thread->syscall_nr, SYS_read);
	CHECK_EQ(main_thread->args[2], 1);
	CHECK(main_thread->sp && main_thread->pc);
	CHECK(image_find_range(&image, main_thread->sp));
	CHECK(image_find_range(&image, main_thread->pc)->can_execute);
	image_close(&image);
	child_end(&c);
}

/* ---- errors -------------------------------------------------------------- */

static void other_machines_are_refused_with_their_names(void)
{
	static const struct {
		Elf64_Half machine;
		const char *name;
	} others[] = {
		{ EM_RISCV, "RISC-V" },     { EM_ARM, "32-bit Arm" }, { EM_S390, "s390" },
		{ EM_PPC64, "PowerPC 64" }, { EM_386, "32-bit x86" }, { EM_68K, "another machine" },
	};
	char wanted[128];
	size_t i;
	Elf64_Ehdr h = { .e_machine = (Elf64_Half)image_own_machine() };

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	CHECK_EQ(image_check_machine(&h, sizeof(h), "process 1", &err), 0);
	CHECK_EQ(image_check_machine(&h, 8, "process 1", &err), -ENOEXEC);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		h.e_machine = others[i].machine;
		CHECK_EQ(image_check_machine(&h, sizeof(h), "process 1", &err), -ENOTSUP);
		snprintf(wanted, sizeof(wanted), "cannot inspect process 1: it is a program for %s",
			 others[i].name);
		CHECK_STR(err.text, wanted);
		CHECK(strstr(err.hint, "64-bit programs for "));
	}
	h.e_ident[EI_DATA] = ELFDATA2MSB;
	CHECK_EQ(image_check_machine(&h, sizeof(h), "process 1", &err), -ENOTSUP);
	CHECK_STR(err.text, "cannot inspect process 1: its byte order is big-endian");
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_machine = EM_386;
	h.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK_EQ(image_check_machine(&h, sizeof(h), "process 1", &err), -ENOTSUP);
	CHECK_STR(err.text, "cannot inspect process 1: it is a 32-bit program (32-bit x86)");
	h.e_machine = EM_X86_64;
	CHECK_EQ(image_check_machine(&h, sizeof(h), "process 1", &err), -ENOTSUP);
	CHECK_STR(err.text, "cannot inspect process 1: it is a 32-bit program (x32)");
}

static void a_process_without_memory_is_an_error(void)
{
	struct process_image image;
	struct child c;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	CHECK_EQ(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	CHECK_EQ(image_open_process(&image, pid, &err), -ESRCH);
	waitpid(pid, NULL, 0);
	CHECK_EQ(image_open_process(&image, pid, &err), -ESRCH);
	image_close(&image); /* nothing to close */

	child_start(&c);
	CHECK_EQ(image_open_process(&image, c.pid, &err), 0);
	child_end(&c);
	CHECK_EQ(image_visit(&image, seen_visit, &(struct seen){ 0 }), -ESRCH);
	CHECK_EQ(image_read_ranges(&image, &err), -ESRCH);
	CHECK_EQ(image_read_threads(&image, &err), -ESRCH);
	image_close(&image);
}

/* ---- a process that changes ---------------------------------------------- */

static void *churn_mappings(void *arg)
{
	(void)arg;
	for (;;) {
		char *at = mmap(NULL, 512 * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			continue;
		memset(at, 1, 512 * PAGE);
		munmap(at + 64 * PAGE, 256 * PAGE);
		mprotect(at, PAGE, PROT_NONE);
		munmap(at, 512 * PAGE);
	}
	return NULL;
}

static void *short_thread(void *arg)
{
	return arg;
}

static void *churn_threads(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_t thread;
		pid_t pid;

		if (!pthread_create(&thread, NULL, short_thread, NULL))
			pthread_join(thread, NULL);
		pid = fork();
		if (!pid)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	return NULL;
}

/* Executes itself again and again; exits after a while. */
static int churn_main(const char *name, int rounds)
{
	char number[16];
	pthread_t thread;

	pthread_create(&thread, NULL, churn_mappings, NULL);
	pthread_create(&thread, NULL, churn_threads, NULL);
	usleep(20000);
	if (!rounds)
		_exit(0);
	snprintf(number, sizeof(number), "%d", rounds - 1);
	execl(name, name, number, (char *)NULL);
	return 1;
}

static int churn_visit(void *arg, const struct image_range *range, uint64_t addr, const void *data,
		       size_t size)
{
	uint64_t *sum = arg;
	size_t i;

	CHECK(addr >= range->start && addr + size <= range->end && *range->path != 1);
	for (i = 0; i < size; i += PAGE)
		*sum += *((const unsigned char *)data + i);
	return 0;
}

/* Save it and read it back. */
static int churn_save(struct process_image *image)
{
	struct process_image copy;
	uint64_t sum = 0;
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "/tmp/test_process_image.%d", (int)getpid());
	rc = image_save(image, path, &err);
	if (!rc) {
		CHECK_EQ(image_open_core(&copy, path, NULL, &err), 0);
		CHECK_EQ(copy.nr_ranges, image->nr_ranges);
		CHECK_EQ(image_visit(&copy, churn_visit, &sum), 0);
		CHECK_EQ(copy.bytes_failed, 0);
		image_close(&copy);
	}
	unlink(path);
	return rc;
}

static void a_process_that_changes_all_the_time_is_survived(void)
{
	unsigned visits = 0, stale = 0;
	uint64_t sum = 0;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/proc/self/exe", "/proc/self/exe", "15", (char *)NULL);
		_exit(1);
	}
	for (;;) {
		struct process_image image;
		int rc = image_open_process(&image, pid, &err), i;

		if (rc == -ESRCH && waitpid(pid, NULL, WNOHANG) == pid)
			break;
		CHECK(!rc || (err.code == rc && *err.text));
		for (i = 0; !rc && i < 5; i++) {
			rc = image_visit(&image, churn_visit, &sum);
			CHECK(!rc || rc == -ESRCH || rc == -ESTALE);
			stale += rc == -ESTALE;
			visits += !rc;
			if (!rc)
				rc = image_read_ranges(&image, &err);
			if (!rc)
				rc = image_read_registers(&image, IMAGE_REGISTERS_STOP, &err);
			if (!rc && i == 3)
				rc = churn_save(&image);
			stale += rc == -ESTALE;
		}
		image_close(&image);
	}
	printf("%u visits, %u of another program, sum %llu\n", visits, stale,
	       (unsigned long long)sum);
	CHECK(visits && stale);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return churn_main(argv[0], atoi(argv[1]));
	signal(SIGPIPE, SIG_IGN);
	memory_map();
	RUN(a_build_id_is_found_among_other_notes);
	RUN(other_machines_are_refused_with_their_names);
	RUN(all_resident_memory_is_visited_and_no_page_is_added);
	RUN(both_ways_to_find_resident_pages_agree);
	RUN(runs_of_pages_are_joined);
	RUN(data_of_shared_memory_is_counted);
	RUN(memory_is_read_up_to_the_first_gap);
	RUN(memory_is_read_in_a_sandbox_too);
	RUN(modules_have_the_bias_of_the_loader);
	RUN(threads_have_names_and_system_calls);
	RUN(words_of_vectors_are_kept);
	RUN(one_thread_is_read_alone);
	RUN(threads_are_idle_until_one_runs);
	RUN(a_process_without_memory_is_an_error);
	RUN(a_process_that_changes_all_the_time_is_survived);
	return 0;
}
