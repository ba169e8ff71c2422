/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_attach_steps.c - the steps of an attach, one by one: the header, the mapping, the
 * socket, the pools, the wait for another thread, and stations.  Each with the calls that may fail.
 */
#include "sdk_kernel.h"

#include <corotracer/attach.h>

#include "lanes_region.h"

static struct ctp_request request = CTP_REQUEST_INIT;

static void session_clear(struct ctp_session *s)
{
	memset(s, 0, sizeof(*s));
	s->sock = -1;
	s->request = &request;
	request.why = 0;
}

/* ---- the header ---------------------------------------------------------------------------- */

static uint32_t check_header(uint64_t room, uint32_t max, uint64_t promised, uint32_t *nr)
{
	struct ctp_header h = { .magic_number = CTP_MAGIC,
				.version = CTP_VERSION,
				.max_stations = max };

	*nr = 77;
	return ctp_header_check(&h, ctp_region_size(room), promised, nr);
}

static void the_file_has_all_stations_that_are_used(void)
{
	uint32_t nr;

	CHECK_EQ(check_header(4, 4, 4, &nr), 0);
	CHECK_EQ(nr, 4);
	CHECK_EQ(check_header(4, 4, 3, &nr), 0);
	CHECK_EQ(nr, 3);
	CHECK_EQ(check_header(4, 3, 4, &nr), 0);
	CHECK_EQ(nr, 3);
	CHECK_EQ(check_header(4, 4, 0, &nr), 0); /* nothing was promised */
	CHECK_EQ(nr, 4);
	CHECK_EQ(check_header(4, 5, 0, &nr), CTP_WHY_NOT_REGION);
	CHECK_EQ(check_header(4, 4, 5, &nr), CTP_WHY_NOT_REGION);
	CHECK_EQ(check_header(4, 0, 4, &nr), CTP_WHY_NOT_REGION);
	CHECK_EQ(check_header(0, 1, 0, &nr), CTP_WHY_NOT_REGION);
	CHECK_EQ(nr, 77);
}

static void features_need_magic_and_version(void)
{
	struct ctp_header h = { 0 };
	struct ctp_ext_header *ext = ctp_header_ext(&h);

	ext->magic = CTP_EXT_MAGIC;
	ext->version = CTP_EXT_VERSION;
	ext->features = 0x85;
	CHECK_EQ(ctp_ext_features(&h), 0x85);
	ext->version++;
	CHECK_EQ(ctp_ext_features(&h), 0);
	ext->version--;
	ext->magic++;
	CHECK_EQ(ctp_ext_features(&h), 0);
}

static void the_reason_has_an_errno(void)
{
	struct ctp_session s;

	session_clear(&s);
	ctp_session_why(&s, CTP_WHY_NOT_OPENED, EACCES);
	CHECK_EQ(request.why, CTP_WHY_NOT_OPENED + 256 * EACCES);
	s.request = NULL;
	ctp_session_why(&s, CTP_WHY_ATTACHED, 0);
	CHECK_EQ(request.why, CTP_WHY_NOT_OPENED + 256 * EACCES);
}

/* ---- the mapping ---------------------------------------------------------------------------- */

/* A writable mapping from the start would allocate all pages after mlockall(). */
static void a_file_is_mapped_in_two_steps(void)
{
	struct region r;
	uint32_t *map;
	int fd;

	region_open(&r, 4, 0);
	fd = open(r.shm, O_RDWR | O_CLOEXEC);
	kernel_reset();
	map = ctp_file_map(fd, r.size);
	CHECK(map != MAP_FAILED);
	CHECK_EQ(kernel.prot, PROT_NONE);
	CHECK_EQ(kernel.flags, MAP_SHARED | MAP_NORESERVE);
	CHECK_EQ(kernel.size, r.size);
	CHECK_EQ(kernel.nr[CALL_MPROTECT], 1);
	CHECK_EQ(kernel.nr_advice, 1);
	CHECK_EQ(kernel.advice[0], MADV_DONTDUMP);
	((struct ctp_header *)(void *)map)->allocated_count = 3; /* writable, and shared */
	CHECK_EQ(r.header->allocated_count, 3);
	CHECK_EQ(munmap(map, r.size), 0);
	kernel_fail(CALL_MPROTECT, EAGAIN, 1);
	CHECK(ctp_file_map(fd, r.size) == MAP_FAILED);
	CHECK_EQ(kernel.nr[CALL_MUNMAP], 1);
	CHECK_EQ(kernel.size, r.size);
	CHECK_EQ(count_mapped(r.shm), 1); /* that of the test */
	kernel_fail(CALL_MMAP, ENOMEM, 1);
	CHECK(ctp_file_map(fd, r.size) == MAP_FAILED);
	CHECK_EQ(kernel.nr[CALL_MPROTECT], 1);
}

static void without_room_only_the_stations_are_mapped(void)
{
	struct region r;
	uint64_t size, longer;
	int fd;

	region_open(&r, 4, 0);
	longer = r.size + 65536;
	fd = open(r.shm, O_RDWR | O_CLOEXEC);
	CHECK_EQ(ftruncate(fd, (off_t)longer), 0);
	size = longer;
	kernel_reset();
	CHECK(ctp_file_map_some(fd, &size) != MAP_FAILED);
	CHECK_EQ(size, longer);
	CHECK_EQ(kernel.nr[CALL_PREAD], 0);
	kernel_fail(CALL_MPROTECT, EAGAIN, 1);
	CHECK(ctp_file_map_some(fd, &size) == MAP_FAILED); /* neither can be */
	CHECK_EQ(kernel.nr[CALL_MPROTECT], 2);
	CHECK_EQ(size, r.size);
	size = longer;
	kernel_fail(CALL_PREAD, EIO, 1);
	kernel_fail(CALL_MPROTECT, EAGAIN, 1);
	CHECK(ctp_file_map_some(fd, &size) == MAP_FAILED);
	CHECK_EQ(kernel.nr[CALL_MPROTECT], 1);
	CHECK_EQ(size, longer);
	kernel_reset();
	kernel_fail(CALL_MPROTECT, EAGAIN, 1);
	size = r.size; /* there is nothing else to leave out */
	CHECK(ctp_file_map_some(fd, &size) == MAP_FAILED);
	CHECK_EQ(kernel.nr[CALL_MPROTECT], 1);
	CHECK_EQ(size, r.size);
}

static void a_region_is_opened_and_checked(void)
{
	struct region r;
	struct ctp_session s;
	struct stat st;
	unsigned before;
	uint64_t size = 0;
	int fd;

	region_open(&r, 1, 0);
	session_clear(&s);
	before = count_open();
	fd = ctp_region_open(&s, r.shm, &st);
	CHECK(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(st.st_size, ctp_region_size(1));
	close(fd);
	kernel_fail(CALL_FSTAT, EOVERFLOW, 1);
	CHECK_EQ(ctp_region_open(&s, r.shm, &st), -1);
	CHECK_EQ(request.why, CTP_WHY_NOT_OPENED | (uint32_t)EOVERFLOW << 8);
	CHECK_EQ(count_open(), before);
	kernel_reset();
	CHECK_EQ(truncate(r.shm, (off_t)ctp_region_size(1) - 1), 0);
	CHECK_EQ(ctp_region_open(&s, r.shm, &st), -1);
	CHECK_EQ(request.why, CTP_WHY_NOT_REGION);
	CHECK_EQ(count_open(), before);
	CHECK_EQ(truncate(r.shm, (off_t)ctp_region_size(1)), 0);
	kernel_fail(CALL_MMAP, ENOMEM, 1);
	CHECK(!ctp_region_map(&s, r.shm, 1, &size));
	CHECK_EQ(request.why, CTP_WHY_NOT_MAPPED | (uint32_t)ENOMEM << 8);
	CHECK_EQ(count_open(), before);
	kernel_reset();
	CHECK(!ctp_region_map(&s, r.shm, 2, &size));
	CHECK_EQ(request.why, CTP_WHY_NOT_REGION);
	CHECK_EQ(kernel.nr[CALL_MUNMAP], 1);
	CHECK_EQ(kernel.size, ctp_region_size(1));
	CHECK_EQ(count_mapped(r.shm), 1);
	CHECK(ctp_region_map(&s, r.shm, 1, &size) != NULL);
	CHECK_EQ(size, ctp_region_size(1));
	CHECK_EQ(s.shm_dev, st.st_dev);
	CHECK_EQ(s.shm_ino, st.st_ino);
	CHECK_EQ(s.nr_stations, 1);
	CHECK_EQ(count_open(), before);
}

static void a_mapping_is_replaced_by_zeros(void)
{
	struct ctp_process proc = { .sock = -1 };
	struct region r;
	char *seen;
	int own[2], other[2];
	struct stat st;

	region_open(&r, 4, 0);
	kernel_reset();
	CHECK_EQ(ctp_region_disown(&proc, 0), 1); /* there is none */
	CHECK_EQ(kernel.nr[CALL_MMAP], 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, own) == 0 &&
	      socketpair(AF_UNIX, SOCK_STREAM, 0, other) == 0);
	CHECK_EQ(fstat(own[0], &st), 0);
	proc = (struct ctp_process){ .map = r.header,
				     .map_size = r.size,
				     .sock = own[0],
				     .sock_dev = (uint64_t)st.st_dev,
				     .sock_ino = (uint64_t)st.st_ino };
	kernel_fail(CALL_MMAP, ENOMEM, 1);
	CHECK_EQ(ctp_region_disown(&proc, 0), 0);
	CHECK(proc.map == r.header);
	CHECK_EQ(proc.sock, own[0]);
	kernel_reset();
	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	proc.seen_chunks = (uint8_t *)seen;
	proc.seen_size = 4096;
	CHECK_EQ(ctp_region_disown(&proc, 1), 1);
	CHECK(!proc.map && !proc.seen_chunks);
	CHECK_EQ(kernel.flags, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE);
	CHECK_EQ(kernel.nr[CALL_MUNMAP], 0); /* threads may still use it */
	CHECK(all_zero(r.header, r.size));
	r.header->version = 9; /* writable, and in no file */
	CHECK_EQ(seen[0], 0);
	CHECK_EQ(proc.sock, -1);
	CHECK_EQ(fcntl(own[0], F_GETFD), -1);
	/* In a child; the number is that of another socket by now. */
	proc.map = r.header;
	proc.seen_chunks = (uint8_t *)seen;
	proc.sock = other[0];
	CHECK_EQ(ctp_region_disown(&proc, 0), 1);
	CHECK_EQ(kernel.nr[CALL_MUNMAP], 1);
	CHECK_EQ(kernel.size, 4096);
	CHECK_EQ(proc.sock, -1);
	CHECK(fcntl(other[0], F_GETFD) >= 0);
}

/* ---- the socket -------------------------------------------------------------------------------
 */

static void a_socket_is_known_by_device_and_inode(void)
{
	struct stat st;
	int pair[2], file;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	CHECK_EQ(fstat(pair[0], &st), 0);
	CHECK_EQ(ctp_sock_is(pair[0], (uint64_t)st.st_dev, (uint64_t)st.st_ino), 1);
	CHECK_EQ(ctp_sock_is(pair[0], (uint64_t)st.st_dev + 1, (uint64_t)st.st_ino), 0);
	CHECK_EQ(ctp_sock_is(pair[0], (uint64_t)st.st_dev, (uint64_t)st.st_ino + 1), 0);
	CHECK_EQ(ctp_sock_is(-1, (uint64_t)st.st_dev, (uint64_t)st.st_ino), 0);
	kernel_reset();
	CHECK_EQ(ctp_sock_is(-1, 0, 0), 0);
	CHECK_EQ(kernel.nr[CALL_FSTAT], 0);
	file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	CHECK_EQ(fstat(file, &st), 0);
	CHECK_EQ(ctp_sock_is(file, (uint64_t)st.st_dev, (uint64_t)st.st_ino), 0);
	CHECK_EQ(dup2(pair[0], 0), 0); /* 0 is a number, too */
	CHECK_EQ(fstat(0, &st), 0);
	CHECK_EQ(ctp_sock_is(0, (uint64_t)st.st_dev, (uint64_t)st.st_ino), 1);
}

static void a_connection_has_a_high_number(void)
{
	char path[400];
	struct region r;
	unsigned before;
	int fd;

	region_open(&r, 4, 0);
	before = count_open();
	fd = ctp_sock_connect(r.sock);
	CHECK(fd >= CTP_HIGH_FD);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK_EQ(count_open(), before + 1);
	close(fd);
	CHECK_EQ(ctp_sock_connect(""), -1);
	memset(path, 'x', sizeof(path));
	path[sizeof(((struct sockaddr_un *)0)->sun_path)] = '\0';
	kernel_reset();
	CHECK_EQ(ctp_sock_connect(path), -1);
	CHECK_EQ(kernel.nr[CALL_SOCKET], 0); /* not even tried */
	path[sizeof(((struct sockaddr_un *)0)->sun_path) - 1] = '\0';
	CHECK_EQ(ctp_sock_connect(path), -1); /* there is no such socket */
	CHECK_EQ(kernel.nr[CALL_CONNECT], 1);
	CHECK_EQ(count_open(), before);
	kernel_fail(CALL_SOCKET, EMFILE, 1);
	CHECK_EQ(ctp_sock_connect(r.sock), -1);
	CHECK_EQ(kernel.nr[CALL_CONNECT], 1);
	CHECK_EQ(count_open(), before);
	kernel_reset();
	kernel_fail(CALL_DUP, EMFILE, 1); /* a low number, then */
	fd = ctp_sock_connect(r.sock);
	CHECK(fd >= 0 && fd < CTP_HIGH_FD);
	CHECK_EQ(count_open(), before + 1);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void a_socket_is_renewed_four_times(void)
{
	struct ctp_session s;
	struct region r;
	struct stat st;
	unsigned i;

	region_open(&r, 4, 0);
	session_clear(&s);
	ctp_session_path(s.sock_path, r.sock);
	s.renewing = 1; /* another thread does it */
	CHECK_EQ(ctp_sock_renew(&s), -1);
	CHECK(s.sock == -1 && s.renewals == 0 && s.renewing == 1);
	s.renewing = 0;
	for (i = 1; i <= 4; i++) {
		CHECK_EQ(ctp_sock_renew(&s), 1);
		CHECK_EQ(s.renewals, i);
		CHECK_EQ(s.renewing, 0);
		CHECK_EQ(fstat(s.sock, &st), 0);
		CHECK_EQ(s.sock_dev, st.st_dev);
		CHECK_EQ(s.sock_ino, st.st_ino);
		close(s.sock);
	}
	CHECK_EQ(ctp_sock_renew(&s), 0);
	CHECK_EQ(s.renewing, 0);
	s.renewals = 0;
	unlink(r.sock);
	CHECK_EQ(ctp_sock_renew(&s), 0);
	CHECK_EQ(s.renewing, 0);
}

static void a_child_knows_the_socket(void)
{
	struct ctp_process proc = { .sock = -1 };
	struct ctp_session s;
	struct stat st;
	int pair[2];

	session_clear(&s);
	ctp_session_socket(&proc, &s, -1);
	CHECK_EQ(s.sock, -1);
	CHECK_EQ(proc.sock, -1);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	CHECK_EQ(fstat(pair[0], &st), 0);
	ctp_session_socket(&proc, &s, pair[0]);
	CHECK_EQ(s.sock, pair[0]);
	CHECK_EQ(s.sock_dev, st.st_dev);
	CHECK_EQ(s.sock_ino, st.st_ino);
	CHECK_EQ(proc.sock, pair[0]);
	CHECK_EQ(proc.sock_dev, st.st_dev);
	CHECK_EQ(proc.sock_ino, st.st_ino);
}

/* A collector that fell asleep before the socket was there is woken now. */
static void wakeups_begin_with_the_socket(void)
{
	struct ctp_process proc = { .sock = -1 };
	struct ctp_session s;
	struct region r;
	int conn;

	region_open(&r, 4, REGION_EXT);
	session_clear(&s);
	s.header = r.header;
	s.features = CTP_EXT_SLEEPING | CTP_EXT_MEMBARRIER;
	s.needs_fence = 1;
	s.sleeping = &s.never_sleeping;
	ctp_session_path(s.sock_path, r.sock);
	ctp_header_ext(r.header)->sleeping = 1;
	ctp_session_connect(&proc, &s);
	CHECK(s.sock >= 0 && proc.sock == s.sock);
	CHECK(s.sleeping == &ctp_header_ext(r.header)->sleeping);
	CHECK_EQ(s.needs_fence, 0);
	conn = region_accept(&r);
	CHECK_EQ(wakeups_count(conn), 1);
	CHECK_EQ(ctp_header_ext(r.header)->sleeping, 0);
	/* The socket is there: no second one. */
	ctp_session_connect(&proc, &s);
	CHECK_EQ(region_accept(&r), -1);
	CHECK_EQ(wakeups_count(conn), 0);
	s.features = 0; /* a plain collector */
	ctp_session_connect(&proc, &s);
	CHECK(s.sleeping == &r.header->tracer_sleeping);
}

static void fences_stay_without_membarrier(void)
{
	struct ctp_process proc = { .sock = -1 };
	struct ctp_session s;
	struct region r;

	region_open(&r, 4, REGION_EXT | REGION_NO_SOCKET);
	session_clear(&s);
	s.header = r.header;
	s.needs_fence = 1;
	s.sleeping = &s.never_sleeping;
	kernel_reset();
	ctp_session_connect(&proc, &s); /* the collector does not call it */
	CHECK_EQ(s.needs_fence, 1);
	CHECK_EQ(kernel.nr[CALL_MEMBARRIER], 0);
	s.features = CTP_EXT_SLEEPING | CTP_EXT_MEMBARRIER;
	kernel_fail(CALL_MEMBARRIER, ENOSYS, 1);
	ctp_session_connect(&proc, &s);
	CHECK_EQ(s.needs_fence, 1);
	CHECK(s.sleeping == &s.never_sleeping); /* there is no socket */
	s.by_order = 1;                         /* it has to see that it is asked to detach */
	ctp_session_connect(&proc, &s);
	CHECK(s.sleeping == &ctp_header_ext(r.header)->sleeping);
	CHECK_EQ(s.sock, -1);
}

/* The kernel would make one of the threads wait. */
static void a_process_with_threads_is_not_registered(void)
{
	struct ctp_process proc = { .sock = -1 };

	kernel_reset();
	kernel.more_threads = 1;
	errno = EXDEV;
	CHECK_EQ(ctp_process_register(&proc), 0);
	CHECK_EQ(kernel.nr[CALL_MEMBARRIER], 0);
	kernel.more_threads = 0;
	CHECK_EQ(ctp_process_register(&proc), 1);
	CHECK_EQ(kernel.nr[CALL_MEMBARRIER], 1);
	/* It stays registered, and is not asked again. */
	kernel.more_threads = 7;
	CHECK_EQ(ctp_process_register(&proc), 1);
	CHECK_EQ(kernel.nr[CALL_MEMBARRIER], 1);
	CHECK_EQ(errno, EXDEV);
	kernel_reset();
}

static void who_cannot_be_woken_is_left_to_others(void)
{
	struct ctp_session s;
	struct region r;
	uint32_t *flag;
	int conn;

	region_open(&r, 4, 0);
	session_clear(&s);
	s.header = r.header;
	flag = s.sleeping = &r.header->tracer_sleeping;
	ctp_session_path(s.sock_path, r.sock);
	*flag = 1;
	errno = 12345;
	ctp_wake(&s); /* renews the socket first */
	CHECK_EQ(errno, 12345);
	conn = region_accept(&r);
	CHECK_EQ(wakeups_count(conn), 1);
	CHECK_EQ(*flag, 0);
	ctp_wake(&s); /* it is awake */
	CHECK_EQ(wakeups_count(conn), 0);
	kernel_fail(CALL_SEND, EAGAIN, 1); /* it has bytes to wake up for */
	*flag = 1;
	ctp_wake(&s);
	CHECK_EQ(*flag, 0);
	kernel_fail(CALL_SEND, EINTR, 1);
	*flag = 1;
	ctp_wake(&s);
	CHECK_EQ(*flag, 0);
	CHECK(s.sleeping == flag);
	s.by_order = 1;
	kernel_fail(CALL_SEND, EPIPE, 1);
	*flag = 1;
	ctp_wake(&s);
	CHECK_EQ(*flag, 1);
	CHECK(s.sleeping == flag);
	s.by_order = 0;
	ctp_wake(&s);
	CHECK_EQ(*flag, 1); /* for another thread or process */
	CHECK(s.sleeping == &s.never_sleeping);
	CHECK_EQ(s.never_sleeping, 0);
	kernel_reset();
	/* Another thread is renewing: it will send. */
	s.sleeping = flag;
	close(s.sock);
	s.renewing = 1;
	ctp_wake(&s);
	CHECK(*flag == 1 && s.sleeping == flag);
	/* No socket any more. */
	s.renewing = 0;
	s.renewals = 4;
	errno = 12345;
	ctp_wake(&s);
	CHECK(*flag == 1 && s.sleeping == &s.never_sleeping);
	CHECK_EQ(errno, 12345);
}

/* ---- the pools ---------------------------------------------------------------------------------
 */

static void a_pool_is_inside_the_file_and_behind_the_stations(void)
{
	const struct ctp_pool good = { .offset = 8192, .unit = 64, .limit = 10 };
	static struct ctp_header header[20];
	struct ctp_session s = { .header = header, .nr_stations = 4 };
	struct ctp_arena a = { 0 };
	struct ctp_pool pool = good;

	CHECK_EQ(ctp_region_size(4), 5120);
	CHECK_EQ(ctp_arena_open(&a, &s, &pool, 8192 + 640, 64), 1);
	CHECK(a.pool == &pool && a.units == (char *)header + 8192 && a.unit == 64 && a.limit == 10);
	CHECK_EQ(ctp_arena_open(&a, &s, &pool, 8192 + 639, 64), 0);
	CHECK_EQ(ctp_arena_open(&a, &s, &pool, 8191, 64), 0);
	CHECK_EQ(ctp_arena_open(&a, &s, &pool, 8192 + 640, 32), 0);
	pool.limit = 0;
	CHECK_EQ(ctp_arena_open(&a, &s, &pool, 8192, 64), 1);
	pool = good;
	pool.offset = 5120;
	CHECK_EQ(ctp_arena_open(&a, &s, &pool, 65536, 64), 1);
	pool.offset = 5120 - 64;
	CHECK_EQ(ctp_arena_open(&a, &s, &pool, 65536, 64), 0);
	pool.offset = 8192 + 32;
	CHECK_EQ(ctp_arena_open(&a, &s, &pool, 65536, 64), 0);
}

static void expect_spares(uint32_t chunks, uint32_t features, uint32_t spares)
{
	struct ctp_process proc = { .sock = -1 };
	uint32_t places = chunks / 32 < 512 ? chunks / 32 : 512;
	struct ctp_session s;

	session_clear(&s);
	s.chunk_pool.limit = chunks;
	s.features = features;
	ctp_session_seen(&proc, &s);
	CHECK_EQ(s.nr_spares, spares);
	CHECK_EQ(proc.seen_size, places * 16 + chunks);
	CHECK_EQ(kernel.size, proc.seen_size);
	CHECK(s.seen_chunks == proc.seen_chunks + places * 16);
	CHECK(s.spares == (spares ? (void *)proc.seen_chunks : NULL));
	CHECK(all_zero(proc.seen_chunks, proc.seen_size));
	CHECK_EQ(munmap(proc.seen_chunks, proc.seen_size), 0);
}

static void one_of_32_chunks_may_be_kept_for_the_next_thread(void)
{
	struct ctp_process proc = { .sock = -1 };
	struct ctp_session s;

	expect_spares(64, CTP_EXT_HANDOVER, 2);
	expect_spares(64, 0, 0);
	expect_spares(511 * 32 + 31, CTP_EXT_HANDOVER, 511);
	expect_spares(512 * 32, CTP_EXT_HANDOVER, 512);
	expect_spares(600 * 32, CTP_EXT_HANDOVER, 512);
	session_clear(&s);
	s.chunk_pool.limit = 64;
	s.features = CTP_EXT_HANDOVER;
	kernel_fail(CALL_MMAP, ENOMEM, 1);
	ctp_session_seen(&proc, &s);
	CHECK(!s.seen_chunks && !s.spares && !s.nr_spares && !proc.seen_chunks && !proc.seen_size);
}

static void lanes_hold_three_chunks_at_least(void)
{
	static const uint32_t wanted[][2] = { { 0, 3 }, { 2, 3 }, { 3, 3 }, { 4, 4 }, { 9, 9 } };
	struct ctp_process proc = { .sock = -1 };
	struct lanes_region r;
	struct ctp_session s;

	lanes_region_open(&r, (struct shape)SHAPE);
	r.ext->on_full = CTP_ON_FULL_BLOCK;
	r.ext->block_ms = 33;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		session_clear(&s);
		s.header = r.region.header;
		s.nr_stations = 4;
		r.ext->lane_chunks = wanted[i][0];
		ctp_session_lanes(&proc, &s, r.size);
		CHECK(s.lanes != NULL);
		CHECK_EQ(s.lane_chunks, wanted[i][1]);
		CHECK_EQ(s.on_full, CTP_ON_FULL_BLOCK);
		CHECK_EQ(s.block_ms, 33);
	}
	session_clear(&s);
	s.header = r.region.header;
	r.ext->map_size = r.size;
	ctp_session_lanes(&proc, &s, r.size - 1);
	CHECK(!s.lanes);
}

static void paths_are_whole_or_left_out(void)
{
	char path[CTP_PATH_SIZE + 1], to[CTP_PATH_SIZE + 1] = "before";

	memset(path, 'p', sizeof(path));
	path[CTP_PATH_SIZE] = '\0';
	ctp_session_path(to, path);
	CHECK_STR(to, "before");
	ctp_session_path(to, NULL);
	CHECK_STR(to, "");
	path[CTP_PATH_SIZE - 1] = '\0';
	to[CTP_PATH_SIZE] = '#';
	ctp_session_path(to, path);
	CHECK_STR(to, path);
	CHECK_EQ(to[CTP_PATH_SIZE], '#');
}

static void a_session_has_a_number_and_the_tag_of_its_sites(void)
{
	struct ctp_process proc = { .sock = -1, .generations = 6 };
	struct ctp_session s;

	session_clear(&s);
	request.sites = 9;
	request.first = 5;
	ctp_session_publish(&proc, &s);
	CHECK_EQ(s.generation, 7);
	CHECK_EQ(proc.generations, 7);
	CHECK_EQ(s.state, CTP_ATTACH_DONE);
	CHECK_EQ(s.site_tag, 9);
	CHECK_EQ(s.first, 5);
	session_clear(&s);
	s.request = NULL;
	ctp_session_publish(&proc, &s);
	CHECK_EQ(s.site_tag, 1);
	CHECK_EQ(s.first, 0);
}

/* ---- another thread attaches
 * --------------------------------------------------------------------- */

static struct ctp_session waiting;

static void attach_ends(void)
{
	if (kernel.nr[CALL_SLEEP] < 3)
		return;
	waiting.generation = 4;
	waiting.state = CTP_ATTACH_DONE;
}

static void attach_fails(void)
{
	waiting.state = CTP_ATTACH_FAILED;
}

static void a_thread_waits_for_the_attach_until_it_ends(void)
{
	session_clear(&waiting);
	waiting.state = CTP_ATTACH_BUSY;
	kernel_reset();
	kernel.now = waiting.busy_ns = UINT64_C(1000000000);
	kernel.asleep = attach_ends;
	CHECK_EQ(ctp_attach_await(&waiting), 1);
	CHECK_EQ(kernel.nr[CALL_SLEEP], 3);
	CHECK(kernel.slept[0] == 20000 && kernel.slept[1] == 40000 && kernel.slept[2] == 80000);
	CHECK_EQ(ctp_attach_await(&waiting), 1); /* it has ended */
	CHECK_EQ(kernel.nr[CALL_SLEEP], 3);
	session_clear(&waiting);
	waiting.state = CTP_ATTACH_BUSY;
	kernel.asleep = attach_fails;
	CHECK_EQ(ctp_attach_await(&waiting), 0);
}

static uint64_t wait_in_vain(uint64_t now, uint64_t busy_ns)
{
	session_clear(&waiting);
	waiting.state = CTP_ATTACH_BUSY;
	waiting.busy_ns = busy_ns;
	kernel_reset();
	kernel.now = now;
	CHECK_EQ(ctp_attach_await(&waiting), -1);
	return kernel.now - now;
}

static void a_thread_waits_for_fifty_milliseconds_at_most(void)
{
	uint64_t second = UINT64_C(1000000000), longest = 0;

	/* From the start of the attach, or from now on if that is unknown. */
	CHECK_EQ(wait_in_vain(second, second), 20000 * 511 + 8 * 5120000);
	CHECK_EQ(kernel.nr[CALL_SLEEP], 17);
	for (unsigned i = 0; i < 17; i++)
		longest = kernel.slept[i] > longest ? kernel.slept[i] : longest;
	CHECK_EQ(longest, 5120000);
	CHECK_EQ(wait_in_vain(second, 0), 20000 * 511 + 8 * 5120000);
	CHECK_EQ(wait_in_vain(second, second + 1), 20000 * 511 + 8 * 5120000);
	CHECK_EQ(wait_in_vain(second, second - CTP_ATTACH_WAIT_NS), 0);
	CHECK_EQ(wait_in_vain(second, second - CTP_ATTACH_WAIT_NS + 1), 20000);
}

/* ---- stations
 * -------------------------------------------------------------------------------------- */

static void claims_are_counted_and_never_wrap(void)
{
	struct ctp_session s;
	struct region r;
	uint32_t index = 77;

	region_open(&r, 2, 0);
	session_clear(&s);
	s.header = r.header;
	s.stations = r.stations;
	s.nr_stations = 2;
	CHECK(ctp_station_claim(&s, &index) == &r.stations[0]);
	CHECK_EQ(index, 0);
	CHECK(ctp_station_claim(&s, &index) == &r.stations[1]);
	CHECK(!ctp_station_claim(&s, &index));
	CHECK_EQ(r.header->allocated_count, 3);
	r.header->allocated_count = UINT32_MAX - (1u << 20);
	CHECK(!ctp_station_claim(&s, &index));
	CHECK_EQ(r.header->allocated_count, UINT32_MAX - (1u << 20));
	r.header->allocated_count--;
	CHECK(!ctp_station_claim(&s, &index));
	CHECK_EQ(r.header->allocated_count, UINT32_MAX - (1u << 20));
}

static void a_station_has_a_name_and_a_process(void)
{
	static const size_t lengths[] = { 0, 1, CTP_EXT_NAME_SIZE - 1, CTP_EXT_NAME_SIZE, 500 };
	char name[501];

	memset(name, 'n', sizeof(name));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		static struct ctp_station st;
		const struct ctp_ext_station *ext = ctp_station_ext(&st);
		size_t told = lengths[i] < CTP_EXT_NAME_SIZE ? lengths[i] : CTP_EXT_NAME_SIZE;

		memset(&st, 0, sizeof(st));
		name[lengths[i]] = '\0';
		ctp_station_describe(&st, name);
		CHECK_EQ(ext->magic, CTP_EXT_MAGIC);
		CHECK_EQ(ext->version, CTP_EXT_VERSION);
		CHECK_EQ(ext->pid, getpid());
		CHECK_EQ(ext->name_size, lengths[i]);
		CHECK_EQ(memcmp(ext->name, name, told), 0);
		CHECK(all_zero(ext->name + told, CTP_EXT_NAME_SIZE - told));
		name[lengths[i]] = 'n';
		memset(&st, 0, sizeof(st));
		ctp_station_describe(&st, NULL);
		CHECK_EQ(ext->name_size, 0);
		CHECK(all_zero(ext->name, CTP_EXT_NAME_SIZE));
	}
}

/* A time of the coroutine is later than the one before. */
static void the_end_of_a_station_is_its_latest_time(void)
{
	struct ctp_thread t = { .ticket = ~UINT64_C(1) };
	struct ctp_station *st;
	struct ctp_session s;
	struct ctp_probe p;
	struct region r;
	uint64_t later;

	region_open(&r, 4, REGION_EXT);
	session_clear(&s);
	s.header = r.header;
	s.stations = r.stations;
	s.nr_stations = 4;
	s.generation = 1;
	s.features = CTP_EXT_SLEEPING;
	memset(&p, 0, sizeof(p));
	CHECK_EQ(ctp_station_begin(&p, &t, &s, 0, "one"), 1);
	st = p.station;
	CHECK(st == &r.stations[0]);
	CHECK_EQ(st->probe_id, 1);
	CHECK_EQ(st->birth_ts, p.last_ns);
	CHECK_EQ(ctp_station_ext(st)->name_size, 3);
	later = p.last_ns + UINT64_C(3600000000000);
	ctp_station_end(st, later, &t, &s);
	CHECK_EQ(st->is_dead, 1);
	CHECK_EQ(ctp_station_ext(st)->death_ts, later + 1);
	s.features = 0; /* no extension is written */
	CHECK_EQ(ctp_station_begin(&p, &t, &s, 99, "two"), 1);
	CHECK_EQ(p.station->probe_id, 99);
	ctp_station_end(p.station, p.last_ns, &t, &s);
	CHECK_EQ(p.station->is_dead, 1);
	CHECK(all_zero(ctp_station_ext(p.station), sizeof(struct ctp_ext_station)));
	CHECK_EQ(ctp_station_begin(&p, &t, &s, 0, NULL), 1);
	CHECK_EQ(p.station->probe_id, 3);
	t.window_ticks = 0; /* the clock stands */
	s.counter_usable = 0;
	kernel.now = later;
	s.features = CTP_EXT_SLEEPING;
	ctp_station_end(p.station, later, &t, &s);
	CHECK_EQ(ctp_station_ext(p.station)->death_ts, later + 1);
	ctp_station_end(p.station, later - 1, &t, &s);
	CHECK_EQ(ctp_station_ext(p.station)->death_ts, later);
	p.station->is_dead = 0;
	s.generation = 0; /* in a child: nothing is written */
	ctp_station_end(p.station, p.last_ns, &t, &s);
	CHECK_EQ(p.station->is_dead, 0);
}

int main(void)
{
	scratch_make();
	RUN_ALONE(the_file_has_all_stations_that_are_used);
	RUN_ALONE(features_need_magic_and_version);
	RUN_ALONE(the_reason_has_an_errno);
	RUN_ALONE(a_file_is_mapped_in_two_steps);
	RUN_ALONE(without_room_only_the_stations_are_mapped);
	RUN_ALONE(a_region_is_opened_and_checked);
	RUN_ALONE(a_mapping_is_replaced_by_zeros);
	RUN_ALONE(a_socket_is_known_by_device_and_inode);
	RUN_ALONE(a_connection_has_a_high_number);
	RUN_ALONE(a_socket_is_renewed_four_times);
	RUN_ALONE(a_child_knows_the_socket);
	RUN_ALONE(wakeups_begin_with_the_socket);
	RUN_ALONE(fences_stay_without_membarrier);
	RUN_ALONE(a_process_with_threads_is_not_registered);
	RUN_ALONE(who_cannot_be_woken_is_left_to_others);
	RUN_ALONE(a_pool_is_inside_the_file_and_behind_the_stations);
	RUN_ALONE(one_of_32_chunks_may_be_kept_for_the_next_thread);
	RUN_ALONE(lanes_hold_three_chunks_at_least);
	RUN_ALONE(paths_are_whole_or_left_out);
	RUN_ALONE(a_session_has_a_number_and_the_tag_of_its_sites);
	RUN_ALONE(a_thread_waits_for_the_attach_until_it_ends);
	RUN_ALONE(a_thread_waits_for_fifty_milliseconds_at_most);
	RUN_ALONE(claims_are_counted_and_never_wrap);
	RUN_ALONE(a_station_has_a_name_and_a_process);
	RUN_ALONE(the_end_of_a_station_is_its_latest_time);
	return 0;
}
