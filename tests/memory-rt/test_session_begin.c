/* SPDX-License-Identifier: MIT */
/*
 * test_session_begin.c - the begin of tracing in a process: the region of a collector, the entry in
 * its table, the options; and without a collector the trace file and the region beside it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "count_open.h"

static struct {
	int64_t mapped; /* bytes that are not given back */
	unsigned nr_maps, map_from;
	uint64_t room; /* of file systems; 0: as it is */
	int advice_error;
} kernel;

static void *kernel_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (kernel.map_from && ++kernel.nr_maps >= kernel.map_from) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (!(flags & MAP_FIXED))
		kernel.mapped += (int64_t)size;
	return mmap(at, size, prot, flags, fd, offset);
}

static int kernel_munmap(void *at, size_t size)
{
	kernel.mapped -= (int64_t)size;
	return munmap(at, size);
}

static int kernel_madvise(void *at, size_t size, int advice)
{
	errno = kernel.advice_error;
	return kernel.advice_error ? -1 : madvise(at, size, advice);
}

static int kernel_fstatvfs(int fd, struct statvfs *fs)
{
	int rc = fstatvfs(fd, fs);

	if (kernel.room) {
		fs->f_frsize = 4096;
		fs->f_bavail = kernel.room / 4096;
	}
	return rc;
}

#define mmap(...)     kernel_mmap(__VA_ARGS__)
#define munmap(...)   kernel_munmap(__VA_ARGS__)
#define madvise(...)  kernel_madvise(__VA_ARGS__)
#define fstatvfs(...) kernel_fstatvfs(__VA_ARGS__)

#include "../../runtime/memory/sys.c"
#include "../../runtime/memory/options.c"
#include "../../runtime/memory/inherited_region.c"
#include "../../runtime/memory/inprocess_file.c"
#include "../../runtime/memory/trace_session.c"

#undef mmap
#undef munmap
#undef madvise
#undef fstatvfs

/* ---- the rest of the runtime ---------------------------------------------------------------- */

static char calls[200];

static void note(const char *what)
{
	CHECK(strlen(calls) + strlen(what) + 2 < sizeof(calls));
	strcat(calls, calls[0] ? " " : "");
	strcat(calls, what);
}

static const char *noted(void)
{
	static char last[sizeof(calls)];

	memcpy(last, calls, sizeof(calls));
	calls[0] = '\0';
	return last;
}

static struct crw_region own_region; /* of a session without a collector */

bool crt_alone_begin(bool child)
{
	note(child ? "alone-child" : "alone");
	crt_session.region = own_region;
	return own_region.base != NULL;
}

void crt_alone_finish(void)
{
	note("finish");
}

void crt_alone_forget(void)
{
	note("forget-alone");
	crt_session.region.base = NULL;
}

void crt_thread_end(void)
{
	note("thread-end");
}

void crt_thread_forget(void)
{
	note("forget");
}

void crt_thread_hook(void)
{
	note("hook");
}

void crt_tell_facts(void)
{
	note("facts");
}

void crt_tell_modules(void)
{
	note("modules");
}

void crt_control_begin(void)
{
	note("control");
}

/* ---- helpers ----------------------------------------------------------------------------------
 */

static char dir[] = "/tmp/corotracer-test-XXXXXX";
static char path[300];
static char said[2000];

static void name_file(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
}

/* What the runtime prints meanwhile. */
static int saved_stderr, said_fd;

static void say_begin(void)
{
	char name[] = "/tmp/corotracer-test-XXXXXX";

	saved_stderr = dup(2);
	said_fd = mkstemp(name);
	CHECK(said_fd >= 0 && unlink(name) == 0 && dup2(said_fd, 2) == 2);
}

static const char *say_end(void)
{
	ssize_t got = pread(said_fd, said, sizeof(said) - 1, 0);

	said[got > 0 ? got : 0] = '\0';
	dup2(saved_stderr, 2);
	close(saved_stderr);
	close(said_fd);
	return said;
}

/* A region of a collector in a file. */
static uint64_t region_file(const char *name, uint32_t chunk_size, uint32_t processes,
			    struct crw_region *r)
{
	const struct crw_geometry g = { .nr_processes = processes,
					.nr_slots = 4,
					.nr_chunks = CRW_CHUNKS_MIN,
					.chunk_size = chunk_size,
					.on_full = CRW_DROP };
	uint64_t size = crw_region_size(&g);
	void *map;
	int fd;

	name_file(name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	close(fd);
	crw_region_init(map, &g);
	CHECK(crw_region_open(map, size, r) == NULL);
	return size;
}

static void session_clear(void)
{
	memset(&crt_session, 0, sizeof(crt_session));
	memset(&crt_state, 0, sizeof(crt_state));
	memset(&kernel, 0, sizeof(kernel));
	memset(&own_region, 0, sizeof(own_region));
	begun = 0;
	calls[0] = '\0';
	unsetenv(CRW_ENV);
	unsetenv(CRW_ENV_FD);
	unsetenv("CACHERAY_OPTIONS");
}

/* ---- switches -----------------------------------------------------------------------------------
 */

static void tickets_and_the_switch_are_one_word(void)
{
	session_clear();
	CHECK_EQ(crt_ticket(), 1);
	CHECK_EQ(crt_ticket(), 2);
	CHECK_EQ(cacheray_recording(), 0);
	crt_switch(true);
	CHECK_EQ(cacheray_recording(), 1);
	CHECK_EQ(crt_ticket(), 3);
	CHECK_EQ(cacheray_recording(), 1);
	cacheray_stop();
	CHECK_EQ(cacheray_recording(), 0);
	CHECK_EQ(crt_ticket(), 4);
	crt_switch(true);
	crt_state.session = 1;
	say_begin();
	crt_end("it is over");
	crt_end("it is over"); /* said once */
	CHECK(strstr(say_end(), "it is over\n"));
	CHECK(!strstr(strstr(said, "it is over\n") + 1, "it is"));
	CHECK(cacheray_recording() == 0 && crt_state.session == 0);
	crt_state.session = 1;
	say_begin();
	crt_end(NULL);
	CHECK_STR(say_end(), "");
	CHECK_EQ(crt_state.session, 0);
}

static void a_region_is_mapped_at_a_multiple_of_its_chunks(void)
{
	struct crw_region r;
	uint64_t size = region_file("aligned", CRW_CHUNK_SIZE, 2, &r);
	int fd = open(path, O_RDWR), i;
	void *first, *room[8];

	session_clear();
	for (i = 0; i < 8; i++) { /* other alignments of the address space */
		room[i] = mmap(NULL, 4096 * (size_t)(i + 1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		errno = 12345;
		first = crt_map_region(fd, size);
		CHECK_EQ(errno, 12345);
		CHECK(first && (uintptr_t)first % CRW_CHUNK_SIZE == 0);
		CHECK_EQ(kernel.mapped, (int64_t)size); /* nothing beside it */
		CHECK_EQ(*(uint64_t *)first, CRW_MAGIC);
		CHECK_EQ(munmap(first, size), 0);
		kernel.mapped = 0;
	}
	for (i = 0; i < 8; i++)
		munmap(room[i], 4096 * (size_t)(i + 1));
	kernel.map_from = 1;
	CHECK(!crt_map_region(fd, size));
	kernel.nr_maps = 0;
	kernel.map_from = 2;
	CHECK(!crt_map_region(fd, size));
	CHECK_EQ(kernel.mapped, 0);
	close(fd);
}

/* ---- a collector
 * ----------------------------------------------------------------------------------- */

static void expect_refused(const char *why)
{
	unsigned before = count_open();

	kernel.mapped = 0;
	say_begin();
	CHECK(!trace_session_join(path));
	CHECK(strstr(say_end(), why) != NULL);
	CHECK(strstr(said, path) && strstr(said, "; not tracing\n"));
	CHECK(!crt_session.region.base);
	CHECK_EQ(kernel.mapped, 0);
	CHECK_EQ(count_open(), before);
}

static void only_a_whole_region_is_joined(void)
{
	struct crw_region r;
	unsigned before = count_open();
	uint64_t size;

	session_clear();
	name_file("nothing");
	expect_refused("it cannot be opened (has the collector ended?)");
	snprintf(path, sizeof(path), "/dev/null");
	expect_refused("it is no file");
	size = region_file("small", 65536, 2, &r);
	expect_refused("its chunks are of another size");
	munmap(r.base, size);
	size = region_file("joined", CRW_CHUNK_SIZE, 2, &r);
	kernel.nr_maps = 0;
	kernel.map_from = 1;
	expect_refused("it cannot be mapped");
	kernel.map_from = 0;
	kernel.advice_error = ENOMEM;
	expect_refused("its file system is full");
	kernel.advice_error = 0;
	CHECK(trace_session_join(path));
	CHECK(crt_session.region.base && crt_session.drop);
	CHECK_EQ(crt_session.region.nr_processes, 2);
	CHECK_EQ(count_open(), before);
	r.header->on_full = CRW_BLOCK;
	CHECK(trace_session_join(path));
	CHECK(!crt_session.drop);
	r.header->magic++;
	crt_session.region.base = NULL;
	expect_refused("it does not start like a region");
	munmap(r.base, size);
}

static void a_process_has_an_entry_in_the_table(void)
{
	struct crw_region r;
	struct crw_process *p;
	uint64_t now = crt_now();

	session_clear();
	region_file("table", CRW_CHUNK_SIZE, 2, &r);
	crt_session.region = r;
	crt_session.parent = 41;
	crt_session.next_thread = 9;
	r.processes[0].state = CRW_LIVE; /* another process */
	p = &r.processes[1];
	memset(p, 0xff, sizeof(*p));
	p->state = CRW_FREE;
	r.header->next_process = 6;
	CHECK(trace_session_enter());
	CHECK_EQ(p->state, CRW_LIVE);
	CHECK(p->pid == (uint32_t)getpid() && p->ppid == (uint32_t)getppid());
	CHECK(p->serial == 7 && p->parent == 41);
	CHECK(p->start_ns >= now && p->start_ns <= crt_now());
	CHECK(p->line_size >= 16 && p->line_size <= 1024);
	CHECK(p->lost == 0 && p->control == 0 && p->request == 0 && p->served == 0);
	CHECK(crt_session.process == 1 && crt_session.serial == 7);
	CHECK(crt_session.pid == (uint32_t)getpid() && crt_session.next_thread == 0);
	CHECK_EQ(r.header->next_process, 7);
	say_begin();
	CHECK(!trace_session_enter());
	CHECK(strstr(say_end(), "there are too many traced processes"));
	CHECK_EQ(r.header->refused, 1);
	CHECK_EQ(r.header->next_process, 7);
}

/* The features that the consumer knows, what it wants, and the options. */
static void a_session_records_what_is_known_and_wanted(void)
{
	struct crw_region r;
	struct crt_options *o = &crt_session.options;

	session_clear();
	region_file("features", CRW_CHUNK_SIZE, 50, &r);
	setenv(CRW_ENV, path, 1);
	o->heap = o->start = true;
	r.header->features = CRW_FEATURE_CORO | CRW_FEATURE_HEAP | CRW_FEATURE_CALL |
			     CRW_FEATURE_ROUNDS;
	session_begin(false);
	CHECK_STR(noted(), "facts modules control");
	CHECK(crt_session.coroutines && crt_session.heap && !crt_session.calls);
	CHECK(crt_session.rounds && !crt_session.guarded && !crt_session.alone);
	CHECK_EQ(crt_session.generation, 1);
	CHECK(crt_state.session == 1 && cacheray_recording() == 1);
	r.header->wants = CRW_WANT_NO_HEAP | CRW_WANT_CALLS;
	crt_switch(false);
	o->start = false;
	o->period = 5;
	session_begin(false);
	CHECK(!crt_session.heap && crt_session.calls && crt_session.guarded);
	CHECK_EQ(cacheray_recording(), 0);
	CHECK_EQ(crt_session.generation, 2);
	r.header->wants = 0;
	r.header->features = 0;
	o->stacks = o->start = true;
	o->on_ms = 5; /* the control thread switches it on */
	o->period = 0;
	o->lines = 4;
	session_begin(false);
	CHECK(!crt_session.coroutines && !crt_session.heap && !crt_session.calls);
	CHECK(!crt_session.rounds && crt_session.guarded);
	CHECK_EQ(cacheray_recording(), 0);
	o->lines = 0;
	o->nr_regions = 1;
	r.header->features = CRW_FEATURE_CALL | CRW_FEATURE_HEAP;
	o->heap = false;
	session_begin(false);
	CHECK(crt_session.calls && !crt_session.heap && crt_session.guarded);
	noted();
	unsetenv(CRW_ENV);
	crt_state.session = 0;
	session_begin(true); /* no collector, and no memory */
	CHECK_STR(noted(), "alone-child");
	CHECK(crt_session.alone && crt_state.session == 0);
	setenv(CRW_ENV, "", 1);
	own_region = r;
	session_begin(false);
	CHECK_STR(noted(), "alone facts modules control");
	CHECK_EQ(crt_state.session, 1);
}

static void tracing_begins_once(void)
{
	session_clear();
	setenv("CACHERAY_OPTIONS", "level=99", 1);
	say_begin();
	crt_init();
	CHECK(strlen(say_end()) > 0);
	CHECK_EQ(begun, 3);
	CHECK_STR(noted(), "");
	CHECK_EQ(cacheray_start(), -1);
	session_clear();
	setenv("CACHERAY_OPTIONS", "enabled=0", 1);
	errno = 12345;
	__tsan_init();
	CHECK_EQ(errno, 12345);
	CHECK_EQ(begun, 2);
	CHECK_STR(noted(), "hook");
	__tsan_init();
	CHECK_STR(noted(), "");
	CHECK_EQ(cacheray_start(), -1); /* the session cannot begin */
	CHECK_STR(noted(), "alone");
	CHECK_EQ(cacheray_recording(), 0);
	region_file("once", CRW_CHUNK_SIZE, 9, &own_region);
	CHECK_EQ(cacheray_start(), 0);
	CHECK_STR(noted(), "alone facts modules control");
	CHECK_EQ(cacheray_recording(), 1);
	__tsan_init(); /* a library was loaded */
	CHECK_STR(noted(), "modules");
	cacheray_stop();
	CHECK_EQ(cacheray_start(), 0);
	CHECK_EQ(cacheray_recording(), 1);
	noted();
	crt_end(NULL);
	CHECK_EQ(cacheray_start(), -1); /* a session that has ended is not restarted */
	CHECK_STR(noted(), "");
}

static void a_child_has_a_session_of_its_own(void)
{
	session_clear();
	in_child();
	CHECK_STR(noted(), "forget"); /* the parent has none */
	region_file("child", CRW_CHUNK_SIZE, 9, &own_region);
	crt_session.options.start = true;
	begun = 2;
	session_begin(false);
	noted();
	CHECK_EQ(crt_session.serial, 1);
	crt_state.word |= 8;
	errno = 12345;
	in_child();
	CHECK_EQ(errno, 12345);
	CHECK_STR(noted(), "forget forget-alone alone-child facts modules control");
	CHECK(crt_session.parent == 1 && crt_session.serial == 2);
	CHECK_EQ(crt_state.word, CRT_ON);
	CHECK_EQ(own_region.processes[1].parent, 1);
	begun = 3;
	in_child();
	CHECK_STR(noted(), "forget");
}

static void the_end_of_the_process_completes_the_trace(void)
{
	session_clear();
	crt_session.pid = crt_pid() + 1; /* a child without a session */
	crt_session.alone = 1;
	crt_state.session = 1;
	at_end();
	CHECK_STR(noted(), "");
	crt_session.pid = crt_pid();
	at_end();
	CHECK_STR(noted(), "finish");
	crt_session.alone = 0;
	at_end();
	CHECK_STR(noted(), "thread-end");
	crt_state.session = 0;
	at_end();
	CHECK_STR(noted(), "");
	crt_session.pid = 0;
}

/* ---- the trace file
 * ------------------------------------------------------------------------------------ */

static struct {
	struct cray_file file;
	struct cray_chunk chunk;
	struct cray_fact fact;
	uint64_t pid;
} head;

static void head_make(void)
{
	memset(&head, 0, sizeof(head));
	memcpy(head.file.magic, CRAY_MAGIC, 8);
	head.file.start_ns = crt_now();
	head.chunk.type = CRAY_INFO;
	head.chunk.codec = CRAY_CODEC_NONE;
	head.fact.key = CRAY_FACT_PID;
	head.pid = (uint64_t)getpid();
}

static bool is_own_trace(size_t size)
{
	int fd;

	name_file("head");
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, &head, size) == (ssize_t)size);
	close(fd);
	return own_trace_is_there(path);
}

static void a_trace_from_before_an_exec_is_known(void)
{
	CHECK(own_process_start() <= crt_now());
	CHECK(own_process_start() + UINT64_C(600000000000) > crt_now()); /* this test is young */
	head_make();
	CHECK(is_own_trace(sizeof(head)));
	CHECK(!is_own_trace(sizeof(head) - 1));
	CHECK(!is_own_trace(10));
	head.file.magic[7]++;
	CHECK(!is_own_trace(sizeof(head)));
	head_make();
	head.chunk.type++;
	CHECK(!is_own_trace(sizeof(head)));
	head_make();
	head.chunk.codec++;
	CHECK(!is_own_trace(sizeof(head)));
	head_make();
	head.file.start_ns = own_process_start() - 1;
	CHECK(!is_own_trace(sizeof(head)));
	head.file.start_ns = own_process_start();
	CHECK(is_own_trace(sizeof(head)));
	head.fact.key++;
	CHECK(!is_own_trace(sizeof(head)));
	head_make();
	head.pid++;
	CHECK(!is_own_trace(sizeof(head)));
}

static void an_earlier_trace_is_kept(void)
{
	char old[400], magic[8] = "";
	int fd, second;

	name_file("trace");
	snprintf(old, sizeof(old), "%s.old", path);
	fd = trace_take(path);
	CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK_EQ(write(fd, CRAY_MAGIC "rest", 12), 12);
	CHECK_EQ(trace_take(path), -EWOULDBLOCK); /* it is being written */
	close(fd);
	fd = trace_take(path);
	CHECK(fd >= 0 && lseek(fd, 0, SEEK_END) == 0);
	second = open(old, O_RDONLY);
	CHECK(second >= 0 && read(second, magic, 8) == 8 && !memcmp(magic, CRAY_MAGIC, 8));
	close(second);
	CHECK_EQ(write(fd, "no trace", 8), 8);
	close(fd);
	CHECK_EQ(unlink(old), 0);
	fd = trace_take(path); /* another file is not kept */
	CHECK(fd >= 0 && lseek(fd, 0, SEEK_END) == 0);
	CHECK(trace_has_name(fd, path) && !trace_has_name(fd, "/dev/null"));
	CHECK_EQ(access(old, F_OK), -1);
	close(fd);
	fd = trace_take("/dev/null");
	CHECK(fd >= 0);
	close(fd);
	name_file("no/such/folder");
	CHECK_EQ(trace_take(path), -ENOENT);
}

static void a_trace_has_a_name_of_its_own(void)
{
	char expected[400];
	struct stat st;
	int fd, second;

	session_clear();
	snprintf(crt_session.options.tracefile, sizeof(crt_session.options.tracefile), "%s/own",
		 dir);
	fd = crt_open_trace(false);
	CHECK(fd >= 0);
	name_file("own");
	CHECK_EQ(stat(path, &st), 0);
	say_begin();
	second = crt_open_trace(false); /* that is taken */
	snprintf(expected, sizeof(expected), "this one is '%s.%d'", path, (int)getpid());
	CHECK(second >= 0 && strstr(say_end(), expected));
	snprintf(expected, sizeof(expected), "%s.%d", path, (int)getpid());
	CHECK_EQ(unlink(expected), 0);
	close(second);
	head_make();
	CHECK_EQ(write(fd, &head, sizeof(head)), (ssize_t)sizeof(head));
	close(fd);
	fd = crt_open_trace(false); /* written by this process, before it executed another */
	snprintf(expected, sizeof(expected), "%s.1", path);
	CHECK(fd >= 0 && trace_has_name(fd, expected));
	CHECK_EQ(write(fd, &head, sizeof(head)), (ssize_t)sizeof(head));
	close(fd);
	fd = crt_open_trace(false);
	snprintf(expected, sizeof(expected), "%s.2", path);
	CHECK(fd >= 0 && trace_has_name(fd, expected));
	close(fd);
	fd = crt_open_trace(true);
	snprintf(expected, sizeof(expected), "%s.%d", path, (int)getpid());
	CHECK(fd >= 0 && trace_has_name(fd, expected));
	close(fd);
	snprintf(crt_session.options.tracefile, sizeof(crt_session.options.tracefile),
		 "%s/no/such/x", dir);
	say_begin();
	CHECK_EQ(crt_open_trace(false), -ENOENT);
	CHECK(strstr(say_end(), "cannot open the trace '") && strstr(said, "; not tracing"));
	memset(crt_session.options.tracefile, 'x', CRT_PATH_MAX - 1);
	crt_session.options.tracefile[CRT_PATH_MAX - 1] = '\0';
	memcpy(crt_session.options.tracefile,
	       "%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p"
	       "%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p%p",
	       192 / 2);
	say_begin();
	CHECK_EQ(crt_open_trace(true), -1);
	CHECK(strstr(say_end(), "the name of the trace is too long; not tracing"));
}

static void the_region_is_beside_the_trace(void)
{
	char expected[200];
	struct stat st, own;
	int trace, fd;

	session_clear();
	name_file("beside");
	trace = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(trace >= 0 && fstat(trace, &st) == 0);
	kernel.room = 16 << 20;
	fd = crt_open_region(trace);
	snprintf(expected, sizeof(expected), "/dev/shm/cacheray-%u-%llx-%llx", (unsigned)getuid(),
		 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	CHECK_STR(crt_session.live_path, expected);
	CHECK(fd >= 0 && trace_has_name(fd, expected));
	CHECK(fstat(fd, &own) == 0 && (own.st_mode & 0777) == 0600);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(write(fd, "x", 1), 1);
	close(fd);
	fd = crt_open_region(trace); /* that of an earlier run is replaced */
	CHECK(fd >= 0 && fstat(fd, &own) == 0 && own.st_size == 0);
	close(fd);
	kernel.room = (16 << 20) - 4096;
	fd = crt_open_region(trace); /* too little room: memory without a name */
	CHECK(fd >= 0 && !crt_session.live_path[0]);
	CHECK_EQ(access(expected, F_OK), -1);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	kernel.room = 0;
	close(trace);
	trace = open("/dev/null", O_RDWR);
	fd = crt_open_region(trace);
	CHECK(fd >= 0 && !crt_session.live_path[0]);
	close(fd);
	close(trace);
}

static void inherited_regions_need_no_path(void)
{
	char text[500];
	struct stat st;
	unsigned before;
	int fd, got;

	name_file("inherited");
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	before = count_open();
	snprintf(text, sizeof(text), "%x:%llx:%llx:/gone", (unsigned)fd,
		 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	errno = 12345;
	got = crt_region_open("/gone", text);
	CHECK(got >= CRW_HIGH_FD);
	CHECK_EQ(errno, 12345);
	close(got);
	CHECK_EQ(crt_region_open("/gone2", text), -1);
	snprintf(text, sizeof(text), "%x:%llx:%llx:/gone", (unsigned)fd,
		 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino + 1);
	CHECK_EQ(crt_region_open("/gone", text), -1);
	snprintf(text, sizeof(text), "%x:%llx:%llx:/gone", (unsigned)fd,
		 (unsigned long long)st.st_dev + 1, (unsigned long long)st.st_ino);
	CHECK_EQ(crt_region_open("/gone", text), -1);
	CHECK_EQ(crt_region_open("/gone", "1:2:/gone"), -1);
	CHECK_EQ(crt_region_open("/gone", "80000000:1:1:/gone"), -1);
	CHECK_EQ(crt_region_open("/gone", NULL), -1);
	CHECK_EQ(count_open(), before);
	got = crt_region_open(path, NULL);
	CHECK(got >= 0);
	close(got);
	close(fd);
}

int main(void)
{
	char command[100];

	CHECK(mkdtemp(dir) != NULL);
	RUN(tickets_and_the_switch_are_one_word);
	RUN(a_region_is_mapped_at_a_multiple_of_its_chunks);
	RUN(only_a_whole_region_is_joined);
	RUN(a_process_has_an_entry_in_the_table);
	RUN(a_session_records_what_is_known_and_wanted);
	RUN(tracing_begins_once);
	RUN(a_child_has_a_session_of_its_own);
	RUN(the_end_of_the_process_completes_the_trace);
	RUN(a_trace_from_before_an_exec_is_known);
	RUN(an_earlier_trace_is_kept);
	RUN(a_trace_has_a_name_of_its_own);
	RUN(the_region_is_beside_the_trace);
	RUN(inherited_regions_need_no_path);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK_EQ(system(command), 0);
	return 0;
}
