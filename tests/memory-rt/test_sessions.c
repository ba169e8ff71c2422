/* SPDX-License-Identifier: MIT */
/*
 * test_sessions.c - whole sessions of traced programs: names of files, facts, threads, children,
 * limits, bursts, requests, and regions of a collector.
 */
#include <corotracer/cacheray.h>
#include <corotracer/memory_hook.h>

#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/prctl.h>

#include "memory/collect/mem_collector.h"
#include "memory/collect/region_control.h"
#include "memory/collect/shared_region.h"
#include "recorded_bed.h"

void __tsan_read1(void *p);
void __tsan_read4(void *p);
void __tsan_write8(void *p);

/* An address that is the same in each program. */
static void *address(uintptr_t number)
{
	return (void *)number; // NOLINT(performance-no-int-to-ptr)
}

static void one_access(void)
{
	__tsan_read1(at(1));
}

static void check_said(const char *words)
{
	const char *begin = strstr(said, "]: ");

	CHECK(begin != NULL && strncmp(said, "cacheray[", 9) == 0);
	CHECK_STR(begin + 3, words);
}

/* ---- files ---------------------------------------------------------------------------- */

static bool exists(const char *name, const char *suffix)
{
	char full[300];

	snprintf(full, sizeof(full), "%s%s", name, suffix);
	return access(full, F_OK) == 0;
}

static void remove_file(const char *name, const char *suffix)
{
	char full[300];

	snprintf(full, sizeof(full), "%s%s", name, suffix);
	unlink(full);
}

static void write_text(const char *name, const char *words)
{
	FILE *f = fopen(name, "w");

	CHECK(f != NULL);
	fputs(words, f);
	CHECK_EQ(fclose(f), 0);
}

static void an_earlier_trace_is_kept(void)
{
	char old[200];
	int fd;

	CHECK_EQ(run(one_access, ""), 0);
	CHECK(!exists(path, ".old"));
	snprintf(old, sizeof(old), "%s.kept", path);
	CHECK_EQ(rename(path, old), 0);
	/* The last name of a file counts; run() removes the file of the first one. */
	snprintf(old, sizeof(old), "tracefile=%s.kept", path);
	CHECK_EQ(run(one_access, old), 0);
	CHECK_STR(said, "");
	CHECK(exists(path, ".kept.old") && exists(path, ".kept"));
	snprintf(old, sizeof(old), "%s.kept.old", path);
	read_back(old);
	CHECK_STR(text, "r1 +1\n");
	remove_file(path, ".kept.old");
	/* What is not a trace is overwritten, also if it is longer. */
	snprintf(old, sizeof(old), "%s.kept", path);
	write_text(old, "this is not a trace");
	fd = open(old, O_WRONLY);
	CHECK(fd >= 0 && ftruncate(fd, 1 << 20) == 0);
	close(fd);
	snprintf(old, sizeof(old), "tracefile=%s.kept", path);
	CHECK_EQ(run(one_access, old), 0);
	CHECK(!exists(path, ".kept.old"));
	snprintf(old, sizeof(old), "%s.kept", path);
	read_back(old);
	CHECK_STR(text, "r1 +1\n");
	remove_file(path, ".kept");
}

/* The file of the region of the trace at @st: removed when the trace is complete. */
static bool has_region(const struct stat *st)
{
	char name[100];

	snprintf(name, sizeof(name), "/dev/shm/cacheray-%u-%llx-%llx", getuid(),
		 (unsigned long long)st->st_dev, (unsigned long long)st->st_ino);
	return access(name, F_OK) == 0;
}

static char written_too[200];

/* Another program of the same name of a trace, while this one writes. */
static void starts_another(void)
{
	char *argv[] = { (char *)"again", path, NULL };
	posix_spawn_file_actions_t actions;
	int status, up[2];
	struct stat st;
	ssize_t got;
	pid_t pid;

	__tsan_read1(at(1));
	CHECK_EQ(stat(path, &st), 0);
	CHECK(has_region(&st));
	CHECK_EQ(pipe(up), 0);
	CHECK_EQ(posix_spawn_file_actions_init(&actions), 0);
	posix_spawn_file_actions_adddup2(&actions, up[1], 2);
	CHECK_EQ(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(up[1]);
	got = read(up[0], written_too, sizeof(written_too) - 1);
	CHECK(got > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	snprintf(said, sizeof(said), "%s.%d", path, (int)pid);
	read_back(said);
	CHECK_STR(text, "r1 4d\n");
	CHECK_EQ(unlink(said), 0);
	CHECK(strstr(written_too, "another program writes a trace of that name; this one is '"));
	CHECK(strstr(written_too, said) != NULL);
}

static void a_file_in_use_is_left_alone(void)
{
	records(starts_another, "", "r1 +1\n");
}

static void files_that_cannot_be_written_are_reported(void)
{
	char options[200], words[300];

	snprintf(options, sizeof(options), "tracefile=%s/none/x", scratch);
	CHECK_EQ(run(one_access, options), 0);
	snprintf(words, sizeof(words),
		 "cannot open the trace '%s/none/x': No such file or directory; not tracing\n",
		 scratch);
	check_said(words);
	CHECK_EQ(run(one_access, "tracefile=/dev/full"), 0);
	CHECK(strstr(said, "No space left on device; the program goes on without tracing\n"));
	CHECK(strstr(said, "]: cannot ") != NULL);
}

/* ---- facts ------------------------------------------------------------------------------ */

static struct mem_reader *open_trace(const char *name)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(name, &err);

	CHECK_STR(err.text, "");
	while (mem_reader_next(r))
		;
	CHECK_EQ(mem_reader_faults(r)->nr, 0);
	return r;
}

static const struct mem_module *module_of(const struct mem_facts *f, const void *code)
{
	uint64_t at = (uint64_t)(uintptr_t)code;
	size_t i;

	for (i = 0; i < f->nr_modules; i++) {
		if (at >= f->modules[i].m.start && at < f->modules[i].m.end)
			return &f->modules[i];
	}
	return NULL;
}

static void the_process_is_described(void)
{
	char exe[300] = "", cwd[300] = "", hex[65];
	const struct mem_module *self, *libc;
	const struct mem_facts *f;
	struct mem_reader *r;

	CHECK(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	CHECK(getcwd(cwd, sizeof(cwd)) != NULL);
	prctl(PR_SET_NAME, "described");
	CHECK_EQ(run(one_access, "level=2"), 0);
	r = open_trace(path);
	f = mem_reader_facts(r);
	CHECK(f->pid > 1 && f->pid != (uint64_t)getpid());
	CHECK_EQ(f->parent, getpid());
	CHECK_EQ(f->page_size, sysconf(_SC_PAGESIZE));
	CHECK(f->line_size == 64 || f->line_size == 128);
	CHECK_STR(f->exe, exe);
	CHECK_STR(f->cwd, cwd);
	CHECK(strncmp(f->writer, "libcacheray ", 12) == 0);
	CHECK(strstr(f->options, ":level=2") != NULL);
	CHECK(f->command_size > 0 && strstr(f->command, "test_memory_rt_sessions"));
	CHECK(f->machine && f->machine[0]);
	CHECK_EQ(f->nr_threads, 1);
	CHECK_EQ(f->threads[0].number, 0);
	CHECK_EQ(f->threads[0].id, f->pid);
	CHECK_STR(f->threads[0].name, "described");
	CHECK(f->threads[0].end_ns >= f->threads[0].start_ns && f->threads[0].start_ns > 0);
	self = module_of(f, (const void *)(uintptr_t)the_process_is_described);
	CHECK(self != NULL);
	CHECK_STR(self->path, exe);
	CHECK(self->m.bias <= self->m.start);
	libc = module_of(f, (const void *)(uintptr_t)getpid);
	CHECK(libc && strstr(libc->path, "/libc.so.6") && libc != self);
	CHECK_EQ(libc->m.build_id_size, 20);
	CHECK_EQ(strlen(mem_module_build_id(libc, hex)), 40);
	CHECK(!f->lost_unknown && f->end.lost == 0 && f->has_end);
	mem_reader_close(r);
}

/* ---- threads and children ----------------------------------------------------------------- */

static void *thread_body(void *number)
{
	size_t n = (size_t)(uintptr_t)number;
	char name[16];

	snprintf(name, sizeof(name), "worker %zu", n);
	prctl(PR_SET_NAME, name);
	__tsan_write8(at(64 * n));
	cacheray_mark(n, "done");
	return NULL;
}

static void three_threads(void)
{
	pthread_t thread;
	uintptr_t i;

	__tsan_read4(at(0));
	for (i = 1; i <= 3; i++) {
		CHECK_EQ(pthread_create(&thread, NULL, thread_body, (void *)i), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		cacheray_rtta_add(at(512), 8, (unsigned)i, "joined"); /* gives the order */
	}
	__tsan_read4(at(4));
}

static void threads_are_numbered_and_in_order(void)
{
	const struct mem_facts *f;
	struct mem_reader *r;

	records(three_threads, "",
		"r4 +0\nw8 +64\nmark 1 'done'\nadd +512 1x8 'joined'\n"
		"w8 +128\nmark 2 'done'\nremove +512\nadd +512 2x8 'joined'\n"
		"w8 +192\nmark 3 'done'\nremove +512\nadd +512 3x8 'joined'\nr4 +4\n");
	r = open_trace(path);
	f = mem_reader_facts(r);
	CHECK_EQ(f->nr_threads, 4);
	CHECK_STR(mem_facts_thread(f, 1)->name, "worker 1");
	CHECK_STR(mem_facts_thread(f, 3)->name, "worker 3");
	CHECK(mem_facts_thread(f, 2)->end_ns <= mem_facts_thread(f, 3)->end_ns);
	CHECK(mem_facts_id(f, 1) != mem_facts_id(f, 2) && mem_facts_id(f, 0) == f->pid);
	mem_reader_close(r);
}

static void forks(void)
{
	int status;
	pid_t pid;

	__tsan_read1(at(1));
	cacheray_rtta_add(at(512), 8, 8, "before");
	pid = fork();
	if (pid == 0) {
		CHECK(cacheray_recording());
		__tsan_read1(at(2));
		exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	__tsan_read1(at(3));
	/* The child's trace, with its parent. */
	snprintf(said, sizeof(said), "%s.%d", path, (int)pid);
	read_back(said);
	CHECK(strstr(text, "r1 +2\n") && !strstr(text, "r1 +1\n") && !strstr(text, "r1 +3\n"));
	{
		struct mem_reader *r = open_trace(said);

		CHECK_EQ(mem_reader_facts(r)->pid, pid);
		CHECK_EQ(mem_reader_facts(r)->parent, getpid());
		CHECK(mem_reader_facts(r)->nr_modules > 1);
		mem_reader_close(r);
	}
	CHECK_EQ(unlink(said), 0);
}

static void a_child_has_a_file_of_its_own(void)
{
	records(forks, "", "r1 +1\nadd +512 8x8 'before'\nr1 +3\n");
}

static char long_text[CRW_MARK_MAX + 1];

static void many_marks(void)
{
	uint32_t i;

	memset(long_text, 'm', CRW_MARK_MAX);
	for (i = 0; i < 30000; i++)
		cacheray_mark(i, long_text + i % CRW_MARK_MAX);
}

/* Texts of all lengths, of which some do not fit at the end of a chunk. */
static void marks_are_in_order_and_complete(void)
{
	const struct mem_record *rec;
	struct err err = { 0 };
	struct mem_reader *r;
	uint64_t nr = 0;

	CHECK_EQ(run(many_marks, "heap=0"), 0);
	CHECK_STR(said, "");
	r = mem_reader_open(path, &err);
	while ((rec = mem_reader_next(r))) {
		CHECK_EQ(rec->kind, MEM_MARK);
		CHECK_EQ(rec->value, nr);
		CHECK_EQ(rec->name_size, CRW_MARK_MAX - nr % CRW_MARK_MAX);
		CHECK(rec->name[0] == 'm' && rec->name[rec->name_size - 1] == 'm');
		nr++;
	}
	CHECK_EQ(nr, 30000);
	CHECK_EQ(mem_reader_faults(r)->nr, 0);
	mem_reader_close(r);
}

/* ---- limits --------------------------------------------------------------------------------- */

#define MANY 400000u

/* Addresses that differ, so that they do not become a few bytes. */
static void many_accesses(void)
{
	uint32_t i, x = 1;

	for (i = 0; i < MANY; i++) {
		x = x * 1664525u + 1013904223u;
		__tsan_read4(at(x >> 20 & 4092));
	}
	__tsan_read1(address(77));
}

/* Read a long trace.  Returns the address of the last access. */
static uint64_t read_long(uint64_t *lost)
{
	const struct mem_record *rec;
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);
	uint64_t last = 0;

	CHECK(r != NULL);
	while ((rec = mem_reader_next(r))) {
		if (mem_is_access(rec))
			last = rec->address;
	}
	CHECK_EQ(mem_reader_faults(r)->nr, 0);
	blocks = *mem_reader_blocks(r);
	CHECK(blocks.complete);
	*lost = mem_reader_facts(r)->end.lost;
	mem_reader_close(r);
	return last;
}

static void the_newest_accesses_are_kept(void)
{
	uint64_t lost;
	struct stat st;

	CHECK_EQ(run(many_accesses, "ring=256K"), 0);
	CHECK_STR(said, "");
	CHECK_EQ(read_long(&lost), 77);
	CHECK(blocks.nr_accesses > 10000 && lost > 10000);
	CHECK_EQ(blocks.nr_accesses + lost, MANY + 1);
	CHECK_EQ(stat(path, &st), 0);
	CHECK(st.st_size > 100000 && st.st_size < 300000);
}

static void after_the_limit(void)
{
	uint32_t i;

	/* Until the writer has reached the limit. */
	for (i = 0; i < 1000 && cacheray_recording(); i++)
		many_accesses();
	CHECK(!cacheray_recording());
	/* Until a buffer is full, where the thread sees that the trace is closed. */
	for (i = 0; i < 40000; i++)
		cacheray_mark(1, "not recorded");
	CHECK_EQ(cacheray_start(), -1);
}

static void a_trace_ends_at_its_size(void)
{
	const struct mem_facts *f;
	struct mem_reader *r;
	struct stat st;

	CHECK_EQ(run(after_the_limit, "maxsize=1M"), 0);
	check_said("the trace has reached its maxsize; the program goes on without tracing\n");
	r = open_trace(path);
	f = mem_reader_facts(r);
	CHECK(mem_reader_blocks(r)->complete && f->lost_unknown);
	CHECK(f->lost[CRAY_GAP_CAP] > 0);
	CHECK(mem_reader_blocks(r)->nr_accesses > 100000);
	mem_reader_close(r);
	CHECK_EQ(stat(path, &st), 0);
	CHECK(st.st_size > 500000 && st.st_size <= 1 << 20);
	CHECK(!has_region(&st));
}

static void what_does_not_fit_is_counted(void)
{
	uint64_t lost;

	CHECK_EQ(run(many_accesses, "buffer=256K:onfull=drop"), 0);
	CHECK_STR(said, "");
	read_long(&lost);
	CHECK_EQ(blocks.nr_accesses + lost, MANY + 1);
}

static void long_coroutine(void)
{
	cacheray_coroutine(CTP_MEMORY_CREATED, at(0), 7, "long");
	cacheray_coroutine(CTP_MEMORY_RESUMED, at(0), 7, NULL);
	many_accesses();
	cacheray_coroutine(CTP_MEMORY_DESTROYED, at(0), 7, NULL);
	__tsan_read1(at(1));
}

/* Its stamps are at its ends, however many buffers it fills. */
static void a_coroutine_is_stamped_when_it_changes(void)
{
	const struct mem_record *rec;
	struct err err = { 0 };
	struct mem_reader *r;
	uint64_t nr = 0, inside = 0, is_running = 0;

	CHECK_EQ(run(long_coroutine, "heap=0"), 0);
	CHECK_STR(said, "");
	r = mem_reader_open(path, &err);
	while ((rec = mem_reader_next(r))) {
		if (rec->kind == MEM_CORO) {
			nr++;
			is_running = rec->value == 7;
		} else {
			inside += is_running;
		}
	}
	/* And at the start of each further block, which may be read alone. */
	CHECK_EQ(nr, 2 + mem_reader_blocks(r)->nr - 1);
	CHECK_EQ(inside, MANY + 1);
	mem_reader_close(r);
}

/* ---- bursts and requests ------------------------------------------------------------------------
 */

static void until(bool is_recording)
{
	uint32_t i;

	for (i = 0; i < 20000000 && cacheray_recording() != is_recording; i++)
		sched_yield();
	CHECK_EQ(cacheray_recording(), is_recording);
}

static void two_bursts(void)
{
	until(true);
	__tsan_read1(at(1));
	until(false);
	__tsan_read1(at(2));
	until(true);
	__tsan_read1(at(3));
	cacheray_stop();
}

/* On a busy machine the program may be late for its burst: then again. */
static void bursts_follow_each_other(void)
{
	int i;

	for (i = 0; i < 20; i++) {
		CHECK_EQ(run(two_bursts, "burst=20ms/40ms"), 0);
		CHECK_STR(said, "");
		read_back(path);
		if (strstr(text, "r1 +1 weight 512/256\nmark 2 'burst'\n"))
			break;
	}
	CHECK(strstr(text, "mark 1 'burst'\n") && strstr(text, "mark 2 'burst'\n"));
	/* Half of the time: each access stands for two. */
	CHECK(strstr(text, "r1 +1 weight 512/256\nmark 2 'burst'\n") != NULL);
	CHECK(!strstr(text, "r1 +2 ") && strstr(text, "r1 +3 weight 512/256\n"));
}

static int to_sender[2];

static void obeys(void)
{
	pid_t pid = getpid();

	CHECK(!cacheray_recording());
	__tsan_read1(at(1));
	CHECK_EQ(write(to_sender[1], &pid, sizeof(pid)), sizeof(pid));
	until(true);
	__tsan_read1(at(2));
	CHECK_EQ(write(to_sender[1], &pid, sizeof(pid)), sizeof(pid));
	until(false);
	__tsan_read1(at(3));
}

/* Sends START and, when the program has seen that, MARK and STOP. */
static pid_t start_sender(void)
{
	struct err err = { 0 };
	pid_t pid, target;

	CHECK_EQ(pipe(to_sender), 0);
	pid = fork();
	if (pid)
		return pid;
	alarm(60);
	if (read(to_sender[0], &target, sizeof(target)) != sizeof(target) ||
	    region_control_send((uint32_t)target, CRW_REQUEST_START, NULL, &err) ||
	    read(to_sender[0], &target, sizeof(target)) != sizeof(target) ||
	    region_control_send((uint32_t)target, CRW_REQUEST_MARK, "from outside", &err) ||
	    region_control_send((uint32_t)target, CRW_REQUEST_STOP, NULL, &err))
		fprintf(stderr, "%s\n", err.text);
	_exit(err.code ? 1 : 0);
}

static void requests_are_served(void)
{
	pid_t sender = start_sender();
	int status;

	CHECK_EQ(run(obeys, "control=1:start=0"), 0);
	CHECK_EQ(waitpid(sender, &status, 0), sender);
	CHECK_EQ(status, 0);
	CHECK_STR(said, "");
	read_back(path);
	CHECK(strstr(text, "mark 0 'from outside'\n") != NULL);
	CHECK(strstr(text, "r1 +2\n") && !strstr(text, "r1 +1\n") && !strstr(text, "r1 +3\n"));
	close(to_sender[0]);
	close(to_sender[1]);
}

/* ---- the region of a collector ----------------------------------------------------------------
 */

static void joins(const char *region, const char *why)
{
	char words[400];

	CHECK_EQ(setenv("CACHERAY_REGION", region, 1), 0);
	CHECK_EQ(run(one_access, ""), 0);
	unsetenv("CACHERAY_REGION");
	CHECK(!exists(path, ""));
	if (!why) {
		CHECK_STR(said, "");
		return;
	}
	snprintf(words, sizeof(words), "cannot join the collector's region '%s': %s; not tracing\n",
		 region, why);
	check_said(words);
}

static void a_region_that_cannot_be_used_is_reported(void)
{
	char name[200];

	joins("/nowhere/region", "it cannot be opened (has the collector ended?)");
	joins("/dev/null", "it is no file");
	snprintf(name, sizeof(name), "%s/region", scratch);
	write_text(name, "");
	joins(name, "it cannot be mapped");
	write_text(name, "x");
	joins(name, "it is too short for a header");
	unlink(name);
}

static struct shm shm;

static void make_region(uint32_t nr_slots, uint32_t nr_chunks, uint32_t on_full)
{
	struct crw_geometry g = { .nr_processes = 1,
				  .nr_slots = nr_slots,
				  .nr_chunks = nr_chunks,
				  .chunk_size = CRW_CHUNK_SIZE,
				  .on_full = on_full };
	struct err err = { 0 };

	CHECK_EQ(shm_create(&shm, &g, &err), 0);
	CHECK_EQ(setenv("CACHERAY_REGION", shm.path, 1), 0);
}

static void drop_region(void)
{
	unsetenv("CACHERAY_REGION");
	shm_close(&shm);
}

/* The end of the program leaves what it recorded, for a collector that reads it later. */
static void a_program_leaves_its_slot_to_the_collector(void)
{
	const struct crw_process *p;
	struct crw_slot *s;

	make_region(2, 4, CRW_BLOCK);
	s = &shm.region.slots[0];
	memset(s, 0xee, sizeof(*s)); /* what an earlier thread left there */
	s->state = CRW_FREE;
	s->taken = 0;
	CHECK_EQ(run(one_access, ""), 0);
	CHECK_STR(said, "");
	p = &shm.region.processes[0];
	CHECK_EQ(p->state, CRW_LIVE);
	CHECK_EQ(p->ppid, getpid());
	CHECK(p->serial == 1 && p->parent == 0 && p->lost == 0 && p->start_ns > 0);
	CHECK(p->line_size >= 32 && p->control == 0);
	CHECK_EQ(s->state, CRW_ENDED);
	CHECK(s->thread == 1 && s->serial == 1 && s->tid == p->pid && s->pid == p->pid);
	CHECK(s->sealed == 0 && s->end_ns >= s->start_ns && s->lost_full == 0);
	CHECK(s->waiting == 0 && s->left_sampled == 0 && s->left_filtered == 0);
	CHECK(s->process == 0 && strlen(s->name) < sizeof(s->name));
	CHECK_EQ(shm.region.slots[1].state, CRW_FREE);
	/* There is room for one process. */
	CHECK_EQ(run(one_access, ""), 0);
	check_said("there are too many traced processes at a time; not tracing this one\n");
	CHECK_EQ(shm.region.header->refused, 1);
	drop_region();
}

static void more_threads_than_slots(void)
{
	three_threads();
	__tsan_read4(at(0));
}

static void accesses_without_a_slot_are_counted(void)
{
	make_region(2, 4, CRW_DROP);
	CHECK_EQ(run(more_threads_than_slots, ""), 0);
	CHECK_STR(said, "");
	CHECK_EQ(shm.region.header->refused, 2);   /* threads 3 and 4 */
	CHECK_EQ(shm.region.processes[0].lost, 4); /* an access and a mark each */
	CHECK_EQ(shm.region.slots[0].thread, 1);
	CHECK_EQ(shm.region.slots[1].thread, 2);
	CHECK_STR(shm.region.slots[1].name, "worker 1");
	drop_region();
}

static void a_full_ring_loses_what_follows(void)
{
	uint64_t kept, units = CRW_UNITS(CRW_CHUNK_SIZE);
	const struct crw_slot *s;

	make_region(2, 4, CRW_DROP);
	CHECK_EQ(run(many_accesses, ""), 0);
	CHECK_STR(said, "");
	s = &shm.region.slots[0];
	CHECK(s->sealed == 4 && s->taken == 0 && s->state == CRW_ENDED);
	kept = MANY + 1 - s->lost_full;
	/* The other units are facts, modules and stamps. */
	CHECK(kept < 4 * units && kept > 3 * units);
	drop_region();
}

/* A program that starts in a closed region, or whose region is closed, does not wait. */
static void a_closed_region_is_left(void)
{
	make_region(2, 4, CRW_BLOCK);
	shm.region.header->closed = CRW_CLOSED_END;
	CHECK_EQ(run(many_accesses, ""), 0);
	CHECK_STR(said, "");
	CHECK(shm.region.slots[0].sealed <= 4);
	drop_region();
}

static int end_of_run[2];

static void run_traced(const char *region)
{
	CHECK_EQ(setenv("CACHERAY_REGION", region, 1), 0);
	if (fork() == 0) {
		char *argv[] = { (char *)"collected", path, NULL };

		dup2(end_of_run[1], 900);
		close(end_of_run[1]);
		close(end_of_run[0]);
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	close(end_of_run[1]);
	unsetenv("CACHERAY_REGION");
}

static void collects(int packers, bool stacks)
{
	char *argv[] = { (char *)"name", (char *)"argument", NULL };
	struct collect_config config = { .output = path,
					 .argv = argv,
					 .ready = run_traced,
					 .packers = packers,
					 .stacks = stacks,
					 .level = 1,
					 .buffer = 1 << 20,
					 .tool = "test 1" };
	struct collect_result result = { 0 };
	struct err err = { 0 };
	uint64_t lost;
	int status;

	CHECK_EQ(pipe(end_of_run), 0);
	config.until_fd = end_of_run[0];
	snprintf(path, sizeof(path), "%s/trace", scratch);
	unlink(path);
	CHECK_EQ(collect_run(&config, &result, &err), 0);
	CHECK(wait(&status) > 0);
	CHECK_EQ(status, 0);
	close(end_of_run[0]);
	CHECK_EQ(result.threads, 4);
	CHECK_EQ(result.broken + result.refused + result.recovered, 0);
	CHECK_EQ(read_long(&lost), 77);
	CHECK_EQ(blocks.nr_accesses, 3 * MANY + 4 + 1);
	CHECK_EQ(lost, 0);
	collect_result_release(&result);
}

static void a_collector_gets_everything(void)
{
	collects(1, false);
	collects(3, true);
}

/* ---- programs that this one starts --------------------------------------------------------------
 */

static void *many_in_thread(void *number)
{
	uint32_t i;

	for (i = 0; i < MANY; i++)
		__tsan_read4(at(i * 64 % 4096));
	return thread_body(number);
}

static void collected(void)
{
	pthread_t threads[3];
	uintptr_t i;

	__tsan_read1(at(0));
	for (i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, many_in_thread, (void *)(i + 1)), 0);
	for (i = 0; i < 3; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	cacheray_rtta_add(at(512), 8, 8, "joined"); /* gives the order */
	__tsan_read1(address(77));
}

/* argv[0] says which program; its trace has the path argv[1]. */
static int run_program(char **argv)
{
	char options[300];

	alarm(60);
	snprintf(options, sizeof(options), "tracefile=%s", argv[1]);
	setenv("CACHERAY_OPTIONS", options, 1);
	__tsan_init();
	if (!strcmp(argv[0], "collected"))
		collected();
	else
		__tsan_read1(address(77));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && (!strcmp(argv[0], "again") || !strcmp(argv[0], "collected")))
		return run_program(argv);
	bed_begin();
	RUN(an_earlier_trace_is_kept);
	RUN(a_file_in_use_is_left_alone);
	RUN(files_that_cannot_be_written_are_reported);
	RUN(the_process_is_described);
	RUN(threads_are_numbered_and_in_order);
	RUN(a_child_has_a_file_of_its_own);
	RUN(marks_are_in_order_and_complete);
	RUN(the_newest_accesses_are_kept);
	RUN(a_trace_ends_at_its_size);
	RUN(what_does_not_fit_is_counted);
	RUN(a_coroutine_is_stamped_when_it_changes);
	RUN(bursts_follow_each_other);
	RUN(requests_are_served);
	RUN(a_region_that_cannot_be_used_is_reported);
	RUN(a_program_leaves_its_slot_to_the_collector);
	RUN(accesses_without_a_slot_are_counted);
	RUN(a_full_ring_loses_what_follows);
	RUN(a_closed_region_is_left);
	RUN(a_collector_gets_everything);
	bed_end();
	return 0;
}
