/* SPDX-License-Identifier: MIT */
/*
 * corotracer/attach.h - the slow path: attach to a collector, claim and release stations.
 *
 * Lifetime of a session
 *   ctp_attach() creates it.  It reads the environment, maps and checks the region and
 *   publishes the session by its generation.  Then it connects the socket, which may take
 *   long; other threads write meanwhile.  The memory of a session is never unmapped while
 *   the process exists, so no thread ever accesses unmapped memory, also after a detach
 *   (request_slow.h).
 *   A forked child finds its session wiped and attaches again, at another address.  The
 *   parent's mapping becomes private memory in the child, so that writes of inherited
 *   coroutines have no effect.
 *
 * Guarantees to the program
 *   This code prints only if CTP_VERBOSE is set, does not block, raises no SIGPIPE,
 *   installs no signal handler, has no cancellation point, keeps errno and takes no lock.
 *   Only one thread attaches; other threads that create coroutines meanwhile wait until
 *   the session is published, about 100 us.  They stop waiting once the attach has taken
 *   50 ms: coroutines that are created after that are traced from their first event under
 *   the session, and their earlier events are counted (later.h).
 *
 * Trust
 *   The header belongs to the collector, which may be another implementation: each field
 *   is read once and checked, and the file must have all bytes that will be used.
 *
 * The C library includes this file once and exports the functions that probe.h calls.  An SDK
 * without a library defines CTP_SLOW_LINKAGE as static and includes it.
 */
#ifndef COROTRACER_ATTACH_H
#define COROTRACER_ATTACH_H

#include <corotracer/clock.h>
#include <corotracer/inherit_slow.h>
#include <corotracer/lane_slow.h>
#include <corotracer/probe.h>
#include <corotracer/request.h>
#include <corotracer/thread_id.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <corotracer/header_begin.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A thread that creates a coroutine while another thread attaches waits for it, until this time
 * after the start of the attach (one deadline for all threads).  later.h has what happens then.
 */
#define CTP_ATTACH_WAIT_NS UINT64_C(50000000)

/* Callbacks of the SDK: they need the names of its process and thread state. */
struct ctp_hooks {
	void (*wipe_in_child)(void);   /* zero the session, for kernels that do not */
	void (*leave_thread)(void *t); /* calls ctp_thread_leave() when a thread ends */
	struct ctp_request *request;   /* NULL: the program cannot be asked to attach */
};

/* The state and the callbacks of the SDK that includes this file, known from the first attach on.
 */
struct ctp_attacher {
	struct ctp_process *process;
	const struct ctp_hooks *hooks;
};

#ifndef CTP_ATTACHER_LINKAGE
#define CTP_ATTACHER_LINKAGE static
#endif
CTP_ATTACHER_LINKAGE struct ctp_attacher ctp_attacher;

/* 1 if @l is a unit of this session. */
static inline int ctp_life_is_here(const struct ctp_life *l, const struct ctp_session *s)
{
	return (uint64_t)((const char *)l - s->life_pool.units) <
	       (uint64_t)s->life_pool.limit * s->life_pool.unit;
}

static inline int ctp_station_is_here(const struct ctp_station *st, const struct ctp_session *s)
{
	return (uint64_t)((const char *)st - (const char *)s->stations) <
	       (uint64_t)s->nr_stations * sizeof(struct ctp_station);
}

/* 1 if this thread has joined the session and @p belongs to it. */
static inline int ctp_probe_is_here(const struct ctp_probe *p, const struct ctp_thread *t,
				    const struct ctp_session *s)
{
	return t->ticket == ~ctp_load_relaxed(&s->generation) &&
	       (p->life ? ctp_life_is_here(p->life, s) : ctp_station_is_here(p->station, s));
}

/* In request_slow.h. */
CTP_SLOW void ctp_gate_open(struct ctp_request *r);
CTP_SLOW void ctp_gate_close(struct ctp_request *r);
CTP_SLOW int ctp_session_left(struct ctp_session *s);
CTP_SLOW struct ctp_session *ctp_order_serve(void);
CTP_SLOW void ctp_order_publish(struct ctp_session *s);
CTP_SLOW const struct ctp_order *ctp_order_inherited(const struct ctp_request *r,
						     struct ctp_order *copy);
CTP_SLOW int ctp_event_open(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session **s);

/* ---- threads ------------------------------------------------------------- */

/*
 * First event of a thread under this session.  Returns 0 without a session, for example in a forked
 * child.
 */
CTP_SLOW_LINKAGE int ctp_thread_join(struct ctp_thread *t, const struct ctp_session *s)
{
	/* (ctp-F) pairs with the release store in ctp_session_publish(). */
	uint64_t generation = ctp_load_acquire(&s->generation);

	if (!generation)
		return 0;
	t->tid = ctp_thread_id();
	t->anchor_ticks = 0;
	t->window_ticks = 0;
	t->anchor_ns = 0;
	t->mult = 0;
	t->mark_ns = 0;
	t->mark_mult = 0;
	t->counts_ns = !s->counter_usable;
	t->always_slow = t->counts_ns || ctp_load_relaxed(&s->needs_fence);
	t->nr_stash = 0; /* in a forked child: units of the parent's region */
	ctp_lane_forget(t);
	if (s->has_key)
		pthread_setspecific((pthread_key_t)s->thread_key, t);
	t->ticket = ~generation;
	return 1;
}

/* ---- the wake-up socket --------------------------------------------------- */

/* Programs close descriptors that they did not open, and reuse the numbers. */
CTP_SLOW int ctp_sock_is(int fd, uint64_t dev, uint64_t ino)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       (uint64_t)st.st_dev == dev && (uint64_t)st.st_ino == ino;
}

CTP_SLOW int ctp_sock_open(const struct ctp_session *s);

/*
 * The program closed the socket, as daemons do with all descriptors.  One thread reconnects, up to
 * four times per session.  Returns 1 if there is a socket, 0 if there will be none, -1 if another
 * thread is reconnecting.
 */
CTP_SLOW int ctp_sock_renew(struct ctp_session *s)
{
	struct stat st;
	int fd, cancel, renewed = 0;

	if (!ctp_cas_relaxed(&s->renewing, 0u, 1u))
		return -1;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = ctp_fetch_add_relaxed(&s->renewals, 1u) < 4 ? ctp_sock_open(s) : -1;
	pthread_setcancelstate(cancel, NULL);
	/* A thread that sees only some of these stores takes the socket for closed. */
	if (fd >= 0 && fstat(fd, &st) == 0) {
		ctp_store_relaxed(&s->sock_dev, (uint64_t)st.st_dev);
		ctp_store_relaxed(&s->sock_ino, (uint64_t)st.st_ino);
		ctp_store_relaxed(&s->sock, fd);
		renewed = 1;
	}
	ctp_store_relaxed(&s->renewing, 0u);
	return renewed;
}

/* The collector sleeps: the thread that clears the flag sends the byte. */
CTP_SLOW_LINKAGE void ctp_wake(struct ctp_session *s)
{
	/* (ctp-F) pairs with the release store in ctp_session_wakeups(): the socket is valid, too.
	 */
	uint32_t *sleeping = ctp_load_acquire(&s->sleeping);
	const char byte = CTP_WAKE_BYTE;
	int saved = errno, usable = 1, sock = ctp_load_relaxed(&s->sock);
	long sent;

	if (ctp_session_left(s))
		return;
	if (!ctp_sock_is(sock, ctp_load_relaxed(&s->sock_dev), ctp_load_relaxed(&s->sock_ino))) {
		usable = ctp_sock_renew(s);
		sock = ctp_load_relaxed(&s->sock);
	}
	if (usable > 0 && ctp_cas_relaxed(sleeping, 1u, 0u)) {
		/* Not send(), which is a cancellation point. */
		sent = syscall(SYS_sendto, sock, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
		/* A full buffer is not an error: the collector has bytes to wake up for. */
		if (sent < 0 && errno != EAGAIN && errno != EINTR) {
			/* The collector was not woken: leave that to another thread or process. */
			ctp_cas_relaxed(sleeping, 0u, 1u);
			usable = 0;
		}
	}
	/* A session by request still has to see that it is asked to detach. */
	if (!usable && !s->by_order)
		ctp_store_relaxed(&s->sleeping, &s->never_sleeping);
	errno = saved;
}

/* Connect without blocking.  Returns -1 on failure: the collector then polls without wake-ups. */
CTP_SLOW int ctp_sock_connect(const char *path)
{
	struct sockaddr_un sun;
	int fd, high;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	if (!*path || strlen(path) >= sizeof(sun.sun_path)) {
		ctp_say("corotracer: no usable " CTP_ENV_SOCK "; tracing without wake-ups");
		return -1;
	}
	memcpy(sun.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (syscall(SYS_connect, fd, &sun, sizeof(sun)) < 0) {
		ctp_say("corotracer: cannot connect '%s': %s; tracing without wake-ups", path,
			strerror(errno));
		close(fd);
		return -1;
	}
	/* Use a high number: some programs rely on low descriptor numbers. */
	high = fcntl(fd, F_DUPFD_CLOEXEC, CTP_HIGH_FD);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* The connection, through the inherited door or by the path. */
CTP_SLOW int ctp_sock_open(const struct ctp_session *s)
{
	int fd = ctp_door_connect(s);

	return fd >= 0 ? fd : ctp_sock_connect(s->sock_path);
}

/* ---- the region ---------------------------------------------------------- */

/* Why the process is not attached: a CTP_WHY_* and an errno. */
CTP_SLOW void ctp_session_why(const struct ctp_session *s, uint32_t why, int error)
{
	if (s->request)
		ctp_store_relaxed(&s->request->why, why | (uint32_t)error << 8);
}

/*
 * 0 if the header is usable, else a CTP_WHY_*.  Sets @nr to the number of stations that the file
 * really has.
 */
CTP_SLOW uint32_t ctp_header_check(const struct ctp_header *h, uint64_t size, uint64_t promised,
				   uint32_t *nr)
{
	uint64_t magic = h->magic_number;
	uint32_t version = h->version, max = h->max_stations;
	uint64_t fit = (size - sizeof(struct ctp_header)) / sizeof(struct ctp_station);

	if (magic != CTP_MAGIC) {
		ctp_say("corotracer: not traced: the region has magic %016llx, not %016llx",
			(unsigned long long)magic, (unsigned long long)CTP_MAGIC);
		return CTP_WHY_NOT_REGION;
	}
	if (version != CTP_VERSION) {
		ctp_say("corotracer: not traced: the region speaks version %u, we speak %u",
			version, CTP_VERSION);
		return CTP_WHY_VERSION;
	}
	if (promised > fit || max > fit || !max) {
		ctp_say("corotracer: not traced: the region has room for %llu stations, "
			"its header says %u and " CTP_ENV_STATIONS " %llu",
			(unsigned long long)fit, max, (unsigned long long)promised);
		return CTP_WHY_NOT_REGION;
	}
	*nr = promised && promised < max ? (uint32_t)promised : max;
	return 0;
}

/*
 * Map @size bytes.  After the stations the file may be long and sparse.  It is mapped in two steps,
 * PROT_NONE first, because after mlockall(MCL_FUTURE) a writable mapping would allocate all pages.
 */
CTP_SLOW void *ctp_file_map(int fd, uint64_t size)
{
	void *map = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (map == MAP_FAILED)
		return map;
	madvise(map, size, MADV_DONTDUMP);
	if (mprotect(map, size, PROT_READ | PROT_WRITE) == 0)
		return map;
	munmap(map, size);
	return MAP_FAILED;
}

/*
 * Map the whole file, *@size bytes.  If the address space or the limit of locked memory does not
 * allow it, map only the stations and set *@size to their size.
 */
CTP_SLOW void *ctp_file_map_some(int fd, uint64_t *size)
{
	void *map = ctp_file_map(fd, *size);
	uint64_t less;
	uint32_t max;

	if (map != MAP_FAILED ||
	    pread(fd, &max, sizeof(max), offsetof(struct ctp_header, max_stations)) != sizeof(max))
		return map;
	less = ctp_region_size(max);
	if (less >= *size)
		return map;
	ctp_say("corotracer: cannot map %llu MiB: %s; tracing with the stations only",
		(unsigned long long)(*size >> 20), strerror(errno));
	*size = less;
	return ctp_file_map(fd, less);
}

/* The region's file, by the inherited descriptor or by @path.  Returns -1 if it is no region. */
CTP_SLOW int ctp_region_open(const struct ctp_session *s, const char *path, struct stat *st)
{
	int fd = ctp_inherited_open(&s->region_fd);

	if (fd < 0)
		fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, st) < 0) {
		ctp_session_why(s, CTP_WHY_NOT_OPENED, errno);
		ctp_say("corotracer: not traced: cannot open '%s': %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (S_ISREG(st->st_mode) && (uint64_t)st->st_size >= ctp_region_size(1))
		return fd;
	ctp_session_why(s, CTP_WHY_NOT_REGION, 0);
	ctp_say("corotracer: not traced: '%s' is too short to be a region", path);
	close(fd);
	return -1;
}

/* Map the region.  Returns NULL if the file is missing or not a valid region. */
CTP_SLOW struct ctp_header *ctp_region_map(struct ctp_session *s, const char *path,
					   uint64_t promised, uint64_t *size)
{
	struct ctp_header *h;
	struct stat st;
	uint32_t why;
	void *map;
	int fd;

	fd = ctp_region_open(s, path, &st);
	if (fd < 0)
		return NULL;
	*size = (uint64_t)st.st_size;
	s->shm_dev = (uint64_t)st.st_dev;
	s->shm_ino = (uint64_t)st.st_ino;
	map = ctp_file_map_some(fd, size);
	close(fd);
	if (map == MAP_FAILED) {
		ctp_session_why(s, CTP_WHY_NOT_MAPPED, errno);
		ctp_say("corotracer: not traced: cannot map '%s': %s", path, strerror(errno));
		return NULL;
	}
	h = (struct ctp_header *)map;
	why = ctp_header_check(h, *size, promised, &s->nr_stations);
	if (!why)
		return h;
	ctp_session_why(s, why, 0);
	munmap(map, *size);
	return NULL;
}

/* The features of the collector's header extension; 0 if it has none. */
CTP_SLOW uint32_t ctp_ext_features(struct ctp_header *h)
{
	struct ctp_ext_header *ext = ctp_header_ext(h);

	/* (ctp-E) pairs with the release store in the collector's region_create(). */
	if (ctp_load_acquire(&ext->magic) != CTP_EXT_MAGIC || ext->version != CTP_EXT_VERSION)
		return 0;
	return ext->features;
}

CTP_SLOW int ctp_has_one_thread(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3; /* ".", ".." and the thread */
}

/*
 * Register the process for the collector's membarrier(2).  A process with several threads is left
 * alone: the kernel would make the caller wait for all processors, usually for 20 ms, on an
 * overloaded machine for minutes.  So this is called when the program starts, too.  Children of a
 * registered process are registered.  Returns 0 if the process is not: its events need fences.
 */
CTP_SLOW int ctp_process_register(struct ctp_process *proc)
{
	int saved = errno;

	/* (ctp-C) pairs with the membarrier in the collector's sleep_announce(). */
	if (!ctp_load_relaxed(&proc->is_registered) && ctp_has_one_thread() &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0)
		ctp_store_relaxed(&proc->is_registered, 1u);
	errno = saved;
	return (int)ctp_load_relaxed(&proc->is_registered);
}

/* ---- attach -------------------------------------------------------------- */

/*
 * Replace the last mapping by zeros: in a child, which must not write into its parent's region, and
 * before the next session, for coroutines of the last one.  @has_threads: threads of this process
 * may still use the other memory of the last session.
 */
CTP_SLOW int ctp_region_disown(struct ctp_process *proc, int has_threads)
{
	void *map;

	if (!proc->map)
		return 1;
	map = mmap(proc->map, proc->map_size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return 0;
	proc->map = NULL;
	if (proc->seen_chunks && !has_threads)
		munmap(proc->seen_chunks, proc->seen_size);
	proc->seen_chunks = NULL;
	if (ctp_sock_is(proc->sock, proc->sock_dev, proc->sock_ino))
		close(proc->sock);
	proc->sock = -1;
	return 1;
}

CTP_SLOW void ctp_session_publish(struct ctp_process *proc, struct ctp_session *s)
{
	uint64_t generation = ++proc->generations;

	s->site_tag = s->request ? s->request->sites : 1;
	s->first = s->request ? s->request->first : 0;
	/* (ctp-F) pairs with the acquire load in ctp_thread_join(). */
	ctp_store_release(&s->generation, generation);
	ctp_store_relaxed(&s->state, CTP_ATTACH_DONE);
	/* (ctp-O) pairs with the fence in ctp_later_count(). */
	ctp_fence_full();
	ctp_later_deliver(s);
	ctp_order_publish(s);
}

/* Store the socket with its device and inode, also in @proc for a forked child. */
CTP_SLOW void ctp_session_socket(struct ctp_process *proc, struct ctp_session *s, int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	ctp_store_relaxed(&s->sock_dev, (uint64_t)st.st_dev);
	ctp_store_relaxed(&s->sock_ino, (uint64_t)st.st_ino);
	ctp_store_relaxed(&s->sock, fd);
	proc->sock = fd;
	proc->sock_dev = (uint64_t)st.st_dev;
	proc->sock_ino = (uint64_t)st.st_ino;
}

/*
 * The socket is connected: from now on every event checks whether the collector sleeps.  The
 * collector may have gone to sleep after earlier events, so check here, too.
 */
CTP_SLOW void ctp_session_wakeups(struct ctp_session *s)
{
	uint32_t *flag = s->features & CTP_EXT_SLEEPING ? &ctp_header_ext(s->header)->sleeping
							: &s->header->tracer_sleeping;

	/* (ctp-F) pairs with the acquire load in ctp_wake(). */
	ctp_store_release(&s->sleeping, flag);
	/* (ctp-C) pairs with the barrier in the collector's sleep_announce(). */
	ctp_fence_full();
	if (ctp_load_relaxed(flag))
		ctp_wake(s);
}

/*
 * The parts of the attach that may take long and that no other thread waits for: connect(2) may be
 * slow on a busy machine.  The session is already published; other threads write with fences and
 * without waking the collector, which polls.
 */
CTP_SLOW void ctp_session_connect(struct ctp_process *proc, struct ctp_session *s)
{
	if ((s->features & CTP_EXT_MEMBARRIER) && ctp_process_register(proc))
		ctp_store_relaxed(&s->needs_fence, 0u);
	if (s->sock < 0)
		ctp_session_socket(proc, s, ctp_sock_connect(s->sock_path));
	if (s->sock >= 0 || s->by_order)
		ctp_session_wakeups(s);
	ctp_say("corotracer: traced: %s in '%s', %s", s->lanes ? "lanes" : "stations", s->shm_path,
		s->needs_fence ? "a fence per event" : "no fence per event");
}

/* Open one pool, if its position in the file is valid and its unit size is as expected. */
CTP_SLOW int ctp_arena_open(struct ctp_arena *a, struct ctp_session *s, struct ctp_pool *pool,
			    uint64_t size, uint32_t unit)
{
	uint64_t offset = pool->offset;
	uint32_t limit = pool->limit;

	if (pool->unit != unit || offset % 64 || offset < ctp_region_size(s->nr_stations) ||
	    offset > size || limit > (size - offset) / unit)
		return 0;
	a->pool = pool;
	a->units = (char *)s->header + offset;
	a->unit = unit;
	a->limit = limit;
	return 1;
}

/*
 * Allocate a byte per chunk; without it the pages of a chunk are faulted in one by one.  In front
 * of these bytes: places for lanes of threads that have ended.  Each such lane holds a chunk, so
 * there are places for at most 1/32 of all chunks.
 */
CTP_SLOW void ctp_session_seen(struct ctp_process *proc, struct ctp_session *s)
{
	uint32_t spares = s->chunk_pool.limit / 32 < CTP_SPARES ? s->chunk_pool.limit / 32
								: CTP_SPARES;
	uint64_t size = spares * sizeof(struct ctp_spare) + s->chunk_pool.limit;
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return;
	s->seen_chunks = (uint8_t *)map + spares * sizeof(struct ctp_spare);
	proc->seen_chunks = (uint8_t *)map;
	proc->seen_size = size;
	if (!(s->features & CTP_EXT_HANDOVER))
		return;
	s->spares = (struct ctp_spare *)map;
	s->nr_spares = spares;
}

/* Use the collector's lanes, if it offers lanes of a known version and layout. */
CTP_SLOW void ctp_session_lanes(struct ctp_process *proc, struct ctp_session *s, uint64_t size)
{
	struct ctp_ext_lanes *lanes = ctp_header_lanes(s->header);
	uint32_t lane_chunks; /* read once: the collector's memory may change */

	/* (ctp-E) pairs with the release store in the collector's lanes_offer(). */
	if (ctp_load_acquire(&lanes->magic) != CTP_LANES_MAGIC ||
	    lanes->version != CTP_LANES_VERSION || lanes->map_size > size)
		return;
	if (!ctp_arena_open(&s->lane_pool, s, &lanes->lanes, size, sizeof(struct ctp_lane)) ||
	    !ctp_arena_open(&s->chunk_pool, s, &lanes->chunks, size, sizeof(struct ctp_chunk)) ||
	    !ctp_arena_open(&s->life_pool, s, &lanes->lives, size, sizeof(struct ctp_life)) ||
	    !ctp_arena_open(&s->site_pool, s, &lanes->sites, size, sizeof(struct ctp_site))) {
		ctp_say("corotracer: the lanes are not where they can be; tracing without");
		return;
	}
	ctp_session_seen(proc, s);
	s->on_full = lanes->on_full;
	s->block_ms = lanes->block_ms;
	/* One chunk to write, one to read, one that the collector may keep. */
	lane_chunks = ctp_load_relaxed(&lanes->lane_chunks);
	s->lane_chunks = lane_chunks > 3 ? lane_chunks : 3;
	s->lanes = lanes;
}

/*
 * Paths are copied: another thread may change the environment later.  A path that is too long is
 * ignored.
 */
CTP_SLOW void ctp_session_path(char *to, const char *path)
{
	size_t len = path ? strlen(path) : 0;

	if (len < CTP_PATH_SIZE)
		memcpy(to, path ? path : "", len + 1);
}

/* Fill the session with the region at @path.  Returns 0 without a usable collector. */
CTP_SLOW int ctp_session_fill(struct ctp_process *proc, struct ctp_session *s, const char *path,
			      const char *sock, uint64_t stations)
{
	uint64_t size = 0;

	ctp_session_path(s->shm_path, path);
	ctp_session_path(s->sock_path, sock);
	s->header = ctp_region_map(s, path, stations, &size);
	if (!s->header)
		return 0;
	proc->map = s->header;
	proc->map_size = size;
	s->stations = ctp_stations(s->header);
	s->counter_usable = ctp_counter_usable();
	s->pair_ticks = ctp_clock_pair(10, 0, &s->base_ticks, &s->base_ns);
	s->features = ctp_ext_features(s->header);
	s->sock = -1;
	s->sleeping = &s->never_sleeping;
	s->needs_fence = 1;
	s->clock_published = (s->features & CTP_EXT_CLOCK) && ctp_clock_agrees(s);
	s->has_key = proc->has_key;
	s->thread_key = proc->thread_key;
	if (s->features & CTP_EXT_LANES)
		ctp_session_lanes(proc, s, size);
	return 1;
}

/* Fill the session as the environment says, or as the order of the parent process did. */
CTP_SLOW int ctp_session_find(struct ctp_process *proc, struct ctp_session *s)
{
	const char *path = secure_getenv(CTP_ENV_SHM), *stations = secure_getenv(CTP_ENV_STATIONS);
	struct ctp_order copy;
	const struct ctp_order *order = ctp_order_inherited(s->request, &copy);

	if (order) {
		s->by_order = 1;
		return ctp_session_fill(proc, s, order->shm, order->sock, order->stations);
	}
	if (path && *path) {
		ctp_inherited_find(s, path);
		return ctp_session_fill(proc, s, path, secure_getenv(CTP_ENV_SOCK),
					stations ? strtoull(stations, NULL, 10) : 0);
	}
	ctp_session_why(s, getenv(CTP_ENV_SHM) ? CTP_WHY_SECURE : CTP_WHY_NO_ENVIRONMENT, 0);
	ctp_say("corotracer: not traced: " CTP_ENV_SHM " is not set");
	return 0;
}

/* Map a page that a fork wipes.  Returns NULL on failure. */
CTP_SLOW struct ctp_session *ctp_session_page(void)
{
	void *page = mmap(NULL, sizeof(struct ctp_session), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	/*
	 * Covers every way to fork.  But Linux before 4.14 does not have it, and an emulator may
	 * accept it without effect.  So the atfork handler wipes the page again after fork(3).
	 */
	madvise(page, sizeof(struct ctp_session), MADV_WIPEONFORK);
	return (struct ctp_session *)page;
}

/* The session page of the process, created by the first caller. */
CTP_SLOW struct ctp_session *ctp_session_get(struct ctp_process *proc,
					     const struct ctp_hooks *hooks)
{
	/* (ctp-F) pairs with the release below: a thread that sees the page sees it zeroed. */
	struct ctp_session *s = ctp_load_acquire(&proc->session);

	if (s)
		return s;
	s = ctp_session_page();
	if (!s)
		return NULL;
	/* Every thread that gets here stores the same addresses, of objects that never change. */
	ctp_store_relaxed(&ctp_attacher.process, proc);
	ctp_store_relaxed(&ctp_attacher.hooks, hooks);
	pthread_atfork(NULL, NULL, hooks->wipe_in_child);
	/* (ctp-F) pairs with the acquire above. */
	if (ctp_cas_release(&proc->session, (struct ctp_session *)NULL, s))
		return s;
	munmap(s, sizeof(*s));
	return ctp_load_acquire(&proc->session); /* (ctp-F) pairs with the first thread's release */
}

/* Create the key whose destructor runs at thread exit.  Once per process; children inherit it. */
CTP_SLOW void ctp_process_key(struct ctp_process *proc, const struct ctp_hooks *hooks)
{
	pthread_key_t key;

	if (proc->has_key || pthread_key_create(&key, hooks->leave_thread) != 0)
		return;
	proc->thread_key = (uint32_t)key;
	proc->has_key = 1;
}

/* Attach, if there is a collector.  Called only by the thread that set CTP_ATTACH_BUSY. */
CTP_SLOW int ctp_attach_now(struct ctp_process *proc, struct ctp_session *s,
			    const struct ctp_hooks *hooks)
{
	int attached, cancel;

	/* open() and close() are cancellation points; SDK functions must not be. */
	ctp_store_relaxed(&s->busy_ns, ctp_clock_ns());
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ctp_process_key(proc, hooks);
	s->request = hooks->request;
	s->owner = (uint64_t)getpid();
	ctp_gate_open(s->request);
	attached = ctp_region_disown(proc, 0) && ctp_session_find(proc, s);
	if (attached) {
		/* First: the collector then knows which process its events are from. */
		ctp_session_socket(proc, s, ctp_door_connect(s));
		ctp_session_publish(proc, s);
		ctp_session_connect(proc, s);
	} else {
		if (s->request)
			ctp_door_report(s, ctp_load_relaxed(&s->request->why));
		ctp_store_relaxed(&s->state, CTP_ATTACH_FAILED);
		ctp_gate_close(s->request);
	}
	pthread_setcancelstate(cancel, NULL);
	return attached;
}

/*
 * Another thread attaches, for about 100 us.  Without a wait the first events of this thread would
 * be lost.  An unlimited wait could deadlock: this may be a signal handler that interrupted the
 * attaching thread.  Returns -1 if the attach is still running.
 */
CTP_SLOW int ctp_attach_await(const struct ctp_session *s)
{
	/* Back off: fifty threads that check every 20 us would starve the attaching thread. */
	struct timespec ts = { 0, 20000 };
	uint64_t start = ctp_clock_ns(), since = ctp_load_relaxed(&s->busy_ns);

	if (!since || since > start)
		since = start;
	while (ctp_is_attaching(s) && ctp_clock_ns() - since < CTP_ATTACH_WAIT_NS) {
		syscall(SYS_nanosleep, &ts, NULL);
		if (ts.tv_nsec < 5000000)
			ts.tv_nsec *= 2;
	}
	if (ctp_is_attaching(s))
		return -1;
	/* (ctp-F) pairs with the release store in ctp_session_publish(). */
	return ctp_load_acquire(&s->generation) != 0;
}

/*
 * Attach the process, unless it is attached or known to have no collector.  Any thread may call it
 * any number of times; after the first call it costs two loads.  Returns 1 if there is a session, 0
 * if the process is not traced, -1 if another thread has not finished its attach (later.h).
 */
CTP_SLOW int ctp_attach(struct ctp_process *proc, const struct ctp_hooks *hooks)
{
	int saved = errno;
	struct ctp_session *s = ctp_session_get(proc, hooks);
	int attached = 0;

	if (!s)
		attached = 0;
	else if (ctp_load_relaxed(&s->state) == CTP_ATTACH_NEVER &&
		 ctp_cas_relaxed(&s->state, (uint32_t)CTP_ATTACH_NEVER, (uint32_t)CTP_ATTACH_BUSY))
		attached = ctp_attach_now(proc, s, hooks);
	else if (ctp_load_relaxed(&s->state) == CTP_ATTACH_BUSY)
		attached = ctp_attach_await(s);
	else
		/* (ctp-F) pairs with the release store in ctp_session_publish(). */
		attached = ctp_load_acquire(&s->generation) != 0;
	if (!attached && hooks->request && ctp_load_relaxed(&hooks->request->gate))
		attached = ctp_order_serve() != NULL;
	errno = saved;
	return attached;
}

/* ---- stations ------------------------------------------------------------ */

/* The count includes claims that found no station; it must not wrap into stations in use. */
CTP_SLOW struct ctp_station *ctp_station_claim(struct ctp_session *s, uint32_t *index)
{
	uint32_t *count = &s->header->allocated_count;

	if (ctp_load_relaxed(count) >= UINT32_MAX - (1u << 20))
		return NULL;
	*index = ctp_fetch_add_relaxed(count, 1u);
	return *index < s->nr_stations ? &s->stations[*index] : NULL;
}

/* Write the fields that the plain protocol does not have into the extension. */
CTP_SLOW void ctp_station_describe(struct ctp_station *st, const char *name)
{
	struct ctp_ext_station *ext = ctp_station_ext(st);
	size_t len = name ? strlen(name) : 0;

	ext->version = CTP_EXT_VERSION;
	ext->pid = (uint32_t)getpid();
	ext->name_size = len > UINT32_MAX ? UINT32_MAX : (uint32_t)len;
	if (len)
		memcpy(ext->name, name, len < CTP_EXT_NAME_SIZE ? len : CTP_EXT_NAME_SIZE);
	/* (ctp-E) pairs with the acquire load in the collector's has_extension(). */
	ctp_store_release(&ext->magic, CTP_EXT_MAGIC);
}

/* A coroutine is created under a collector without lanes.  @id 0: use the station's number. */
CTP_SLOW int ctp_station_begin(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s,
			       uint64_t id, const char *name)
{
	uint32_t index = 0;
	struct ctp_station *st = ctp_station_claim(s, &index);
	uint64_t now;

	if (!st)
		return 0;
	now = ctp_now_ns(t, s);
	ctp_store_relaxed(&st->birth_ts, now);
	ctp_store_relaxed(&st->probe_id, id ? id : (uint64_t)index + 1);
	if (s->features)
		ctp_station_describe(st, name);
	p->last_ns = now;
	p->station = st;
	return 1;
}

/* The coroutine is destroyed. */
CTP_SLOW void ctp_station_end(struct ctp_station *st, uint64_t last_ns, struct ctp_thread *t,
			      struct ctp_session *s)
{
	uint64_t now;

	if (!ctp_thread_ready(t, s))
		return;
	now = ctp_now_ns(t, s);
	if (now <= last_ns)
		now = last_ns + 1;
	if (s->features)
		ctp_store_relaxed(&ctp_station_ext(st)->death_ts, now);
	/* (ctp-D) pairs with the acquire load in the collector's describe_life(). */
	ctp_store_release(&st->is_dead, 1);
}

/* ---- coroutines ------------------------------------------------------------ */

/* @p could not be traced.  If that is so because the session ended, the next one adopts it. */
CTP_SLOW int ctp_probe_missed(struct ctp_probe *p, const struct ctp_session *s)
{
	if (!ctp_load_relaxed(&s->generation))
		p->last_ns = s->owner;
	return 0;
}

/*
 * A coroutine is created.  @id is for stations; 0 assigns one.  With lanes the id always comes from
 * the region, so ids are unique in a trace.  Returns 1 if the coroutine is traced.
 */
CTP_SLOW int ctp_probe_begin(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s,
			     uint64_t id, const char *name, uint64_t parent, uint32_t site)
{
	memset(p, 0, sizeof(*p));
	if (!s)
		return 0;
	if (!ctp_thread_ready(t, s))
		return ctp_probe_missed(p, s);
	if (!s->lanes)
		return ctp_station_begin(p, t, s, id, name);
	return ctp_life_begin(p, t, s, name, parent, site, 0) || ctp_probe_missed(p, s);
}

/*
 * Start to trace @p if that is possible now.  Returns 1 if @p is an ordinary probe afterwards,
 * traced or not; 0 if it is still to be traced later.
 */
CTP_SLOW int ctp_later_resolve(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s)
{
	struct ctp_probe was = *p;
	int ours = was.last_ns == (uint64_t)getpid();

	if (ours && ctp_is_attaching(s) && !ctp_load_relaxed(&s->generation))
		return 0;
	memset(p, 0, sizeof(*p));
	if (!ours)
		return 1;
	if (!ctp_thread_ready(t, s)) {
		ctp_probe_missed(p, s);
		return 1;
	}
	if (s->lanes)
		ctp_fetch_add_relaxed(&s->lanes->later, ~UINT64_C(0));
	if (ctp_probe_begin(p, t, s, 0, NULL, 0, 0) && p->life) {
		ctp_store_relaxed(&p->life->events, was.nr_events);
		ctp_store_relaxed(&p->life->dropped, was.nr_events);
	}
	return 1;
}

/*
 * A transition of a coroutine that is to be traced later.  Returns 1 if it can be written now;
 * otherwise it is counted as lost.
 */
CTP_SLOW int ctp_later_transition(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s)
{
	if (ctp_later_resolve(p, t, s))
		return 1;
	p->nr_events++;
	ctp_later_count(s, 1, 0, 0);
	return 0;
}

/* Every event that the fast path does not handle. */
CTP_SLOW_LINKAGE void ctp_event_slow(struct ctp_probe *p, struct ctp_thread *t,
				     struct ctp_session *s, uint64_t addr, uint32_t what,
				     uint64_t resource)
{
	if (!ctp_likely(s && ctp_probe_is_here(p, t, s)) && !ctp_event_open(p, t, &s))
		return;
	if (ctp_is_later(p) && !ctp_later_transition(p, t, s))
		return;
	if (p->life)
		ctp_life_write(p->life, t, s, addr, what, resource);
	else if (p->station)
		ctp_probe_write(p, t, s, addr, (what & 0xff) == CTP_REC_RESUME);
}

CTP_SLOW_LINKAGE void ctp_switch_slow(struct ctp_probe *from, struct ctp_probe *to,
				      struct ctp_thread *t, struct ctp_session *s, uint64_t addr,
				      uint32_t what)
{
	if (!s)
		return;
	if (ctp_load_relaxed(&s->generation) && (from->station || to->station) &&
	    !ctp_is_later(from) && !ctp_is_later(to)) {
		ctp_probe_switch(from, to, t, s, addr);
		return;
	}
	ctp_event_slow(from, t, s, addr, what, 0);
	/* The event may have attached the program. */
	if (ctp_load_relaxed(&ctp_attacher.process))
		s = ctp_load_relaxed(&ctp_load_relaxed(&ctp_attacher.process)->session);
	ctp_event_slow(to, t, s, 0, CTP_WHAT(CTP_REC_RESUME, 0, 0), 0);
}

/* The coroutine has returned or was cancelled; its frame still exists. */
CTP_SLOW void ctp_probe_done(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s,
			     uint32_t flags)
{
	if (ctp_is_later(p) && !ctp_later_resolve(p, t, s))
		ctp_later_mark(s);
	if (p->life)
		ctp_life_done(p->life, t, s, flags);
}

/* The coroutine is destroyed.  The probe is untraced afterwards. */
CTP_SLOW void ctp_probe_end(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s,
			    uint32_t flags)
{
	struct ctp_probe was;

	if (ctp_is_later(p) && !ctp_later_resolve(p, t, s)) {
		ctp_later_mark(s);
		memset(p, 0, sizeof(*p));
	}
	was = *p;
	memset(p, 0, sizeof(*p));
	if (was.life)
		ctp_life_end(was.life, t, s, flags);
	else if (was.station)
		ctp_station_end(was.station, was.last_ns, t, s);
}

/* The id of the coroutine in the trace; 0: untraced. */
CTP_SLOW uint64_t ctp_probe_id(const struct ctp_probe *p)
{
	if (p->life)
		return ctp_load_relaxed(&p->life->id);
	if (ctp_is_later(p))
		return 0;
	return p->station ? ctp_load_relaxed(&p->station->probe_id) : 0;
}

#ifdef __cplusplus
}
#endif

#include <corotracer/request_slow.h>

#include <corotracer/header_end.h>

#endif
