/* SPDX-License-Identifier: MIT */
/*
 * weak_frame_process.c - generated code as a process.
 *
 * The code is what `corotracer generate` wrote, except that each thread of the search has a `self`
 * of its own, that there are three rings, and two records in a page of them
 * (tests/weak/CMakeLists.txt). The kernel orders nothing here: that a segment exists is a relaxed
 * store, and shmat(2) fails as long as it is not visible.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "weak_frame_process.h"
#include "weak_machine.h"

/* Code for one thread has one record, and no list of them. */
#ifndef PROCESS_SINGLE
#define PROCESS_SINGLE 0
#endif

#define FIRST_ID    70
#define HOME_SIZE   1024u
#define RECORD_PAGE 256u

static void *process_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
static int process_munmap(void *at, size_t size);
static int process_shmctl(int id, int command, struct shmid_ds *info);
static void *process_shmat(int id, const void *at, int flags);
static int process_shmdt(const void *at);
#if !PROCESS_SINGLE
static int process_key_create(pthread_key_t *key, void (*destroy)(void *));
static int process_setspecific(pthread_key_t key, const void *value);
#endif
static int process_clock_gettime(clockid_t id, struct timespec *now);
static long process_syscall(long number, ...);
#if !PROCESS_SINGLE
static int process_tasks(const char *path, struct stat *info);
#endif

#undef syscall
#undef clock_gettime
#define clock_gettime       process_clock_gettime
#define mmap                process_mmap
#define munmap              process_munmap
#define madvise(...)        0
#define shmctl              process_shmctl
#define shmat               process_shmat
#define shmdt               process_shmdt
#define pthread_key_create  process_key_create
#define pthread_setspecific process_setspecific
#define pthread_key_delete  (void)
#define syscall             process_syscall
#define stat(path, info)    process_tasks(path, info)
#define constructor         unused /* processes are registered by threads_make() */

/* Its fences are real ones here: the search replaces ThreadSanitizer.  It is a library's code. */
#undef __SANITIZE_THREAD__
#undef __PIE__
#undef __PIC__
#define __PIC__ 1
#include "ppt-Weak-threads.c"

/* Of the process, by thread; the last one is set_up(). */
static void *pages[WEAK_THREADS + 1], *records[WEAK_THREADS + 1];
static unsigned char *segments[PROCESS_SEGMENTS];
static uint32_t *exists; /* by segment: its size, 0 if there is none */
static struct process_shape shape;

/* ---- system calls --------------------------------------------------------------- */

static void *process_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void **from = size <= RECORD_PAGE ? records : pages, *page = from[weak_self()];

	(void)at;
	(void)prot;
	(void)flags;
	(void)fd;
	(void)offset;
	if (!page || size > HOME_SIZE)
		weak_fail("a thread maps two pages of a kind, or a large one");
	from[weak_self()] = NULL;
	return page;
}

static int process_munmap(void *at, size_t size)
{
	(void)at;
	(void)size;
	return 0;
}

/* The size of the segment; 0 with errno. */
static size_t segment_size(int id)
{
	unsigned nr = (unsigned)(id - FIRST_ID);
	uint32_t size = nr < PROCESS_SEGMENTS ? __atomic_load_n(&exists[nr], __ATOMIC_RELAXED) : 0;

	if (shape.refused && nr >= shape.refused)
		size = 0;
	if (!size)
		errno = EINVAL;
	return size;
}

static int process_shmctl(int id, int command, struct shmid_ds *info)
{
	(void)command;
	info->shm_segsz = segment_size(id);
	return info->shm_segsz ? 0 : -1;
}

static void *process_shmat(int id, const void *at, int flags)
{
	(void)at;
	(void)flags;
	return segment_size(id) ? segments[id - FIRST_ID] : (void *)-1;
}

static int process_shmdt(const void *at)
{
	if (weak_self() < WEAK_THREADS)
		weak_unmap(at);
	return 0;
}

#if !PROCESS_SINGLE
static int process_key_create(pthread_key_t *made, void (*destroy)(void *))
{
	(void)destroy;
	*made = 1;
	return 0;
}

static int process_setspecific(pthread_key_t made, const void *value)
{
	(void)value;
	if (made != 1)
		weak_fail("the key is not there yet");
	return 0;
}
#endif

/* No time passes: a thread waits for others to leave a ring without an end. */
static int process_clock_gettime(clockid_t id, struct timespec *now)
{
	(void)id;
	*now = (struct timespec){ .tv_sec = 1 };
	return 0;
}

static long process_syscall(long number, ...)
{
	va_list args;
	int command;

	if (number != SYS_membarrier)
		return -1;
	va_start(args, number);
	command = va_arg(args, int);
	va_end(args);
	if (shape.lacks_membarrier)
		return -1;
	if (command == 8 && weak_self() < WEAK_THREADS)
		weak_membarrier();
	return 0;
}

#if !PROCESS_SINGLE
/* A process that is not registered tries to: its one thread may. */
static int process_tasks(const char *path, struct stat *info)
{
	(void)path;
	info->st_nlink = 3;
	return 0;
}
#endif

/* ---- the process ------------------------------------------------------------------ */

#if PROCESS_SINGLE
static void threads_make(void)
{
	memset(&the_thread, 0, sizeof(the_thread));
	weak_share(&the_thread, sizeof(the_thread));
}
#else
static void threads_make(void)
{
	threads = NULL;
	key = 0;
	key_made = 0;
	nr_threads = 0;
	is_registered = !shape.lacks_membarrier;
	serials = 0;
	memset(selves, 0, sizeof(selves));
	weak_share(&threads, sizeof(threads));
	weak_share(&key, sizeof(key));
	weak_share(&key_made, sizeof(key_made));
	weak_share(&nr_threads, sizeof(nr_threads));
	weak_share(&serials, sizeof(serials));
	weak_restore(selves, sizeof(selves));
}
#endif

static void variables_make(void)
{
	home = NULL;
	current = &no_ring;
	unloaded = mapped_id = 0;
	memset(mappings, 0, sizeof(mappings));
	memset(&ppt_Weak_handle_, 0, sizeof(ppt_Weak_handle_));
	memset(process_stat(), 0, sizeof(struct status));
	weak_share(&home, sizeof(home));
	weak_share(&current, sizeof(current));
	weak_share(&unloaded, sizeof(unloaded));
	weak_share(&mapped_id, sizeof(mapped_id));
	weak_share(mappings, sizeof(mappings));
	weak_share(&ppt_Weak_handle_, sizeof(ppt_Weak_handle_));
	weak_share(process_stat(), sizeof(struct status));
	threads_make();
}

void process_make(const struct process_shape *of)
{
	unsigned i;

	shape = *of;
	variables_make();
	for (i = 0; i <= WEAK_THREADS; i++) {
		pages[i] = weak_alloc(HOME_SIZE);
		weak_alloc(64); /* records are aligned to 128 bytes */
		records[i] = weak_alloc(RECORD_PAGE);
		if ((uintptr_t)records[i] % 128)
			records[i] = (unsigned char *)records[i] - 64;
	}
	weak_restore(pages, sizeof(pages));
	weak_restore(records, sizeof(records));
	exists = weak_alloc(sizeof(*exists) * PROCESS_SEGMENTS);
	for (i = 0; i < PROCESS_SEGMENTS; i++) {
		segments[i] = shape.sizes[i] ? weak_alloc(shape.sizes[i]) : NULL;
		if (segments[i])
			weak_mapping(segments[i], shape.sizes[i], shape.threads);
	}
}

int32_t *process_handle(void)
{
	return &ppt_Weak_handle_.id;
}

void *process_stat(void)
{
	return &__ppt_Weak_stat;
}

void process_save(uint32_t value)
{
	struct ppt_Weak_f frame = { .first = value, .second = ~value };

	ppt_Weak_f_save(&frame);
}

#if !PROCESS_SINGLE
void process_saved(unsigned thread, uint32_t value)
{
	selves[WEAK_THREADS] = selves[thread];
	process_save(value);
	selves[thread] = selves[WEAK_THREADS];
	selves[WEAK_THREADS] = NULL;
}

void process_entered(unsigned thread)
{
	struct thread *t = thread_self();

	if (!enter(t))
		weak_fail("no ring to enter");
	selves[thread] = t;
	selves[WEAK_THREADS] = NULL;
}

/* The ring that the thread is inside. */
static struct ring *ring_inside(const struct thread *t)
{
	return &load_relaxed(&home)->rings[(load_relaxed(&t->where) & TAG_MASK) - 1];
}

void process_stuck(unsigned thread)
{
	process_entered(thread);
	ticket_take(selves[thread], ring_inside(selves[thread]));
}

void process_finish(uint32_t value)
{
	struct ppt_Weak_f frame = { .first = value, .second = ~value };
	struct thread *t = self;
	struct ring *r = ring_inside(t);
	uint64_t n = load_relaxed(&t->where) >> TAG_BITS;

	if (!n)
		n = ticket_take(t, r);
	if (slot_differs(r, n))
		save_contended(t, r, n, &frame, fill_f);
	else
		slot_write(t, r, n, &frame, fill_f);
}

void process_fork(void)
{
	memset(home, 0, sizeof(*home));
}

void process_prepare(void)
{
	struct thread *t = thread_self();
	struct ring *r = t ? enter(t) : NULL;

	if (!r)
		return;
	if (ring_inside(t) != r)
		weak_fail("a thread is inside a ring, and its record does not say so");
	leave(t);
}

void process_thread_end(void)
{
	if (self)
		thread_end(self);
}

void process_thread_end_inside(void)
{
	ticket_take(self, ring_inside(self));
	process_thread_end();
}
#endif

void process_unload(void)
{
	unload();
}

/* ---- segments ------------------------------------------------------------------------ */

int process_segment_make(unsigned nr, size_t size)
{
	if (nr >= PROCESS_SEGMENTS || size > shape.sizes[nr])
		weak_fail("segment %u of %zu bytes is not planned", nr, size);
	__atomic_store_n(&exists[nr], (uint32_t)size, __ATOMIC_RELAXED);
	return FIRST_ID + (int)nr;
}

void *process_segment_map(unsigned nr)
{
	return segments[nr];
}

void process_segment_remove(int id)
{
	__atomic_store_n(&exists[id - FIRST_ID], 0u, __ATOMIC_RELAXED);
}
