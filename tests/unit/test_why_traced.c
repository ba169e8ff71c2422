/* SPDX-License-Identifier: MIT */
/*
 * test_why_traced.c - which mapping of a process is its region, and what `why` takes from it.
 *
 * The process is this one, with mappings that the test makes up; the contents of the region are the
 * test's.
 */
#include "why_traced.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <corotracer/ctp.h>

#include "check.h"
#include "count_open.h"
#include "trace/event.h"

#define MOMENT UINT64_C(1000000)

static char scratch[64], region[128], other[128], short_file[128], link_path[128];

/* ---- the region ----------------------------------------------------------------------- */

static struct recover_coroutine coroutines[6];
static struct recover_thread threads[2];
static struct recover_event events[8];
static struct ctp_ext_lanes ext;
static struct ctp_life lives[8];
static struct {
	int rc; /* of recover_read() */
	bool has_lanes, is_live, joins;
	unsigned nr_read, nr_closed;
	char path[256];
	struct recover_options options;
	size_t nr_listed;
} world;

int __wrap_recover_read(struct recover *r, int fd, const char *path,
			const struct recover_options *options, struct err *err);
int __wrap_recover_read(struct recover *r, int fd, const char *path,
			const struct recover_options *options, struct err *err)
{
	uint64_t magic = 0;

	world.nr_read++;
	CHECK_EQ(pread(fd, &magic, sizeof(magic), 0), sizeof(magic));
	CHECK_EQ(magic, CTP_MAGIC);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	snprintf(world.path, sizeof(world.path), "%s", path);
	world.options = *options;
	if (world.rc)
		return err_set(err, world.rc, "cannot be read");
	*r = (struct recover){
		.coroutines = coroutines, .nr_coroutines = 6, .threads = threads, .nr_threads = 2
	};
	r->image.live = world.is_live;
	r->image.collector_pid = 4711;
	if (world.has_lanes) {
		r->image.lanes.ext = &ext;
		r->image.lanes.lives.units = (char *)lives;
		r->image.lanes.lives.unit = sizeof(lives[0]);
	}
	return 0;
}

void __wrap_recover_close(struct recover *r);
void __wrap_recover_close(struct recover *r)
{
	CHECK_EQ(r->nr_coroutines, 6);
	world.nr_closed++;
}

uint64_t __wrap_recover_moment(const struct recover *r);
uint64_t __wrap_recover_moment(const struct recover *r)
{
	(void)r;
	return MOMENT;
}

const struct trace_site *__wrap_recover_site(const struct recover *r, uint32_t id);
const struct trace_site *__wrap_recover_site(const struct recover *r, uint32_t id)
{
	static const struct trace_site sites[] = {
		{ .id = 1, .file = "made.c", .function = "make", .line = 11 },
		{ .id = 2, .file = "wait.c", .function = "wait", .line = 22 },
	};

	(void)r;
	return id && id <= 2 ? &sites[id - 1] : NULL;
}

int __wrap_traced_join(struct traced_list *list, struct inspection *in);
int __wrap_traced_join(struct traced_list *list, struct inspection *in)
{
	CHECK(in->image != NULL);
	world.nr_listed = list->nr;
	return world.joins ? 0 : -ENOMEM;
}

/* ---- the process -------------------------------------------------------------------- */

static struct image_range ranges[8];
static struct process_image image;
static struct inspection in;
static struct why_traced t;

static struct image_range *add_range(uint64_t start, uint64_t end, uint64_t offset, bool is_shared,
				     const char *path)
{
	CHECK(image.nr_ranges < 8);
	ranges[image.nr_ranges] = (struct image_range){
		.start = start, .end = end, .offset = offset, .is_shared = is_shared, .path = path
	};
	return &ranges[image.nr_ranges++];
}

static void world_new(void)
{
	memset(&world, 0, sizeof(world));
	world.joins = world.is_live = world.has_lanes = true;
	memset(coroutines, 0, sizeof(coroutines));
	memset(threads, 0, sizeof(threads));
	memset(lives, 0, sizeof(lives));
	memset(&ext, 0, sizeof(ext));
	image = (struct process_image){ .kind = IMAGE_RUNNING, .pid = getpid(), .ranges = ranges };
	in = (struct inspection){ .image = &image };
	for (size_t i = 0; i < 6; i++) {
		coroutines[i].co.state = TRACE_STATE_ENDED;
		coroutines[i].co.pid = (uint64_t)getpid();
	}
}

static struct recover_coroutine *coroutine(size_t i, uint64_t id, enum trace_state state)
{
	coroutines[i].co.probe_id = id;
	coroutines[i].co.state = (uint8_t)state;
	coroutines[i].co.station = TRACE_NO_STATION;
	return &coroutines[i];
}

/* Join, and check that nothing stays open. */
static void join(void)
{
	unsigned before = count_open();

	why_traced_join(&t, &in);
	CHECK_EQ(count_open(), before);
}

static void release(void)
{
	unsigned closed = t.is_open;

	why_traced_release(&t);
	CHECK_EQ(world.nr_closed, closed);
	why_traced_release(&t);
	CHECK_EQ(world.nr_closed, closed);
}

/* ---- tests ---------------------------------------------------------------------------- */

static void the_region_is_the_shared_file_with_its_number(void)
{
	world_new();
	add_range(0x1000, 0x2000, 0, false, region); /* a private mapping of it */
	add_range(0x2000, 0x3000, 0x1000, true, region);
	add_range(0x3000, 0x4000, 0, true, "");
	add_range(0x4000, 0x5000, 0, true, NULL);
	add_range(0x5000, 0x6000, 0, true, other);
	add_range(0x6000, 0x7000, 0, true, short_file);
	add_range(0x7000, 0x8000, 0, true, link_path);
	join();
	CHECK_EQ(world.nr_read, 0);
	CHECK(!in.traced);
	release();
	ranges[6].path = region;
	join();
	CHECK_EQ(world.nr_read, 1);
	CHECK_STR(world.path, region);
	CHECK_EQ(world.options.last, 64);
	CHECK_EQ(world.options.newest, 2);
	CHECK_STR(world.options.tool, "corotracer why");
	CHECK(in.traced == &t.list);
	CHECK_STR(t.list.region, region);
	CHECK_EQ(t.list.collector, 4711);
	CHECK_EQ(t.list.nr, 0);
	release();
}

static void a_region_that_cannot_be_read_is_no_region(void)
{
	world_new();
	world.rc = -EPROTO;
	add_range(0x1000, 0x2000, 0, true, region);
	add_range(0x2000, 0x3000, 0, true, region);
	join();
	CHECK_EQ(world.nr_read, 2);
	CHECK(!in.traced && !t.is_open);
	release();
	/* Only the first that can be read. */
	world_new();
	add_range(0x1000, 0x2000, 0, true, region);
	add_range(0x2000, 0x3000, 0, true, region);
	join();
	CHECK_EQ(world.nr_read, 1);
	release();
	world_new();
	world.joins = false;
	add_range(0x1000, 0x2000, 0, true, region);
	join();
	CHECK(t.is_open && !in.traced);
	release();
	/* Core files have no region. */
	world_new();
	add_range(0x1000, 0x2000, 0, true, region);
	image.kind = IMAGE_CORE;
	join();
	CHECK_EQ(world.nr_read, 0);
	release();
	world_new();
	world.is_live = false;
	add_range(0x1000, 0x2000, 0, true, region);
	join();
	CHECK_EQ(t.list.collector, 0); /* it has ended */
	release();
}

static void coroutines_of_the_process_that_have_not_ended_are_listed(void)
{
	struct sidecar_coroutine *co;
	const struct traced_coroutine *c;

	world_new();
	add_range(0x1000, 0x2000, 0, true, region);
	snprintf(coroutine(0, 10, TRACE_STATE_SUSPENDED)->name, sizeof(coroutines[0].name), "t");
	co = &coroutines[0].co;
	co->parent = 3;
	co->reason = TRACE_REASON_IO_READ;
	co->has_resource = true;
	co->resource = 55;
	co->birth_site = 1;
	co->site = 2;
	co->birth_ts = MOMENT - 900;
	co->since_ts = MOMENT - 40;
	co->written = 7;
	co->addr = 0xabc;
	coroutine(1, 11, TRACE_STATE_ENDED);
	coroutine(2, 12, TRACE_STATE_RUNNING);
	co = &coroutines[2].co;
	co->reason = TRACE_REASON_IO_READ; /* of its last suspension */
	co->has_resource = true;
	co->resource = 56;
	co->addr = 0xdef;
	co->birth_ts = MOMENT;
	co->since_ts = MOMENT + 1;
	co->written = 8;
	coroutine(3, 13, TRACE_STATE_SUSPENDED)->co.pid = 1; /* another process */
	coroutine(4, 14, TRACE_STATE_SUSPENDED);
	join();
	CHECK_EQ(t.list.nr, 3);
	CHECK_EQ(world.nr_listed, 3);
	c = &t.list.at[0];
	CHECK_EQ(c->id, 10);
	CHECK_EQ(c->parent, 3);
	CHECK_STR(c->name, "t");
	CHECK_STR(c->state, "suspended");
	CHECK_STR(c->reason, "io-read");
	CHECK(c->has_resource);
	CHECK_EQ(c->resource, 55);
	CHECK_STR(c->created.file, "made.c");
	CHECK_STR(c->created.function, "make");
	CHECK_EQ(c->created.line, 11);
	CHECK_STR(c->suspended.file, "wait.c");
	CHECK_EQ(c->suspended.line, 22);
	CHECK_EQ(c->age_ns, 900);
	CHECK_EQ(c->state_ns, 40);
	CHECK_EQ(c->suspensions, 4);
	CHECK_EQ(c->addr, 0xabc);
	c = &t.list.at[1];
	CHECK_EQ(c->id, 12);
	CHECK(!c->name);
	CHECK_STR(c->state, "running");
	CHECK(!c->reason && !c->has_resource && !c->addr);
	CHECK(!c->created.file && !c->suspended.file);
	CHECK_EQ(c->age_ns, 0);
	CHECK_EQ(c->state_ns, 0); /* times are not after the moment */
	CHECK_EQ(c->suspensions, 4);
	c = &t.list.at[2];
	CHECK_EQ(c->id, 14);
	CHECK(!c->reason);
	CHECK(!c->has_waker);
	release();
}

static void the_address_of_an_entry_is_the_one_in_the_process(void)
{
	const uint64_t first = 0x1800, size = sizeof(struct ctp_life);

	world_new();
	ext.lives.offset = first;
	lives[1].birth = CTP_BIRTH_ADOPTED;
	lives[3].birth = ~CTP_BIRTH_ADOPTED;
	/* The file has three mappings; the last does not reach the end. */
	add_range(0x10000, 0x11000, 0, true, region);
	add_range(0x20000, 0x20000 + 0x800 + 2 * size, 0x1000, true, region);
	add_range(0x30000, 0x31000, 0x1000, false, region);
	add_range(0x40000, 0x41000, 0x1000, true, other);
	coroutine(0, 1, TRACE_STATE_NEW)->unit = 0;
	coroutine(1, 2, TRACE_STATE_NEW)->unit = 1;
	coroutine(2, 3, TRACE_STATE_NEW)->unit = 2; /* it begins where the mapping ends */
	coroutine(3, 4, TRACE_STATE_NEW)->unit = 3;
	coroutine(4, 5, TRACE_STATE_NEW)->co.station = 0; /* not in a lane */
	join();
	CHECK_EQ(t.list.nr, 5);
	CHECK_EQ(t.list.at[0].entry, 0x20800);
	CHECK_EQ(t.list.at[1].entry, 0x20800 + size);
	CHECK_EQ(t.list.at[2].entry, 0);
	CHECK(!t.list.at[0].is_adopted && t.list.at[1].is_adopted);
	CHECK(!t.list.at[3].is_adopted);
	CHECK_EQ(t.list.at[4].entry, 0);
	release();
	world.has_lanes = false;
	join();
	CHECK_EQ(t.list.at[0].entry, 0);
	CHECK(!t.list.at[1].is_adopted);
	world.nr_closed = 0;
	release();
}

static void event(size_t i, enum trace_kind kind, uint64_t id, uint64_t ts, uint64_t peer)
{
	trace_event_init(&events[i].ev);
	events[i].ev.kind = (uint8_t)kind;
	events[i].ev.probe_id = id;
	events[i].ev.ts = ts;
	events[i].ev.peer = peer;
}

static void the_waker_is_the_one_of_the_newest_wake(void)
{
	world_new();
	add_range(0x1000, 0x2000, 0, true, region);
	coroutine(0, 10, TRACE_STATE_SUSPENDED);
	coroutine(1, 11, TRACE_STATE_SUSPENDED);
	coroutine(2, 12, TRACE_STATE_SUSPENDED);
	event(0, TRACE_WAKE, 10, 100, 1);
	event(1, TRACE_WAKE, 10, 300, 2); /* the newest */
	event(2, TRACE_RESUME, 11, 400, 9);
	event(3, TRACE_WAKE, 99, 500, 9); /* of no coroutine that is listed */
	event(4, TRACE_WAKE, 10, 200, 3); /* another thread */
	event(5, TRACE_WAKE, 12, 200, 0);
	threads[0].last = events;
	threads[0].nr_last = 4;
	threads[1].last = &events[4];
	threads[1].nr_last = 2;
	join();
	CHECK_EQ(t.list.nr, 3);
	CHECK(t.list.at[0].has_waker);
	CHECK_EQ(t.list.at[0].waker, 2);
	CHECK(!t.list.at[1].has_waker);
	CHECK(t.list.at[2].has_waker);
	CHECK_EQ(t.list.at[2].waker, 0);
	release();
}

static void make_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, data, size), size);
	close(fd);
}

int main(void)
{
	const uint64_t magic = CTP_MAGIC, wrong = CTP_MAGIC + 1;

	snprintf(scratch, sizeof(scratch), "/tmp/corotracer-test-XXXXXX");
	CHECK(mkdtemp(scratch) != NULL);
	snprintf(region, sizeof(region), "%s/region", scratch);
	snprintf(other, sizeof(other), "%s/other", scratch);
	snprintf(short_file, sizeof(short_file), "%s/short", scratch);
	snprintf(link_path, sizeof(link_path), "%s/link", scratch);
	make_file(region, &magic, sizeof(magic));
	make_file(other, &wrong, sizeof(wrong));
	make_file(short_file, &magic, sizeof(magic) - 1);
	CHECK_EQ(symlink(region, link_path), 0);
	RUN(the_region_is_the_shared_file_with_its_number);
	RUN(a_region_that_cannot_be_read_is_no_region);
	RUN(coroutines_of_the_process_that_have_not_ended_are_listed);
	RUN(the_address_of_an_entry_is_the_one_in_the_process);
	RUN(the_waker_is_the_one_of_the_newest_wake);
	CHECK(!unlink(region) && !unlink(other) && !unlink(short_file) && !unlink(link_path));
	CHECK_EQ(rmdir(scratch), 0);
	return 0;
}
