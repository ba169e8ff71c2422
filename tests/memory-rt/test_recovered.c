/* SPDX-License-Identifier: MIT */
/*
 * test_recovered.c - `mem recover`: programs and collectors are killed, and their traces are
 * completed from the memory that they left.
 *
 * A program that is not killed says what the trace has to be.
 */
#include <corotracer/cacheray.h>
#include <corotracer/memory_hook.h>

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include "count_memory.h"
#include "count_open.h"
#include "memory/collect/left_region.h"
#include "memory/collect/mem_collector.h"
#include "memory/collect/mem_recover.h"
#include "recorded_bed.h"
#include "wire.h"

void __tsan_read1(void *p);
void __tsan_read4(void *p);
void __tsan_write8(void *p);
void __tsan_vptr_read(void **vptr);
void __tsan_unaligned_write2(void *p);
void __tsan_write_range_pc(void *p, unsigned long size, void *pc);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
uint32_t __tsan_atomic32_fetch_add(volatile uint32_t *p, uint32_t v, int order);

static char self[300];

static void *address(uintptr_t number)
{
	return (void *)number; // NOLINT(performance-no-int-to-ptr)
}

/* ---- programs ------------------------------------------------------------------------------ */

static pid_t start(void (*program)(void), const char *options)
{
	char all[512];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/trace", scratch);
	snprintf(all, sizeof(all), "tracefile=%s:%s", path, options);
	unlink(path);
	pid = fork();
	if (pid == 0) {
		alarm(60);
		setenv("CACHERAY_OPTIONS", all, 1);
		__tsan_init();
		program();
		kill(getpid(), SIGKILL);
	}
	return pid;
}

static void run_killed(void (*program)(void), const char *options)
{
	pid_t pid = start(program, options);
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static struct mem_recovered got;
static struct err err;

static int recover(const char *name)
{
	size_t before = count_memory();
	int rc;

	err = (struct err){ 0 };
	rc = mem_recover(name, &got, &err);
	/* Nothing is kept but what malloc() keeps itself; the buffers are of megabytes. */
	CHECK(count_memory() < before + 100000);
	CHECK_EQ(count_mapped("/dev/shm/"), 0);
	return rc;
}

/* The file of the region of a program that runs alone. */
static const char *region_name(void)
{
	static char name[100];
	struct stat st;

	CHECK_EQ(stat(path, &st), 0);
	snprintf(name, sizeof(name), "/dev/shm/cacheray-%u-%llx-%llx", getuid(),
		 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return name;
}

static char expected[sizeof(text)];

/* What a program leaves when it is killed at its end is its whole trace. */
static void is_recovered(void (*program)(void), const char *options)
{
	char region[100];

	CHECK_EQ(run(program, options), 0);
	CHECK_STR(said, "");
	read_back(path);
	memcpy(expected, text, sizeof(text));
	run_killed(program, options);
	snprintf(region, sizeof(region), "%s", region_name());
	CHECK_EQ(access(region, F_OK), 0);
	CHECK_EQ(recover(path), 0);
	CHECK_STR(err.text, "");
	CHECK(access(region, F_OK) < 0);
	read_back(path);
	CHECK_STR(text, expected);
	CHECK_EQ(got.broken, 0);
}

/* ---- tests: records ---------------------------------------------------------------------------
 */

static const struct ctp_memory_site site = { "dir/a.c", "await_all", 12 };

static void accesses_and_annotations(void)
{
	__tsan_read1(at(1));
	cacheray_rtta_add(at(0), 8, 4, "struct one");
	__tsan_write8(at(8));
	__tsan_unaligned_write2(at(43));
	__tsan_vptr_read(&data.pointers[10]);
	__tsan_atomic32_fetch_add(&data.words[0], 2, 5);
	__tsan_write_range_pc(at(2000), 300, address(0x77));
	cacheray_rtta_add(at(0), 4, 8, "struct two"); /* in place of the first */
	cacheray_mark(77, "here");
	cacheray_mark(78, NULL);
	cacheray_rtta_remove(at(0));
	__tsan_read4(at(4));
}

static void coroutines(void)
{
	cacheray_coroutine(CTP_MEMORY_CREATED, at(0), 7, "reader");
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(0), 7, NULL);
	__tsan_read1(at(1));
	cacheray_coroutine(CTP_MEMORY_SUSPENDED, at(0), 7, &site);
	__tsan_read1(at(2));
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(0), 7, NULL);
	__tsan_read1(at(3));
	cacheray_coroutine(CTP_MEMORY_DESTROYED, at(0), 7, NULL);
	__tsan_read1(at(4));
}

static void *volatile block[2];

static __attribute__((noinline)) void allocates(void)
{
	__tsan_func_entry(address(0x2000));
	block[0] = malloc(100);
	block[1] = calloc(3, 8);
	__tsan_read1(at(1));
	free(block[0]);
	__tsan_func_exit();
	__asm__ volatile(""); /* no jump to it: the runtime compares frames */
}

static void functions_and_blocks(void)
{
	__tsan_func_entry(address(0x1000));
	__tsan_read1(at(0));
	allocates();
	__tsan_read1(at(2));
	allocates();
	__tsan_func_exit();
	__asm__ volatile("");
}

static void ten_accesses(void)
{
	size_t i;

	for (i = 0; i < 10; i++)
		__tsan_read4(at(64 * i));
}

static void records_of_all_kinds_are_recovered(void)
{
	is_recovered(accesses_and_annotations, "");
	CHECK(strstr(text, "remove +0\nr4 +4\n") && strstr(text, "mark 78 ''\n"));
	/* 16 of them are in the raw format. */
	CHECK(got.before == 0 && got.threads == 1);
	CHECK_EQ(got.records, 16);
	is_recovered(coroutines, "");
	CHECK(strstr(text, "coro 7 cause 1 'reader|dir/a.c|await_all|12'\nr1 +3\n") != NULL);
	CHECK_EQ(got.records, 4);
	is_recovered(functions_and_blocks, "stacks=1");
	CHECK(strstr(text,
		     "enter 2000\nalloc block 1: 100\nalloc block 2: 24\nr1 +1\nfree block 1\n"
		     "exit 1\nr1 +2\n") != NULL);
	is_recovered(ten_accesses, "sample=2/5");
	CHECK(strstr(text, " weight 640/256\n") != NULL);
	CHECK_EQ(got.records, 4);
}

/* The stack of the first block, and the facts of the process. */
static void stacks_and_facts_are_recovered(void)
{
	static const char note[] = "completed by mem recover: the program or collector was killed";
	const struct mem_record *rec;
	const struct mem_facts *f;
	const uint64_t *frames;
	struct mem_reader *r;
	size_t nr;

	run_killed(functions_and_blocks, "");
	CHECK_EQ(recover(path), 0);
	r = mem_reader_open(path, &err);
	while ((rec = mem_reader_next(r)) && rec->kind != MEM_ALLOC)
		;
	CHECK(rec != NULL);
	nr = mem_reader_stack(r, rec->stack, &frames);
	CHECK(nr == 4 && frames[1] == 0x2000 && frames[3] == 0x1000);
	while (mem_reader_next(r))
		;
	f = mem_reader_facts(r);
	CHECK_EQ(f->nr_notes, 1);
	CHECK_STR(f->notes[0], note);
	CHECK(f->nr_modules > 1 && f->parent == (uint64_t)getpid() && f->page_size > 0);
	/* From the file, which the program had begun. */
	CHECK(f->writer && strncmp(f->writer, "libcacheray ", 12) == 0);
	CHECK(f->options && strstr(f->options, "tracefile="));
	CHECK_EQ(f->nr_threads, 1);
	CHECK_EQ(f->threads[0].id, f->pid);
	CHECK(f->threads[0].start_ns >= f->start_ns && f->start_wall_ns > f->start_ns);
	CHECK(!f->lost_unknown && f->end.lost == 0 && f->end.status_known == 0);
	mem_reader_close(r);
}

/* ---- tests: what the trace has already ---------------------------------------------------------
 */

/* Until the background thread has written a block. */
static void wait_for_block(void)
{
	uint64_t nr = 0;
	int i;

	for (i = 0; i < 5000 && !nr; i++) {
		struct err ignored = { 0 };
		struct mem_reader *r = mem_reader_open(path, &ignored);

		nr = r ? mem_reader_blocks(r)->nr : 0;
		mem_reader_close(r);
		usleep(1000);
	}
	CHECK(nr > 0);
}

#define MANY 100000u

static void *many_in_thread(void *unused)
{
	uintptr_t i;

	for (i = 0; i < MANY; i++)
		__tsan_read4(address(0x40000000 + 4 * i));
	cacheray_mark(1, "thread"); /* gives the order */
	return unused;
}

static void *late_thread(void *unused)
{
	prctl(PR_SET_NAME, "late");
	__tsan_read1(address(0x77));
	return unused;
}

static void partly_written(void)
{
	pthread_t thread;
	uintptr_t i;

	CHECK_EQ(pthread_create(&thread, NULL, many_in_thread, NULL), 0);
	for (i = 0; i < MANY; i++)
		__tsan_read4(address(0x10000000 + 4 * i));
	CHECK_EQ(pthread_join(thread, NULL), 0);
	wait_for_block();
	for (i = MANY; i < MANY + 1000; i++)
		__tsan_read4(address(0x10000000 + 4 * i));
	CHECK_EQ(pthread_create(&thread, NULL, late_thread, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	__tsan_read4(address(0x10000000 + 4 * i));
}

/* Each thread's accesses: each once and in order. */
static void what_is_recovered_joins_what_was_written(void)
{
	uint64_t next[3] = { 0x10000000, 0x40000000, 0x77 };
	const struct mem_record *rec;
	struct mem_reader *r;

	run_killed(partly_written, "heap=0");
	CHECK_EQ(recover(path), 0);
	CHECK(got.before > 0 && got.records >= 1);
	CHECK_EQ(got.before + got.records, 2 * MANY + 1000 + 2);
	CHECK_EQ(got.broken, 0);
	r = mem_reader_open(path, &err);
	while ((rec = mem_reader_next(r))) {
		uint32_t k = rec->address >= 0x40000000 ? 1 : rec->address == 0x77 ? 2 : 0;

		if (!mem_is_access(rec))
			continue;
		CHECK_EQ(rec->address, next[k]);
		next[k] += 4;
	}
	CHECK_EQ(next[0], 0x10000000 + 4 * (MANY + 1001));
	CHECK_EQ(next[1], 0x40000000 + 4 * MANY);
	CHECK_EQ(next[2], 0x77 + 4);
	CHECK_EQ(mem_reader_faults(r)->nr, 0);
	CHECK_EQ(mem_reader_facts(r)->nr_threads, 3);
	CHECK_STR(mem_facts_thread(mem_reader_facts(r), 2)->name, "late");
	mem_reader_close(r);
}

#define RANGES 1500u
#define LINES  100u

static void long_ranges(void)
{
	uintptr_t i;

	for (i = 0; i < RANGES; i++)
		__tsan_write_range_pc(address(0x10000000 + i * LINES * 64), LINES * 64,
				      address(0x77));
	cacheray_mark(5, "end");
}

static void ranges_partly_written(void)
{
	uint32_t i;

	for (i = 0; i < 3; i++)
		long_ranges();
	wait_for_block();
}

/* A block ends inside of a chunk: its first records are in the trace and in the region. */
static void records_in_both_are_not_doubled(void)
{
	const struct mem_record *rec;
	struct mem_reader *r;
	uint64_t nr = 0;

	run_killed(ranges_partly_written, "heap=0");
	CHECK_EQ(recover(path), 0);
	CHECK(got.before > 0);
	CHECK_EQ(got.before + got.records, 3 * RANGES * LINES);
	r = mem_reader_open(path, &err);
	while ((rec = mem_reader_next(r))) {
		if (!mem_is_access(rec))
			continue;
		CHECK_EQ(rec->address, 0x10000000 + nr % (RANGES * LINES) * 64);
		nr++;
	}
	CHECK_EQ(nr, 3 * RANGES * LINES);
	mem_reader_close(r);
}

/* ---- tests: what cannot be recovered ------------------------------------------------------------
 */

static void check_refused(int code, const char *words, const char *hint)
{
	CHECK_EQ(recover(path), code);
	CHECK_STR(err.text, words);
	CHECK(hint ? strstr(err.hint, hint) != NULL : err.hint[0] == '\0');
}

static void wait_for_file(const char *name)
{
	int i;

	for (i = 0; i < 20000 && access(name, F_OK) < 0; i++)
		usleep(1000);
	CHECK_EQ(access(name, F_OK), 0);
}

static void wait_for_kill(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(close(fd), 0);
	pause();
}

static char ready[200];

static void waits_for_a_signal(void)
{
	__tsan_read1(at(1));
	wait_for_kill(ready);
}

static void nothing_is_recovered_twice_or_too_early(void)
{
	char words[300];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/none", scratch);
	snprintf(words, sizeof(words), "cannot open '%s': No such file or directory", path);
	check_refused(-ENOENT, words, NULL);
	snprintf(ready, sizeof(ready), "%s/ready", scratch);
	pid = start(waits_for_a_signal, "");
	wait_for_file(ready);
	CHECK_EQ(unlink(ready), 0);
	snprintf(words, sizeof(words), "the program that writes '%s' still runs (pid %d)", path,
		 (int)pid);
	check_refused(-EBUSY, words, "wait for its end: it completes the trace itself");
	CHECK_EQ(access(region_name(), F_OK), 0);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(recover(path), 0);
	read_back(path);
	CHECK_STR(text, "r1 +1\n");
	snprintf(words, sizeof(words), "there is nothing to recover for '%s'", path);
	check_refused(-ENOENT, words, "leaves nothing behind");
	read_back(path);
	CHECK_STR(text, "r1 +1\n");
}

static void write_at(const char *name, off_t at_byte, const char *bytes)
{
	int fd = open(name, O_WRONLY);

	CHECK(fd >= 0);
	CHECK_EQ(pwrite(fd, bytes, strlen(bytes), at_byte), strlen(bytes));
	CHECK_EQ(close(fd), 0);
}

static void a_corrupt_region_is_reported(void)
{
	char words[300], region[100];

	run_killed(ten_accesses, "");
	snprintf(region, sizeof(region), "%s", region_name());
	write_at(region, offsetof(struct crw_header, nr_slots), "\1\2\3\4");
	snprintf(words, sizeof(words), "'%s': its sizes are impossible", region);
	check_refused(-EPROTO, words, NULL);
	CHECK_EQ(access(region, F_OK), 0); /* it is not removed */
	CHECK_EQ(truncate(region, 0), 0);
	snprintf(words, sizeof(words), "there is nothing to recover for '%s'", path);
	check_refused(-ENOENT, words, "leaves nothing behind");
	CHECK_EQ(unlink(region), 0);
}

/* Units that mean nothing are counted, and the others are recovered. */
static void corrupt_units_are_counted(void)
{
	struct mem_reader *r;
	struct crw_header h;
	char region[100];
	struct crw_unit bad = { 5, CRW_W1(CRW_CTL(31), 1) | CRW_ROUND_OF(0) };
	struct crw_unit u;
	off_t where;
	int fd, i;

	run_killed(ten_accesses, "");
	snprintf(region, sizeof(region), "%s", region_name());
	fd = open(region, O_RDWR);
	CHECK(fd >= 0 && read(fd, &h, sizeof(h)) == sizeof(h));
	where = (off_t)h.rings_at + (off_t)sizeof(struct crw_chunk_head);
	/* The sixth access: the runtime stores units from the start of the chunk. */
	for (i = 0; i < 4000; i++, where += (off_t)sizeof(u)) {
		CHECK_EQ(pread(fd, &u, sizeof(u), where), sizeof(u));
		if (u.w0 == (uint64_t)(uintptr_t)at(320))
			break;
	}
	CHECK(i < 4000);
	CHECK_EQ(pwrite(fd, &bad, sizeof(bad), where), sizeof(bad));
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(recover(path), 0);
	CHECK_EQ(got.broken, 1);
	CHECK_EQ(got.records, 9);
	read_back(path);
	CHECK_STR(text, "r4 +0\nr4 +64\nr4 +128\nr4 +192\nr4 +256\nr4 +384\nr4 +448\nr4 +512\n"
			"r4 +576\n");
	r = mem_reader_open(path, &err);
	while (mem_reader_next(r))
		;
	CHECK_EQ(mem_reader_facts(r)->lost[CRAY_GAP_BROKEN], 1);
	mem_reader_close(r);
}

/* ---- tests: a killed collector
 * --------------------------------------------------------------------- */

/* A program and its child, which wait; argv[1] is the folder. */
static int run_family(const char *folder)
{
	char name[200];
	pid_t pid;

	alarm(60);
	__tsan_init();
	__tsan_read1(address(0x10));
	pid = fork();
	__tsan_read1(address(pid ? 0x11 : 0x12));
	cacheray_mark(3, pid ? "parent" : "child");
	if (pid) {
		FILE *f;

		snprintf(name, sizeof(name), "%s/pids", folder);
		f = fopen(name, "w");
		CHECK(f != NULL);
		fprintf(f, "%d %d", (int)getpid(), (int)pid);
		CHECK_EQ(fclose(f), 0);
	}
	snprintf(name, sizeof(name), "%s/%s", folder, pid ? "parent" : "child");
	wait_for_kill(name);
	return 0;
}

static pid_t start_collector(void)
{
	char *argv[] = { self, scratch, NULL };
	struct collect_config config = {
		.output = path, .argv = argv, .tool = "test 1", .no_heap = true
	};
	struct collect_result result;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/trace", scratch);
	unlink(path);
	pid = fork();
	if (pid == 0) {
		alarm(60);
		collect_run(&config, &result, &err);
		_exit(1);
	}
	return pid;
}

static bool has_note(const char *name, struct left_region *left)
{
	struct stat st;

	return stat(name, &st) == 0 && left_region_find(left, st.st_dev, st.st_ino);
}

/* The collector has made the files of both, and its notes of them. */
static void wait_for_notes(const char *child, struct left_region *left)
{
	int i;

	for (i = 0; i < 20000 && !(has_note(path, left) && has_note(child, left)); i++)
		usleep(1000);
	CHECK(has_note(child, left) && has_note(path, left));
}

static void check_left(const char *name, const char *words)
{
	struct mem_reader *r;

	CHECK_EQ(recover(name), 0);
	CHECK_EQ(got.broken, 0);
	read_back(name);
	CHECK_STR(text, words);
	r = mem_reader_open(name, &err);
	while (mem_reader_next(r))
		;
	/* What the collector had taken and not written is in neither. */
	CHECK(mem_reader_facts(r)->lost_unknown);
	CHECK_EQ(mem_reader_facts(r)->nr_threads, 1);
	CHECK_STR(mem_reader_facts(r)->writer, "test 1");
	mem_reader_close(r);
}

/* Of a process that is not a child of this one. */
static void wait_for_end(int pid)
{
	char maps[64];
	int i, fd = 0;

	CHECK_EQ(kill(pid, SIGKILL), 0);
	snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
	for (i = 0; i < 20000 && fd >= 0; i++) {
		char byte;

		usleep(1000);
		fd = open(maps, O_RDONLY);
		if (fd >= 0 && read(fd, &byte, 1) <= 0)
			i = 20000; /* it has no memory any more */
		if (fd >= 0)
			close(fd);
	}
	CHECK(fd < 0 || i > 20000);
}

static void a_killed_collector_leaves_a_trace_of_each_process(void)
{
	char child[200], name[200], words[400];
	struct left_region left = { .serial = 0 };
	pid_t collector = start_collector();
	int pids[2];
	FILE *f;

	snprintf(name, sizeof(name), "%s/parent", scratch);
	wait_for_file(name);
	CHECK_EQ(unlink(name), 0);
	snprintf(name, sizeof(name), "%s/child", scratch);
	wait_for_file(name);
	CHECK_EQ(unlink(name), 0);
	snprintf(name, sizeof(name), "%s/pids", scratch);
	f = fopen(name, "r");
	CHECK(f && fscanf(f, "%d %d", &pids[0], &pids[1]) == 2);
	fclose(f);
	CHECK_EQ(unlink(name), 0);
	snprintf(child, sizeof(child), "%s.%d", path, pids[1]);
	wait_for_notes(child, &left);
	snprintf(words, sizeof(words), "the collector of '%s' still runs (pid %d)", path,
		 (int)collector);
	check_refused(-EBUSY, words, "wait for its end: it completes the trace itself");
	CHECK_EQ(kill(collector, SIGKILL), 0);
	CHECK_EQ(waitpid(collector, NULL, 0), collector);
	snprintf(words, sizeof(words), "the program that writes '%s' still runs (pid %d)", path,
		 pids[0]);
	check_refused(-EBUSY, words, "wait for its end");
	/* Each program can be recovered when it has ended, also before the other. */
	wait_for_end(pids[0]);
	check_left(path, "r1 10\nr1 11\nmark 3 'parent'\n");
	CHECK_EQ(access(left.dir, F_OK), 0);
	CHECK_EQ(recover(child), -EBUSY);
	wait_for_end(pids[1]);
	check_left(child, "r1 12\nmark 3 'child'\n");
	CHECK(access(left.dir, F_OK) < 0);
	CHECK_EQ(unlink(child), 0);
}

int main(int argc, char **argv)
{
	unsigned before = count_open();

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	if (argc == 2)
		return run_family(argv[1]);
	unsetenv("LD_PRELOAD"); /* a leak checker is for this program, not for the others */
	bed_begin();
	RUN(records_of_all_kinds_are_recovered);
	RUN(stacks_and_facts_are_recovered);
	RUN(what_is_recovered_joins_what_was_written);
	RUN(records_in_both_are_not_doubled);
	RUN(nothing_is_recovered_twice_or_too_early);
	RUN(a_corrupt_region_is_reported);
	RUN(corrupt_units_are_counted);
	RUN(a_killed_collector_leaves_a_trace_of_each_process);
	CHECK_EQ(count_open(), before);
	bed_end();
	return 0;
}
