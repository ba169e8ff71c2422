/* SPDX-License-Identifier: MIT */
/*
 * test_descriptor_looks.c - which waits for a ready descriptor the collector writes down, and when
 * it looks again.
 *
 * The coroutines are in lanes of the test, the descriptors are a table, and so is the clock.
 */
#include <corotracer/lanes.h>

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>

#include "failing_memory.h"
#include "lane_bed.h"

#include "check.h"
#include "collect/descriptor_looks.h"
#include "process/descriptors.h"

#define MS    UINT64_C(1000000)
#define START (UINT64_C(5000) * 1000 * MS)

/* ---- the processes ---------------------------------------------------------------------- */

/* What descriptor fd of a process is, and how it is watched. */
struct fake_descriptor {
	enum descriptor_kind kind;
	bool is_asked, can_read, can_write, has_error, has_hung_up;
	uint64_t unread;
	bool is_watched, is_disarmed, is_edge;
	uint32_t events;
};

#define FDS 16
static struct fake_descriptor descriptors_of[FDS];
static int refuses; /* with this error; 0: it does not */
static bool is_quiet, has_loop;
static unsigned quiet_for;      /* questions; then it runs; 0: as long as is_quiet */
static void (*at_look)(int fd); /* while the descriptor is looked at */
static unsigned nr_opened, nr_closed, nr_looks;
static uint64_t look_cost_ns;
static uint64_t now_ns;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	ts->tv_sec = (time_t)(now_ns / (1000 * MS));
	ts->tv_nsec = (long)(now_ns % (1000 * MS));
	return 0;
}

int __wrap_descriptors_open(struct descriptors *d, pid_t pid, struct err *err);
int __wrap_descriptors_open(struct descriptors *d, pid_t pid, struct err *err)
{
	(void)err;
	if (pid >= 900)
		return -ESRCH;
	*d = (struct descriptors){ .pid = pid, .pidfd = 3 };
	nr_opened++;
	return 0;
}

void __wrap_descriptors_close(struct descriptors *d);
void __wrap_descriptors_close(struct descriptors *d)
{
	CHECK_EQ(d->pidfd, 3);
	nr_closed++;
}

int __wrap_descriptors_look(const struct descriptors *d, int fd, struct descriptor_state *out);
int __wrap_descriptors_look(const struct descriptors *d, int fd, struct descriptor_state *out)
{
	const struct fake_descriptor *f;

	CHECK(d->pid > 0);
	nr_looks++;
	now_ns += look_cost_ns;
	if (at_look)
		at_look(fd);
	if (refuses)
		return refuses;
	if (fd >= FDS)
		return -EBADF;
	f = &descriptors_of[fd];
	*out = (struct descriptor_state){ .fd = fd,
					  .kind = f->kind,
					  .is_asked = f->is_asked,
					  .can_read = f->can_read,
					  .can_write = f->can_write,
					  .has_error = f->has_error,
					  .has_hung_up = f->has_hung_up,
					  .unread = f->unread };
	return 0;
}

bool __wrap_descriptors_find_watch(const struct descriptors *d, const struct descriptor_state *s,
				   struct descriptor_watch *out);
bool __wrap_descriptors_find_watch(const struct descriptors *d, const struct descriptor_state *s,
				   struct descriptor_watch *out)
{
	const struct fake_descriptor *f = &descriptors_of[s->fd];

	(void)d;
	*out = (struct descriptor_watch){ .fd = s->fd,
					  .events = f->events,
					  .is_edge = f->is_edge,
					  .is_disarmed = f->is_disarmed };
	return f->is_watched;
}

bool __wrap_descriptors_are_quiet(const struct descriptors *d);
bool __wrap_descriptors_are_quiet(const struct descriptors *d)
{
	(void)d;
	if (quiet_for && --quiet_for == 0)
		is_quiet = false;
	return is_quiet;
}

bool __wrap_descriptors_has_loop(const struct descriptors *d);
bool __wrap_descriptors_has_loop(const struct descriptors *d)
{
	(void)d;
	return has_loop;
}

/* ---- what is written ---------------------------------------------------------------------- */

static char told[8192];

static unsigned ms_of(uint64_t ns)
{
	return (unsigned)((ns - START) / MS);
}

void __wrap_trace_put_descriptor(struct trace_writer *w, const struct trace_descriptor *d);
void __wrap_trace_put_descriptor(struct trace_writer *w, const struct trace_descriptor *d)
{
	size_t size = strlen(told);

	CHECK(!w);
	if (!d->kind && !d->ready && !d->watch && !d->probe_id)
		snprintf(told + size, sizeof(told) - size, "all of %u at %u-%u\n", (unsigned)d->pid,
			 ms_of(d->from_ts), ms_of(d->to_ts));
	else
		snprintf(told + size, sizeof(told) - size,
			 "%u of %u: %s %u is ready to %s, %u unread, watch %s, %u-%u\n",
			 (unsigned)d->probe_id, (unsigned)d->pid, d->kind, (unsigned)d->fd,
			 d->ready, (unsigned)d->unread, d->watch, ms_of(d->from_ts),
			 ms_of(d->to_ts));
}

/* ---- the collector's side ---------------------------------------------------------------- */

static struct record output; /* without a writer */
static struct lane_record lanes_record;
static struct peer peers[20];
static struct endpoint endpoint;
static struct descriptor_looks looks;

/* Coroutine @number waits for @fd since @since. */
static void wait_for(uint32_t number, uint32_t pid, unsigned reason, uint64_t fd, uint64_t since)
{
	bed_lives[number] = (struct ctp_life){
		.id = 100 + number,
		.state = CTP_LIFE_STATE(CTP_REC_SUSPEND | CTP_REC_HAS_MORE, reason, 0),
		.events = 10,
		.last_ticks = since,
		.resource = fd,
		.pid = pid,
		.ticks = CTP_TICKS_COUNTER + 1,
	};
}

static void begin(uint32_t nr_peers)
{
	uint32_t i;

	bed_make();
	bed_ext.lives.used = BED_LIVES;
	memset(descriptors_of, 0, sizeof(descriptors_of));
	memset(&endpoint, 0, sizeof(endpoint));
	memset(&lanes_record, 0, sizeof(lanes_record));
	memset(peers, 0, sizeof(peers));
	for (i = 0; i < nr_peers; i++)
		peers[i].pid = 7 + i;
	endpoint.peers = peers;
	endpoint.nr_peers = nr_peers;
	lanes_record.record = &output;
	lanes_record.lanes = &bed;
	lanes_record.clock = &bed_clock;
	is_quiet = has_loop = true;
	refuses = 0;
	quiet_for = nr_opened = nr_closed = nr_looks = 0;
	look_cost_ns = 0;
	at_look = NULL;
	now_ns = START;
	told[0] = '\0';
	looks_open(&looks, &lanes_record, &endpoint);
}

static void look_at(unsigned ms)
{
	now_ns = START + ms * MS;
	looks_take(&looks, now_ns);
	CHECK_EQ(nr_opened, nr_closed);
}

static void end(const char *expected)
{
	CHECK_STR(told, expected);
	looks_close(&looks);
	CHECK(!looks.list.at && !looks.ready);
}

static void readable_pipe(int fd)
{
	descriptors_of[fd] = (struct fake_descriptor){ .kind = DESCRIPTOR_PIPE,
						       .is_asked = true,
						       .can_read = true,
						       .unread = 5,
						       .is_watched = true,
						       .events = EPOLLIN };
}

static void a_ready_wait_is_told_after_the_second_look(void)
{
	begin(1);
	readable_pipe(4);
	wait_for(0, 7, TRACE_REASON_IO_READ, 4, START - 1000 * MS);
	look_at(0);
	CHECK_STR(told, "");
	CHECK(looks.is_due_again);
	CHECK_EQ(looks_wait(&looks, now_ns, 10000 * MS), 200 * MS);
	CHECK_EQ(looks_wait(&looks, now_ns, 50 * MS), 50 * MS);
	CHECK_EQ(looks_wait(&looks, now_ns + 200 * MS, 10000 * MS), MS);
	CHECK_EQ(looks_wait(&looks, now_ns + 199 * MS, 10000 * MS), MS);
	CHECK_EQ(looks_wait(&looks, now_ns + 190 * MS, 10000 * MS), 10 * MS);
	look_at(199); /* too early */
	look_at(200);
	CHECK(!looks.is_due_again);
	CHECK_EQ(looks_wait(&looks, now_ns, 10000 * MS), 10000 * MS);
	look_at(699); /* too early */
	look_at(700); /* the wait is twice as long */
	look_at(1200);
	look_at(1700);
	look_at(2200);
	look_at(2700);
	look_at(3200);
	end("100 of 7: pipe 4 is ready to read, 5 unread, watch level, 0-200\nall of 7 at 200-200\n"
	    "100 of 7: pipe 4 is ready to read, 5 unread, watch level, 0-700\nall of 7 at 700-700\n"
	    "100 of 7: pipe 4 is ready to read, 5 unread, watch level, 0-1700\nall of 7 at "
	    "1700-1700\n");
}

static void only_waits_for_descriptors_are_looked_at(void)
{
	begin(1);
	readable_pipe(4);
	wait_for(0, 7, TRACE_REASON_IO_READ, 4, START - 300 * MS); /* long enough */
	wait_for(1, 7, TRACE_REASON_IO_READ, 4, START - 300 * MS + 1);
	wait_for(2, 7, TRACE_REASON_MUTEX, 4, START - 1000 * MS);
	wait_for(3, 7, TRACE_REASON_IO_READ, UINT64_C(0x80000000), START - 1000 * MS);
	wait_for(4, 8, TRACE_REASON_IO_READ, 4, START - 1000 * MS);
	wait_for(5, 7, TRACE_REASON_IO_READ, 4, 0);
	wait_for(6, 7, TRACE_REASON_IO_READ, 4, START - 1000 * MS);
	bed_lives[6].state &= ~(uint32_t)CTP_REC_HAS_MORE;
	wait_for(7, 7, TRACE_REASON_IO_READ, 4, START - 1000 * MS);
	bed_lives[7].state = CTP_LIFE_STATE(CTP_REC_BIRTH | CTP_REC_HAS_MORE, TRACE_REASON_IO_READ,
					    0);
	looks_take(&looks, now_ns);
	CHECK_EQ(looks.list.nr, 1);
	CHECK_EQ(looks.nr_ready, 1);
	CHECK_EQ(looks.ready[0].id, 100);
	CHECK_EQ(looks.ready[0].pid, 7);
	CHECK_EQ(looks.ready[0].fd, 4);
	end("");
}

static void what_is_ready_depends_on_the_wait(void)
{
	static const struct fake_descriptor all[] = {
		{ .kind = DESCRIPTOR_SOCKET, .is_asked = true, .can_read = true },
		{ .kind = DESCRIPTOR_SOCKET,
		  .is_asked = true,
		  .can_write = true,
		  .is_watched = true,
		  .events = EPOLLOUT },
		{ .kind = DESCRIPTOR_EVENTFD,
		  .is_asked = true,
		  .can_read = true,
		  .is_watched = true,
		  .events = EPOLLOUT },
		{ .kind = DESCRIPTOR_TIMERFD,
		  .is_asked = true,
		  .has_error = true,
		  .is_watched = true,
		  .events = EPOLLIN,
		  .is_edge = true },
		{ .kind = DESCRIPTOR_SOCKET,
		  .is_asked = true,
		  .has_hung_up = true,
		  .is_watched = true,
		  .is_disarmed = true },
		{ .kind = DESCRIPTOR_PIPE, .is_asked = true },
		{ .kind = DESCRIPTOR_OTHER, .can_read = true, .can_write = true },
	};
	static const unsigned reasons[] = { TRACE_REASON_IO_READ, TRACE_REASON_IO_WRITE,
					    TRACE_REASON_ACCEPT, TRACE_REASON_CONNECT };
	char expected[4096] = "";
	uint32_t i, r;

	for (r = 0; r < 4; r++) {
		begin(1);
		for (i = 0; i < 7; i++) {
			descriptors_of[i] = all[i];
			wait_for(i, 7, reasons[r], i, START - 1000 * MS);
		}
		wait_for(7, 7, reasons[r], FDS, START - 1000 * MS); /* closed */
		look_at(0);
		look_at(200);
		strcat(strcat(expected, told), "--\n");
		looks_close(&looks);
	}
	CHECK_STR(expected,
		  "100 of 7: socket 0 is ready to read, 0 unread, watch none, 0-200\n"
		  "102 of 7: eventfd 2 is ready to read, 0 unread, watch other, 0-200\n"
		  "103 of 7: timerfd 3 is ready to error, 0 unread, watch edge, 0-200\n"
		  "104 of 7: socket 4 is ready to error, 0 unread, watch disarmed, 0-200\n"
		  "all of 7 at 200-200\n--\n"
		  "101 of 7: socket 1 is ready to write, 0 unread, watch level, 0-200\n"
		  "103 of 7: timerfd 3 is ready to error, 0 unread, watch other, 0-200\n"
		  "104 of 7: socket 4 is ready to error, 0 unread, watch disarmed, 0-200\n"
		  "all of 7 at 200-200\n--\n"
		  "100 of 7: socket 0 is ready to read, 0 unread, watch none, 0-200\n"
		  "102 of 7: eventfd 2 is ready to read, 0 unread, watch other, 0-200\n"
		  "103 of 7: timerfd 3 is ready to error, 0 unread, watch edge, 0-200\n"
		  "104 of 7: socket 4 is ready to error, 0 unread, watch disarmed, 0-200\n"
		  "all of 7 at 200-200\n--\n"
		  "101 of 7: socket 1 is ready to write, 0 unread, watch level, 0-200\n"
		  "103 of 7: timerfd 3 is ready to error, 0 unread, watch other, 0-200\n"
		  "104 of 7: socket 4 is ready to error, 0 unread, watch disarmed, 0-200\n"
		  "all of 7 at 200-200\n--\n");
}

static void another_wait_is_not_confirmed(void)
{
	begin(1);
	readable_pipe(4);
	readable_pipe(5);
	wait_for(0, 7, TRACE_REASON_IO_READ, 4, START - 1000 * MS);
	wait_for(1, 7, TRACE_REASON_IO_READ, 5, START - 1000 * MS);
	look_at(0);
	bed_lives[0].events = 12;           /* it ran */
	descriptors_of[5].can_read = false; /* it was read */
	look_at(200);
	CHECK_EQ(looks.nr_ready, 1);
	CHECK_EQ(ms_of(looks.ready[0].from_ns), 200);
	look_at(400);
	end("100 of 7: pipe 4 is ready to read, 5 unread, watch level, 200-400\nall of 7 at "
	    "400-400\n");
}

static void drain_it(int fd)
{
	if (nr_looks == 3)
		descriptors_of[fd].can_read = false;
}

static void run_meanwhile(int fd)
{
	(void)fd;
	bed_lives[0].events++;
}

static void a_program_that_runs_is_not_judged(void)
{
	static void (*const changes[])(
		int fd) = { NULL, NULL, NULL, NULL, drain_it, run_meanwhile };
	uint32_t i;

	for (i = 0; i < 7; i++) {
		begin(1);
		readable_pipe(4);
		wait_for(0, 7, TRACE_REASON_IO_READ, 4, START - 1000 * MS);
		has_loop = i != 0;
		is_quiet = i != 1;
		if (i == 2) { /* a coroutine runs */
			wait_for(1, 7, TRACE_REASON_IO_READ, 4, START - 1000 * MS);
			bed_lives[1].state = CTP_LIFE_STATE(CTP_REC_RESUME, 0, 0);
		}
		at_look = i < 6 ? changes[i] : NULL;
		look_at(0);
		if (i == 3)
			quiet_for = 2; /* it begins to run during the second look */
		look_at(600);
		if (i == 6)
			CHECK(told[0]);
		else
			CHECK_STR(told, "");
		CHECK_EQ(nr_opened, i == 2 ? 0 : 2);
		looks_close(&looks);
	}
}

static void a_user_who_may_not_look_is_not_asked_again(void)
{
	static const int codes[] = { -EPERM, -ENOSYS, -ESRCH };
	uint32_t i;

	for (i = 0; i < 3; i++) {
		begin(1);
		readable_pipe(4);
		wait_for(0, 7, TRACE_REASON_IO_READ, 4, START - 1000 * MS);
		wait_for(1, 7, TRACE_REASON_IO_READ, 4, START - 1000 * MS);
		refuses = codes[i];
		look_at(0);
		CHECK_EQ(looks.is_denied, i < 2);
		CHECK_EQ(nr_looks, i < 2 ? 1 : 2);
		looks.is_due_again = true;
		CHECK_EQ(looks_wait(&looks, now_ns, 10000 * MS), i < 2 ? 10000 * MS : 500 * MS);
		refuses = 0;
		look_at(500);
		CHECK_EQ(looks.nr_ready, i < 2 ? 0 : 2);
		looks_close(&looks);
	}
}

/* Eight at a time, in turn; what is known of the others stays. */
static void many_processes_are_looked_at_in_turn(void)
{
	static const uint32_t pids[] = { 7, 8, 15, 16 };
	uint32_t i;

	begin(10); /* 7 to 16 */
	readable_pipe(4);
	for (i = 0; i < 4; i++)
		wait_for(i, pids[i], TRACE_REASON_IO_READ, 4, START - 1000 * MS);
	peers[1].hung_up_ns = 1;
	look_at(0); /* at 7 and 9 to 15 */
	CHECK_EQ(looks.turn, 9);
	CHECK_EQ(looks.nr_ready, 2);
	look_at(200); /* at 16, 7 and 9 to 14 */
	CHECK_EQ(looks.turn, 8);
	CHECK_EQ(looks.nr_ready, 3);
	look_at(500); /* at 15, 16, 7 and 9 to 13 */
	CHECK_EQ(looks.turn, 7);
	end("100 of 7: pipe 4 is ready to read, 5 unread, watch level, 0-200\nall of 7 at 200-200\n"
	    "102 of 15: pipe 4 is ready to read, 5 unread, watch level, 0-500\nall of 15 at "
	    "500-500\n"
	    "103 of 16: pipe 4 is ready to read, 5 unread, watch level, 200-500\nall of 16 at "
	    "500-500\n"
	    "100 of 7: pipe 4 is ready to read, 5 unread, watch level, 0-500\nall of 7 at "
	    "500-500\n");
}

static void processes_that_have_ended_are_passed_over(void)
{
	begin(2);
	peers[0].pid = 901;
	readable_pipe(4);
	wait_for(0, 901, TRACE_REASON_IO_READ, 4, START - 1000 * MS);
	wait_for(1, 8, TRACE_REASON_IO_READ, 4, START - 1000 * MS);
	look_at(0);
	look_at(200);
	end("101 of 8: pipe 4 is ready to read, 5 unread, watch level, 0-200\nall of 8 at "
	    "200-200\n");
}

static void looks_take_a_hundredth_of_the_time(void)
{
	begin(1);
	readable_pipe(4);
	wait_for(0, 7, TRACE_REASON_IO_READ, 4, START - 1000 * MS);
	look_cost_ns = 10 * MS;
	look_at(0);
	CHECK_EQ(looks.next_ns, START + 1000 * MS);
	CHECK_EQ(looks.least_ns, START + 1000 * MS);
	look_at(999);
	CHECK_EQ(nr_looks, 1);
	look_cost_ns = 0;
	look_at(1000); /* it is told */
	CHECK_EQ(nr_looks, 3);
	CHECK_EQ(looks.next_ns, START + 1500 * MS);
	looks_before_sleep(&looks); /* at once */
	CHECK_EQ(looks.next_ns, looks.least_ns);
	look_at(1001);
	CHECK_EQ(nr_looks, 4);
	looks.is_due_again = true;
	looks_before_sleep(&looks);
	CHECK_EQ(looks.next_ns, START + 1501 * MS);
	bed.ext = NULL; /* no lanes yet */
	look_at(5000);
	CHECK_EQ(nr_looks, 4);
	looks_close(&looks);
}

/* With more waits than are looked at, none is said to be idle. */
static void too_many_waits_are_not_judged_as_a_whole(void)
{
	static struct ctp_life lives[LOOKS_WAITS + 1];
	uint32_t nr, i;

	for (nr = LOOKS_WAITS; nr <= LOOKS_WAITS + 1; nr++) {
		begin(1);
		bed_pool(&bed.lives, &bed_ext.lives, lives, sizeof(struct ctp_life), nr);
		bed_ext.lives.used = nr;
		wait_for(0, 7, TRACE_REASON_IO_READ, 5, START - 1000 * MS);
		for (i = 0; i < nr; i++) {
			lives[i] = bed_lives[0];
			lives[i].id = 100 + i;
		}
		lives[LOOKS_WAITS - 1].resource = 4;
		readable_pipe(4);
		look_at(0);
		CHECK_EQ(looks.list.nr, LOOKS_WAITS);
		look_at(200);
		end(nr > LOOKS_WAITS
			    ? "4195 of 7: pipe 4 is ready to read, 5 unread, watch level, 0-200\n"
			    : "4195 of 7: pipe 4 is ready to read, 5 unread, watch level, "
			      "0-200\nall of 7 at 200-200\n");
	}
}

/* A look that has no memory is left out, and the next one is made. */
static void without_memory_there_is_no_look(void)
{
	unsigned number;

	for (number = 0; number < 2; number++) {
		begin(1);
		wait_for(0, 7, TRACE_REASON_IO_READ, 5, START - 1000 * MS);
		readable_pipe(5);
		memory_begin(number);
		look_at(100);
		CHECK(memory_end());
		CHECK_EQ(nr_opened, 0);
		look_at(200);
		CHECK_EQ(nr_opened, 1);
		looks_close(&looks);
	}
}

int main(void)
{
	RUN(a_ready_wait_is_told_after_the_second_look);
	RUN(only_waits_for_descriptors_are_looked_at);
	RUN(what_is_ready_depends_on_the_wait);
	RUN(another_wait_is_not_confirmed);
	RUN(a_program_that_runs_is_not_judged);
	RUN(a_user_who_may_not_look_is_not_asked_again);
	RUN(many_processes_are_looked_at_in_turn);
	RUN(processes_that_have_ended_are_passed_over);
	RUN(too_many_waits_are_not_judged_as_a_whole);
	RUN(looks_take_a_hundredth_of_the_time);
	RUN(without_memory_there_is_no_look);
	return 0;
}
