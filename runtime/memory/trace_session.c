/* SPDX-License-Identifier: MIT */
/*
 * trace_session.c - start and end of tracing in a process, and fork.
 *
 * The first __tsan_init() (every instrumented file calls it before its constructors) reads the
 * options and attaches to the collector's region, or creates a region and a background thread.
 * Under a collector the program only closes the slot of its last thread: the collector drains the
 * rings, however the program ends.
 */
#include "trace_session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control_thread.h"
#include "inherited_region.h"
#include "inprocess_writer.h"
#include "corotracer/cacheray.h"
#include "sys.h"

struct crt_state crt_state __attribute__((visibility("hidden"), aligned(4096)));
struct crt_session crt_session;

static uint32_t begun; /* [threads] 1: crt_init() runs; 2: done; 3: tracing is off */

uint64_t crt_ticket(void)
{
	return (__atomic_fetch_add(&crt_state.word, 2, __ATOMIC_RELAXED) >> 1) + 1;
}

void crt_switch(bool on)
{
	if (on)
		__atomic_fetch_or(&crt_state.word, CRT_ON, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&crt_state.word, ~CRT_ON, __ATOMIC_RELAXED);
}

void crt_end(const char *why)
{
	crt_switch(false);
	if (__atomic_exchange_n(&crt_state.session, 0, __ATOMIC_RELAXED) && why)
		crt_say(why, NULL);
}

/* Map the region at a multiple of the chunk size: positions depend on it. */
static void *map_aligned(int fd, uint64_t size)
{
	uint8_t *room = mmap(NULL, size + CRW_CHUNK_SIZE, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t at, head;

	if (room == MAP_FAILED)
		return NULL;
	at = ((uint64_t)(uintptr_t)room + CRW_CHUNK_SIZE - 1) & ~(uint64_t)(CRW_CHUNK_SIZE - 1);
	head = at - (uint64_t)(uintptr_t)room;
	if (mmap(room + head, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED) {
		munmap(room, size + CRW_CHUNK_SIZE);
		return NULL;
	}
	if (head)
		munmap(room, head);
	if (CRW_CHUNK_SIZE - head)
		munmap(room + head + size, CRW_CHUNK_SIZE - head);
	return room + head;
}

void *crt_map_region(int fd, uint64_t size)
{
	int saved = errno;
	void *memory = map_aligned(fd, size);

	errno = saved;
	return memory;
}

static bool trace_session_refuse(const char *path, const char *why)
{
	crt_say("cannot join the collector's region '", path, "': ", why, "; not tracing", NULL);
	return false;
}

static bool trace_session_join(const char *path)
{
	struct crt_session *s = &crt_session;
	int fd = crt_region_open(path, getenv(CRW_ENV_FD));
	struct stat st;
	const char *wrong;
	void *memory;

	if (fd < 0)
		return trace_session_refuse(path, "it cannot be opened (has the collector ended?)");
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return trace_session_refuse(path, "it is no file");
	}
	memory = crt_map_region(fd, (uint64_t)st.st_size);
	close(fd);
	if (!memory)
		return trace_session_refuse(path, "it cannot be mapped");
	wrong = crw_region_open(memory, (uint64_t)st.st_size, &s->region);
	if (!wrong && s->region.chunk_size != CRW_CHUNK_SIZE)
		wrong = "its chunks are of another size (collector and program of one release?)";
	if (!wrong && !crt_fault_in(memory, (uint64_t)(s->region.rings - s->region.base)))
		wrong = "its file system is full";
	if (wrong) {
		munmap(memory, (size_t)st.st_size);
		s->region.base = NULL;
		return trace_session_refuse(path, wrong);
	}
	s->drop = s->region.header->on_full == CRW_DROP;
	return true;
}

/* Bytes of a cache line by the kernel; 0: unknown, as in a sandbox without /sys. */
static long trace_session_kernel_line(void)
{
	char text[16], *c;
	long line = 0;

	crt_read_file("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size", text,
		      sizeof(text));
	for (c = text; *c >= '0' && *c <= '9' && line < 65536; c++)
		line = line * 10 + (*c - '0');
	return line;
}

/* Bytes of a cache line.  Not every C library knows them. */
static uint32_t trace_session_cache_line(void)
{
	long line = 0;

#ifdef _SC_LEVEL1_DCACHE_LINESIZE
	line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
#endif
	if (line <= 0)
		line = trace_session_kernel_line();
	return line > 0 ? (uint32_t)line : 64;
}

/* Claim an entry in the region's table of processes. */
static bool trace_session_enter(void)
{
	struct crt_session *s = &crt_session;
	struct crw_region *r = &s->region;
	uint32_t i, unused = CRW_FREE;
	struct crw_process *p;

	for (i = 0; i < r->nr_processes; i++, unused = CRW_FREE) {
		/* (mem-F) pairs with the release of the consumer that gave it back. */
		if (__atomic_compare_exchange_n(&r->processes[i].state, &unused, CRW_MAKING, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			break;
	}
	if (i == r->nr_processes) {
		__atomic_fetch_add(&r->header->refused, 1, __ATOMIC_RELAXED);
		crt_say("there are too many traced processes at a time; not tracing this one",
			NULL);
		return false;
	}
	p = &r->processes[i];
	s->pid = crt_pid();
	s->process = i;
	s->serial = 1 + __atomic_fetch_add(&r->header->next_process, 1, __ATOMIC_RELAXED);
	s->next_thread = 0;
	p->pid = s->pid;
	p->ppid = (uint32_t)getppid();
	p->serial = s->serial;
	p->parent = s->parent;
	p->start_ns = crt_now();
	p->line_size = trace_session_cache_line();
	p->lost = 0;
	p->control = p->request = p->served = 0;
	/* (mem-F) pairs with the acquire of the consumer. */
	__atomic_store_n(&p->state, CRW_LIVE, __ATOMIC_RELEASE);
	return true;
}

static void session_begin(bool child)
{
	struct crt_session *s = &crt_session;
	const char *path = getenv(CRW_ENV);

	s->generation++;
	s->guarded = s->options.nr_regions != 0 || s->options.period != 0 || s->options.lines != 0;
	if (path && *path) {
		s->alone = 0;
		if (!child && !trace_session_join(path))
			return;
	} else {
		s->alone = 1;
		if (!crt_alone_begin(child))
			return;
	}
	s->coroutines = (s->region.header->features & CRW_FEATURE_CORO) != 0;
	s->heap = s->options.heap && (s->region.header->features & CRW_FEATURE_HEAP) != 0 &&
		  !(s->region.header->wants & CRW_WANT_NO_HEAP);
	s->calls = (s->options.stacks || (s->region.header->wants & CRW_WANT_CALLS)) &&
		   (s->region.header->features & CRW_FEATURE_CALL) != 0;
	s->rounds = (s->region.header->features & CRW_FEATURE_ROUNDS) != 0;
	if (!trace_session_enter())
		return;
	__atomic_store_n(&crt_state.session, 1, __ATOMIC_RELAXED);
	crt_tell_facts();
	crt_tell_modules();
	crt_switch(s->options.start && !s->options.on_ms);
	crt_control_begin();
}

/* Runs in a child of fork, whose thread still refers to the parent's ring. */
static void in_child(void)
{
	struct crt_session *s = &crt_session;
	int saved = errno;
	uint64_t parent = s->serial;

	crt_thread_forget();
	__builtin_memset(&crt_state, 0, sizeof(crt_state));
	if (!s->region.base || begun != 2)
		return;
	s->parent = parent;
	if (s->alone)
		crt_alone_forget();
	session_begin(true);
	errno = saved;
}

void crt_init(void)
{
	struct crt_session *s = &crt_session;
	uint32_t first = 0;

	if (!__atomic_compare_exchange_n(&begun, &first, 1, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED)) {
		/* A library was loaded: record it as a module. */
		if (__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED) && first == 2)
			crt_tell_modules();
		return;
	}
	/* A set-uid program must not let its user choose the files it writes. */
	if (getauxval(AT_SECURE) || !crt_options_read(&s->options, getenv("CACHERAY_OPTIONS"))) {
		begun = 3;
		return;
	}
	madvise(&crt_state, sizeof(crt_state), MADV_WIPEONFORK);
	crt_thread_hook();
	pthread_atfork(NULL, NULL, in_child);
	begun = 2;
	if (s->options.enabled)
		session_begin(false);
}

/*
 * Runs last: after the program's exit handlers and destructors.  A session that has ended at a full
 * disk may still be completing its file.
 */
__attribute__((destructor)) static void at_end(void)
{
	if (crt_session.pid != crt_pid())
		return;
	if (crt_session.alone)
		crt_alone_finish();
	else if (__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED))
		crt_thread_end();
}

CRT_API void __tsan_init(void);
void __tsan_init(void)
{
	int saved = errno;

	crt_init();
	errno = saved;
}

CRT_API int cacheray_start(void)
{
	crt_init();
	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED)) {
		/*
		 * With enabled=0 the session starts here; a session that has ended is not
		 * restarted.
		 */
		if (begun != 2 || crt_session.region.base)
			return -1;
		crt_session.options.start = true;
		session_begin(false);
	}
	crt_switch(true);
	if (!__atomic_load_n(&crt_state.session, __ATOMIC_RELAXED)) {
		crt_switch(false);
		return -1;
	}
	return 0;
}

CRT_API void cacheray_stop(void)
{
	crt_switch(false);
}

CRT_API int cacheray_recording(void)
{
	return (int)(__atomic_load_n(&crt_state.word, __ATOMIC_RELAXED) & CRT_ON);
}
