/* SPDX-License-Identifier: MIT */
/*
 * test_lane_memory.c - lanes that a collector offers: their sizes, memory ahead of its use, and
 * what is left of them when memory or addresses are missing.
 */
#include "collect/lane_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "collect/region_list.h"
#include "count_open.h"

/* ---- the kernel's side ---------------------------------------------------------------- */

static struct {
	uint64_t available; /* of the file system; 0: enough */
	int statvfs, ftruncate, mmap;
	int fallocate; /* errno of the next ones */
	unsigned nr_fallocates;
	uint64_t from, size; /* of the last one */
} world;

int __wrap_fstatvfs(int fd, struct statvfs *vfs);
int __wrap_fstatvfs(int fd, struct statvfs *vfs)
{
	(void)fd;
	memset(vfs, 0, sizeof(*vfs));
	vfs->f_frsize = 4096;
	vfs->f_bavail = (world.available ? world.available : UINT64_C(1) << 40) / 4096;
	errno = world.statvfs;
	return world.statvfs ? -1 : 0;
}

int __wrap_fallocate(int fd, int mode, off_t from, off_t size);
int __wrap_fallocate(int fd, int mode, off_t from, off_t size)
{
	(void)fd;
	world.nr_fallocates++;
	world.from = (uint64_t)from;
	world.size = (uint64_t)size;
	CHECK_EQ(mode, FALLOC_FL_KEEP_SIZE);
	errno = world.fallocate;
	return world.fallocate ? -1 : 0; /* the memory is not used */
}

int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size)
{
	errno = world.ftruncate;
	return world.ftruncate ? -1 : __real_ftruncate(fd, size);
}

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t from)
{
	errno = world.mmap;
	return world.mmap ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, from);
}

/* ---- a region ------------------------------------------------------------------------- */

static struct region r;
static struct lanes l;
static struct lanes_config config;

static void region_new(void)
{
	struct err err = { 0 };

	memset(&world, 0, sizeof(world));
	memset(&l, 0x55, sizeof(l));
	config = (struct lanes_config){ .on_full = 2, .block_ms = 77, .buffer = 4 << 20 };
	CHECK_EQ(region_create(&r, 2, config.buffer, NULL, NULL, NULL, &err), 0);
}

static uint64_t file_size(void)
{
	struct stat st;

	CHECK_EQ(fstat(r.fd, &st), 0);
	return (uint64_t)st.st_size;
}

static void lanes_have_their_sizes(void)
{
	const struct ctp_ext_lanes *ext;
	struct err err = { 0 };
	uint64_t before, end;
	unsigned mapped = count_mapped("/"), fds = count_open();

	region_new();
	CHECK(count_mapped("/") > mapped);
	config.lives = 5000;
	before = file_size();
	CHECK_EQ(lanes_offer(&l, &r, &config, &err), 0);
	ext = l.ext;
	CHECK_EQ(ext->magic, CTP_LANES_MAGIC);
	CHECK_EQ(ext->version, CTP_LANES_VERSION);
	CHECK_EQ(ext->on_full, 2);
	CHECK_EQ(ext->block_ms, 77);
	CHECK_EQ(ext->chunks.limit, (4 << 20) / CTP_CHUNK_SIZE);
	CHECK_EQ(ext->lane_chunks, ext->chunks.limit - ext->chunks.limit / 8);
	CHECK_EQ(ext->lanes.limit, LANES_MAX);
	CHECK_EQ(ext->lives.limit, LIVES_MAX);
	CHECK_EQ(ext->sites.limit, CTP_MAX_SITES);
	CHECK_EQ(ext->map_size, file_size());
	CHECK_EQ(l.place_holds, 0);
	CHECK_EQ(l.starved, 0);
	/* One after the other, each on its own pages. */
	end = (before + 65535) / 65536 * 65536;
	CHECK_EQ(ext->lanes.offset, end);
	CHECK_EQ(ext->lanes.unit, sizeof(struct ctp_lane));
	end = (end + sizeof(struct ctp_lane) * LANES_MAX + 65535) / 65536 * 65536;
	CHECK_EQ(ext->sites.offset, end);
	CHECK_EQ(ext->sites.unit, sizeof(struct ctp_site));
	end = (end + sizeof(struct ctp_site) * CTP_MAX_SITES + 65535) / 65536 * 65536;
	CHECK_EQ(ext->lives.offset, end);
	CHECK_EQ(ext->lives.unit, sizeof(struct ctp_life));
	end = (end + sizeof(struct ctp_life) * LIVES_MAX + 65535) / 65536 * 65536;
	CHECK_EQ(ext->chunks.offset, end);
	CHECK_EQ(ext->map_size, end + (4 << 20));
	CHECK_EQ(ctp_header_ext(r.header)->features &
			 (CTP_EXT_LANES | CTP_EXT_HANDOVER | CTP_EXT_CONTEXT),
		 CTP_EXT_LANES | CTP_EXT_HANDOVER | CTP_EXT_CONTEXT);
	/* Memory for the start. */
	CHECK_EQ(ext->lives.committed, 5000);
	CHECK_EQ(ext->lanes.committed, 32);
	CHECK_EQ(ext->sites.committed, 16);
	CHECK_EQ(ext->chunks.committed, 32);
	CHECK_EQ(lanes_committed(&l),
		 5000 * sizeof(struct ctp_life) + 32 * sizeof(struct ctp_lane) +
			 16 * sizeof(struct ctp_site) + 32 * sizeof(struct ctp_chunk));
	lanes_close(&l);
	CHECK(!l.map && !l.ext);
	CHECK_EQ(lanes_committed(&l), 0);
	lanes_keep_ahead(&l); /* nothing to do */
	lanes_close(&l);
	region_close(&r);
	CHECK_EQ(count_mapped("/"), mapped);
	CHECK_EQ(count_open(), fds);
}

static void memory_is_committed_ahead_of_its_use(void)
{
	struct ctp_pool *pool;
	struct err err = { 0 };
	unsigned calls;

	region_new();
	CHECK_EQ(lanes_offer(&l, &r, &config, &err), 0);
	pool = &l.ext->lanes;
	CHECK_EQ(pool->committed, 32);
	CHECK_EQ(l.ext->lives.committed, 1024);
	calls = world.nr_fallocates;
	pool->used = 16; /* half of them are free */
	lanes_keep_ahead(&l);
	CHECK_EQ(world.nr_fallocates, calls);
	pool->used = 17;
	lanes_keep_ahead(&l);
	CHECK_EQ(world.nr_fallocates, calls + 1);
	CHECK_EQ(pool->committed, 17 + 32);
	CHECK_EQ(world.from, pool->offset + 32 * sizeof(struct ctp_lane));
	CHECK_EQ(world.size, 17 * sizeof(struct ctp_lane));
	pool->used = 1000; /* more than there is: a quarter more than is in use */
	lanes_keep_ahead(&l);
	CHECK_EQ(pool->committed, 1250);
	pool->used = LANES_MAX - 10;
	lanes_keep_ahead(&l);
	CHECK_EQ(pool->committed, LANES_MAX); /* not beyond the end */
	calls = world.nr_fallocates;
	pool->used = LANES_MAX + 100;
	lanes_keep_ahead(&l);
	CHECK_EQ(world.nr_fallocates, calls);
	CHECK_EQ(lanes_used(&l.lanes), LANES_MAX);
	pool->committed = LANES_MAX + 5;
	CHECK_EQ(lane_memory_committed(&l.lanes), LANES_MAX);
	/* 8 MiB at most for coroutines. */
	pool = &l.ext->lives;
	pool->used = 1u << 20;
	lanes_keep_ahead(&l);
	CHECK_EQ(pool->committed, (1u << 20) + (8u << 20) / sizeof(struct ctp_life));
	lanes_close(&l);
	region_close(&r);
}

static void missing_memory_is_noted_once(void)
{
	struct err err = { 0 };

	region_new();
	CHECK_EQ(lanes_offer(&l, &r, &config, &err), 0);
	world.fallocate = ENOSPC;
	l.ext->lanes.used = 32;
	lanes_keep_ahead(&l);
	CHECK_EQ(l.starved, ENOSPC);
	CHECK_EQ(l.ext->lanes.committed, 32);
	world.fallocate = EIO;
	lanes_keep_ahead(&l);
	CHECK_EQ(l.starved, ENOSPC); /* the first */
	lanes_close(&l);
	region_close(&r);
}

/* Only stations are offered: the file is as before, and no program sees lanes. */
static void check_refused(int code, const char *text)
{
	struct err err = { 0 };
	uint64_t before = file_size();
	unsigned fds = count_open();

	CHECK_EQ(lanes_offer(&l, &r, &config, &err), code);
	CHECK_EQ(err.code, code);
	CHECK(strstr(err.text, text) != NULL);
	CHECK(!l.map && !l.ext);
	CHECK_EQ(file_size(), before);
	CHECK(ctp_header_lanes(r.header)->magic != CTP_LANES_MAGIC);
	CHECK(!(ctp_header_ext(r.header)->features & CTP_EXT_LANES));
	CHECK_EQ(count_open(), fds);
}

static void without_lanes_the_region_is_as_before(void)
{
	region_new();
	setenv("COROTRACER_NO_LANES", "1", 1);
	check_refused(-EOPNOTSUPP, "COROTRACER_NO_LANES is set");
	unsetenv("COROTRACER_NO_LANES");
	world.ftruncate = EFBIG;
	check_refused(-EFBIG, "cannot make room for lanes (");
	world.ftruncate = 0;
	world.mmap = ENOMEM;
	check_refused(-ENOMEM, "cannot map the region's lanes (");
	world.mmap = 0;
	world.fallocate = ENOSPC;
	world.available = 1 << 20;
	check_refused(-ENOSPC, "no memory for lanes in '");
	CHECK_EQ(l.place_holds, 1 << 20); /* the reason */
	region_close(&r);
}

static uint64_t buffer_with(uint64_t available, uint64_t buffer, uint64_t *holds)
{
	struct err err = { 0 };
	uint64_t size;

	region_new();
	world.available = available;
	config.buffer = buffer;
	CHECK_EQ(lanes_offer(&l, &r, &config, &err), 0);
	size = (uint64_t)l.ext->chunks.limit * CTP_CHUNK_SIZE;
	*holds = l.place_holds;
	lanes_close(&l);
	region_close(&r);
	return size;
}

static void the_buffer_fits_the_file_system(void)
{
	const uint64_t mib = 1 << 20;
	uint64_t holds;

	/* What the user asked for is offered, whether it fits or not. */
	CHECK_EQ(buffer_with(16 * mib, 16 * mib, &holds), 16 * mib);
	CHECK_EQ(holds, 0);
	CHECK_EQ(buffer_with(15 * mib, 16 * mib, &holds), 16 * mib);
	CHECK_EQ(holds, 15 * mib);
	CHECK_EQ(buffer_with(4096, 16 * mib, &holds), 16 * mib);
	CHECK_EQ(holds, BUFFER_LEAST);
	/* By default, half of what there is. */
	CHECK_EQ(buffer_with(32 * mib, 0, &holds), 16 * mib);
	CHECK_EQ(holds, 16 * mib);
	CHECK_EQ(buffer_with(4096, 0, &holds), BUFFER_LEAST);
	CHECK_EQ(holds, BUFFER_LEAST);
	config.buffer = 0;
	CHECK(lanes_wanted(&config) <= BUFFER_MOST);
	config.buffer = 123;
	CHECK_EQ(lanes_wanted(&config), 123);
}

/* ---- a copy of a region ---------------------------------------------------------------- */

static char image[1 << 20] __attribute__((aligned(65536)));

static struct ctp_ext_lanes *image_new(void)
{
	struct ctp_header *header = (struct ctp_header *)image;
	struct ctp_ext_lanes *ext = ctp_header_lanes(header);

	memset(image, 0, 65536);
	ext->magic = CTP_LANES_MAGIC;
	ext->version = CTP_LANES_VERSION;
	ext->lanes = (struct ctp_pool){ .offset = 65536,
					.unit = sizeof(struct ctp_lane),
					.limit = 2 };
	ext->sites = (struct ctp_pool){ .offset = 131072,
					.unit = sizeof(struct ctp_site),
					.limit = 1 };
	ext->lives = (struct ctp_pool){ .offset = 196608,
					.unit = sizeof(struct ctp_life),
					.limit = 3 };
	ext->chunks = (struct ctp_pool){
		.offset = sizeof(image) - 2 * sizeof(struct ctp_chunk),
		.unit = sizeof(struct ctp_chunk),
		.limit = 2,
	};
	return ext;
}

static int image_open(const char *text)
{
	struct err err = { 0 };
	int rc = lanes_open(&l, (struct ctp_header *)image, image, sizeof(image), &err);

	CHECK_STR(err.text, text);
	return rc;
}

static void lanes_of_a_copy_are_checked(void)
{
	static const char wrong[] = "the region's lanes are not where they can be";
	struct ctp_ext_lanes *ext = image_new();

	CHECK_EQ(image_open(""), 0);
	CHECK(l.ext == ext);
	CHECK_EQ(l.fd, -1);
	CHECK(l.lanes.units == image + 65536);
	CHECK(l.chunks.units == image + ext->chunks.offset);
	CHECK_EQ(l.lives.limit, 3);
	CHECK_EQ(l.sites.unit, sizeof(struct ctp_site));
	ext->chunks.limit = 3; /* beyond the end */
	CHECK_EQ(image_open(wrong), -EINVAL);
	ext = image_new();
	ext->chunks.offset += 1;
	CHECK_EQ(image_open(wrong), -EINVAL);
	ext = image_new();
	ext->chunks.offset = sizeof(image) + 64;
	CHECK_EQ(image_open(wrong), -EINVAL);
	ext->chunks.offset = sizeof(image);
	ext->chunks.limit = 0;
	CHECK_EQ(image_open(""), 0);
	ext = image_new();
	ext->lives.unit++;
	CHECK_EQ(image_open(wrong), -EINVAL);
	ext = image_new();
	ext->sites.offset = 64; /* before the lanes */
	CHECK_EQ(image_open(wrong), -EINVAL);
	ext = image_new();
	ext->lanes.offset = 65536 + 64;
	CHECK_EQ(image_open(wrong), -EINVAL);
	ext->lanes.offset = sizeof(image);
	CHECK_EQ(image_open(wrong), -EINVAL);
	ext = image_new();
	ext->version++;
	CHECK(lanes_open(&l, (struct ctp_header *)image, image, sizeof(image),
			 &(struct err){ 0 }) == -EINVAL);
	ext->magic++;
	CHECK_EQ(image_open("the region has no lanes"), -ENOENT);
}

/* ---- the list of regions ------------------------------------------------------------------ */

#define OTHER_USER 65534 /* usually without other regions and files */

static void find_own_region(void)
{
	struct rlimit limit = { 0 };
	struct err err = { 0 };
	struct found found;
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	size_t i = 0;

	CHECK_EQ(find_regions(&found, &err), 0);
	while (i < found.nr && strcmp(found.at[i].path, r.shm) != 0)
		i++;
	CHECK(i < found.nr && found.at[i].live);
	found_release(&found);
	/* One more for the folder, none for the region. */
	CHECK(next >= 0 && close(next) == 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = (rlim_t)next + 1;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQ(find_regions(&found, &err), -EMFILE);
	CHECK(strstr(err.text, "cannot search for regions in '/"));
	CHECK_EQ(found.nr, 0);
}

/* A region that cannot be opened for lack of descriptors is not one that does not exist. */
static void a_search_without_descriptors_is_an_error(void)
{
	int status;
	pid_t pid;

	if (geteuid() != 0)
		return; /* the test cannot be another user */
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK_EQ(setresgid(OTHER_USER, OTHER_USER, OTHER_USER), 0);
		CHECK_EQ(setresuid(OTHER_USER, OTHER_USER, OTHER_USER), 0);
		region_new();
		find_own_region();
		region_close(&r);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

int main(void)
{
	RUN(lanes_have_their_sizes);
	RUN(memory_is_committed_ahead_of_its_use);
	RUN(missing_memory_is_noted_once);
	RUN(without_lanes_the_region_is_as_before);
	RUN(the_buffer_fits_the_file_system);
	RUN(lanes_of_a_copy_are_checked);
	RUN(a_search_without_descriptors_is_an_error);
	return 0;
}
