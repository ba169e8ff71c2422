/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_request_slow.c - attach on request, detach and adopt, and coroutines that are created
 * while another thread still attaches.  The collector is the test.
 */
#include "sdk_kernel.h"

#include <corotracer/later.h>
#include <corotracer/request_slow.h>

#include "lanes_region.h"

static struct lanes_region region;
static struct ctp_record records[4096];
static struct ctp_request *const r = &corotracer__request;

static uint64_t read_lane(void)
{
	return lane_records(&region, 0, records, sizeof(records) / sizeof(records[0]));
}

static struct ctp_session *session(void)
{
	return corotracer__process.session;
}

/* The environment names no region: a program attaches only on request. */
static void unset_environment(void)
{
	unsetenv(CTP_ENV_SHM);
	unsetenv(CTP_ENV_SOCK);
	unsetenv(CTP_ENV_STATIONS);
}

static void region_make(void)
{
	lanes_region_open(&region, (struct shape)SHAPE);
	unset_environment();
}

/* As the tool writes it. */
static void order_give(uint64_t number, const char *shm)
{
	struct ctp_order *o = &r->order;

	memset(o, 0, sizeof(*o));
	o->number = number;
	o->stations = 4;
	snprintf(o->shm, sizeof(o->shm), "%s", shm);
	CHECK(strlen(region.region.sock) < sizeof(o->sock));
	memcpy(o->sock, region.region.sock, strlen(region.region.sock));
	o->check = ctp_order_sum(o);
	r->gate = 1;
}

/* ---- orders ------------------------------------------------------------------------------- */

static void expect_incomplete(void)
{
	struct corotracer_coro co;

	r->gate = 1;
	r->result = 77;
	CHECK_EQ(corotracer_begin(&co, NULL), -ENOENT);
	CHECK_EQ(r->gate, 1); /* look again at the next event */
	CHECK_EQ(r->handled, 0);
	CHECK_EQ(r->result, 77);
	CHECK_EQ(r->taker, 0);
	CHECK_EQ(r->state, CTP_REQUEST_IDLE);
}

static void an_order_that_is_being_written_is_left(void)
{
	region_make();
	CHECK_EQ(corotracer_init(), -ENOENT);
	expect_incomplete(); /* there is none */
	order_give(3, region.region.shm);
	r->order.check++;
	expect_incomplete();
	r->order.check--;
	r->order.number = 0;
	r->order.check = ctp_order_sum(&r->order);
	expect_incomplete();
	order_give(3, region.region.shm);
	r->order.shm[CTP_REQUEST_SHM_SIZE - 1] = 'x';
	r->order.check = ctp_order_sum(&r->order);
	expect_incomplete();
	order_give(3, region.region.shm);
	r->order.sock[CTP_REQUEST_SOCK_SIZE - 1] = 'x';
	r->order.check = ctp_order_sum(&r->order);
	expect_incomplete();
}

static void an_order_attaches_at_the_next_event(void)
{
	struct ctp_session *before;
	struct corotracer_coro co;

	region_make();
	CHECK_EQ(corotracer_init(), -ENOENT);
	CHECK_EQ(r->gate, 0);
	before = session();
	order_give(3, region.region.shm);
	r->sites = 65534;
	errno = 12345;
	CHECK_EQ(corotracer_begin(&co, "first"), 0);
	CHECK_EQ(errno, 12345);
	CHECK_EQ(r->handled, 3);
	CHECK_EQ(r->result, 0);
	CHECK_EQ(r->taker, 0);
	CHECK_EQ(r->state, CTP_REQUEST_ATTACHED);
	CHECK_EQ(r->why, CTP_WHY_ATTACHED);
	CHECK_EQ(r->by_order, 1);
	CHECK_EQ(r->pid, getpid());
	CHECK_EQ(r->gate, 1);
	CHECK_EQ(r->sites, 65535);
	CHECK(session() != before);
	CHECK(r->region == (uintptr_t)session()->header);
	CHECK_EQ(((struct ctp_header *)(uintptr_t)r->region)->magic_number, CTP_MAGIC); // NOLINT
	CHECK_EQ(r->first, session()->generation);
	CHECK_EQ(session()->by_order, 1);
	CHECK_EQ(session()->owner, getpid());
	CHECK_EQ(session()->state, CTP_ATTACH_DONE);
	CHECK_EQ(session()->site_tag, 65535);
	CHECK_EQ(session()->nr_stations, 4);
	CHECK(region_accept(&region.region) >= 0);
	CHECK_EQ(corotracer_enabled(), 1);
	CHECK_EQ(read_lane(), 2);
	CHECK_EQ(records[0].kind, CTP_REC_BIRTH);
	/* It stays attached: the next order is for another time. */
	before = session();
	order_give(4, "/nowhere");
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK(session() == before);
	CHECK(ctp_order_serve() == before);
	CHECK_EQ(r->handled, 3);
	CHECK_EQ(r->taker, 0);
}

static void expect_refused(uint64_t number, int why)
{
	const struct ctp_session *before = session();
	struct corotracer_coro co;

	CHECK_EQ(corotracer_begin(&co, NULL), -ENOENT);
	CHECK_EQ(r->handled, number);
	CHECK_EQ(r->result, why);
	CHECK_EQ(r->gate, 0);
	CHECK_EQ(r->taker, 0);
	CHECK_EQ(r->state, CTP_REQUEST_IDLE);
	CHECK(session() == before);
	CHECK_EQ(co.probe.last_ns, getpid()); /* for a later attach */
}

static void an_order_that_fails_says_why(void)
{
	struct corotracer_coro early;
	char path[300];

	region_make();
	CHECK_EQ(corotracer_begin(&early, NULL), -ENOENT);
	order_give(9, "/nowhere/at/all");
	errno = 12345;
	corotracer_suspend(&early, NULL); /* an event takes it, and keeps errno */
	CHECK_EQ(errno, 12345);
	CHECK_EQ(r->handled, 9);
	order_give(1, "/nowhere/at/all");
	kernel_reset();
	expect_refused(1, ENOENT);
	CHECK_EQ(kernel.nr[CALL_MUNMAP], 1);
	CHECK_EQ(kernel.size, sizeof(struct ctp_session));
	snprintf(path, sizeof(path), "%s/short", scratch_dir);
	close(open(path, O_RDWR | O_CREAT, 0600));
	order_give(2, path);
	expect_refused(2, EPROTO);
	order_give(3, region.region.shm);
	kernel_fail(CALL_MMAP, EPERM, 1); /* the page of the session */
	expect_refused(3, ENOMEM);
	kernel_reset();
	/* An order is taken once. */
	r->gate = 1;
	expect_refused(3, ENOMEM);
	order_give(4, region.region.shm);
	CHECK_EQ(corotracer_init(), 0);
	CHECK_EQ(r->result, 0);
}

static void one_thread_takes_an_order(void)
{
	region_make();
	CHECK(!ctp_order_serve()); /* before the first attach */
	CHECK_EQ(corotracer_init(), -ENOENT);
	order_give(1, region.region.shm);
	r->taker = (uint32_t)getpid(); /* another thread is at it */
	CHECK(!ctp_order_serve());
	CHECK_EQ(r->taker, getpid());
	CHECK_EQ(r->handled, 0);
	r->taker = (uint32_t)getppid(); /* inherited: that thread is not here */
	CHECK(ctp_order_serve() == session());
	CHECK_EQ(r->taker, 0);
	CHECK_EQ(r->handled, 1);
}

static void the_tags_of_sites_begin_again_at_one(void)
{
	region_make();
	CHECK_EQ(corotracer_init(), -ENOENT);
	r->sites = 65535;
	order_give(1, region.region.shm);
	CHECK_EQ(corotracer_init(), 0);
	CHECK_EQ(r->sites, 1);
}

static void an_order_that_comes_meanwhile_opens_the_gate(void)
{
	r->gate = 1;
	r->handled = r->order.number = 5;
	ctp_gate_close(r);
	CHECK_EQ(r->gate, 0);
	r->order.number = 6;
	ctp_gate_close(r);
	CHECK_EQ(r->gate, 1);
	ctp_gate_close(NULL);
	ctp_gate_open(NULL);
	r->gate = 0;
	ctp_gate_open(r);
	CHECK_EQ(r->gate, 1);
}

static void a_child_takes_the_order_of_its_parent(void)
{
	struct ctp_order copy;
	struct corotracer_coro co;
	pid_t pid;

	region_make();
	CHECK_EQ(corotracer_init(), -ENOENT);
	CHECK(!ctp_order_inherited(NULL, &copy));
	order_give(7, region.region.shm);
	CHECK_EQ(corotracer_init(), 0);
	CHECK(!ctp_order_inherited(r, &copy)); /* its own */
	r->pid++;
	CHECK(ctp_order_inherited(r, &copy) == &copy);
	CHECK_STR(copy.shm, region.region.shm);
	r->handled++; /* a later one */
	CHECK(!ctp_order_inherited(r, &copy));
	r->handled--;
	r->by_order = 0;
	CHECK(!ctp_order_inherited(r, &copy));
	r->by_order = 1;
	r->state = CTP_REQUEST_IDLE;
	CHECK(!ctp_order_inherited(r, &copy));
	r->state = CTP_REQUEST_ATTACHED;
	r->order.check++;
	CHECK(!ctp_order_inherited(r, &copy));
	r->order.check--;
	r->pid--;
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	pid = fork();
	if (pid == 0) {
		struct corotracer_coro own;
		uint64_t nr = read_lane();

		corotracer_suspend(&co, NULL); /* of the parent */
		CHECK_EQ(corotracer_begin(&own, NULL), 0);
		CHECK_EQ(session()->by_order, 1);
		CHECK_EQ(r->pid, getpid());
		corotracer_suspend(&co, NULL);
		CHECK_EQ(corotracer_id(&co), 0);
		CHECK_EQ(read_lane(), nr);
		CHECK_EQ(corotracer_id(&own), 2);
		exit(0);
	}
	child_reap(pid);
}

/* ---- detach --------------------------------------------------------------------------------- */

static void attach_by_order(uint64_t number)
{
	order_give(number, region.region.shm);
	CHECK_EQ(corotracer_init(), 0);
}

static void ask_to_detach(uint32_t how)
{
	struct ctp_ext_header *ext = ctp_header_ext(region.region.header);

	ext->detach = how;
	ext->sleeping = 1;
}

static void a_session_ends_when_it_is_asked_to(void)
{
	struct ctp_session *s;
	struct corotracer_coro co;
	int conn, sock;
	uint64_t nr;
	char byte;

	region_make();
	CHECK_EQ(corotracer_init(), -ENOENT);
	attach_by_order(1);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	s = session();
	sock = s->sock;
	conn = region_accept(&region.region);
	nr = read_lane();
	CHECK_EQ(ctp_session_left(s), 0); /* nothing was asked */
	ask_to_detach(CTP_DETACH_ASKED);
	s->features = 0; /* it could not be known */
	CHECK_EQ(ctp_session_left(s), 0);
	s->features = ctp_ext_features(region.region.header);
	s->request = NULL;
	CHECK_EQ(ctp_session_left(s), 0);
	s->request = r;
	CHECK_EQ(s->state, CTP_ATTACH_DONE);
	corotracer_suspend(&co, NULL);
	CHECK_EQ(read_lane(), nr + 1); /* it was under way */
	CHECK_EQ(s->generation, 0);
	CHECK_EQ(s->state, CTP_ATTACH_LEFT);
	CHECK(s->sleeping == &s->never_sleeping);
	CHECK_EQ(r->region, 0);
	CHECK_EQ(r->state, CTP_REQUEST_IDLE);
	CHECK_EQ(r->gate, 0);
	CHECK_EQ(recv(conn, &byte, 1, MSG_DONTWAIT), 0); /* the collector sees it ... */
	CHECK(fcntl(sock, F_GETFD) >= 0);                /* ... and the number is not free */
	CHECK_EQ(corotracer_enabled(), 0);
	corotracer_resume(&co);
	CHECK_EQ(read_lane(), nr + 1);
	CHECK_EQ(region.region.header->magic_number, CTP_MAGIC);
	CHECK_EQ(s->header->magic_number, CTP_MAGIC); /* the mapping stays */
	CHECK_EQ(ctp_session_left(s), 1);
	CHECK_EQ(corotracer_begin(&co, NULL), -ENOENT);
}

static void a_collector_that_has_ended_gets_its_memory_back(void)
{
	struct corotracer_coro co;
	struct ctp_session *s;

	region_make();
	CHECK_EQ(corotracer_init(), -ENOENT);
	attach_by_order(1);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	s = session();
	ask_to_detach(CTP_DETACH_GONE);
	corotracer_suspend(&co, NULL);
	CHECK_EQ(s->generation, 0);
	CHECK(!corotracer__process.map);
	CHECK_EQ(s->header->magic_number, 0);
	CHECK_EQ(corotracer__process.sock, -1);
	corotracer_resume(&co);
	corotracer_end(&co);
	CHECK(all_zero(&co, sizeof(co)));
}

/* The program reuses the number of the socket. */
static void another_socket_is_not_shut_down(void)
{
	struct corotracer_coro co;
	int pair[2], conn;

	region_make();
	CHECK_EQ(corotracer_init(), -ENOENT);
	attach_by_order(1);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	conn = region_accept(&region.region);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	CHECK_EQ(dup2(pair[0], session()->sock), session()->sock);
	ask_to_detach(CTP_DETACH_ASKED);
	corotracer_suspend(&co, NULL);
	CHECK_EQ(session()->generation, 0);
	CHECK_EQ(write(pair[1], "x", 1), 1);
	CHECK(conn >= 0);
}

/* ---- adopt ----------------------------------------------------------------------------------- */

static void earlier_coroutines_are_adopted(void)
{
	struct corotracer_coro early, never, foreign, second;

	region_make();
	CHECK_EQ(corotracer_begin(&early, "early"), -ENOENT);
	CHECK_EQ(corotracer_begin(&second, "second"), -ENOENT);
	CHECK_EQ(early.probe.last_ns, getpid());
	memset(&never, 0, sizeof(never));
	memset(&foreign, 0, sizeof(foreign));
	foreign.probe.last_ns = (uint64_t)getppid(); /* of a process that forked this one */
	order_give(1, region.region.shm);
	errno = 12345;
	corotracer_resume(&early);
	CHECK_EQ(errno, 12345);
	CHECK_EQ(corotracer_enabled(), 1);
	corotracer_suspend(&never, NULL);
	corotracer_suspend(&foreign, NULL);
	CHECK(all_zero(&never, sizeof(never)) && all_zero(&foreign, sizeof(foreign)));
	corotracer_switch(&early, NULL, &second);
	CHECK_EQ(read_lane(), 5);
	CHECK_EQ(records[0].kind, CTP_REC_BIRTH);
	CHECK_EQ(records[0].reason, CTP_BIRTH_ADOPTED);
	CHECK_EQ(records[0].id, 1);
	CHECK_EQ(records[0].seq, 0); /* without a name */
	CHECK_EQ(records[1].kind, CTP_REC_RESUME);
	CHECK_EQ(records[1].id, 1);
	CHECK_EQ(records[2].kind, CTP_REC_SUSPEND);
	CHECK_EQ(records[3].kind, CTP_REC_BIRTH);
	CHECK_EQ(records[3].id, 2);
	CHECK_EQ(records[4].kind, CTP_REC_RESUME);
	CHECK_EQ(records[4].id, 2);
	corotracer_end(&early);
	CHECK_EQ(read_lane(), 6);
	CHECK_EQ(records[5].kind, CTP_REC_END);
}

static void coroutines_of_the_last_session_are_adopted_by_the_next(void)
{
	struct corotracer_coro co;
	struct lanes_region first;
	char *old;

	region_make();
	CHECK_EQ(corotracer_init(), -ENOENT);
	attach_by_order(1);
	CHECK_EQ(corotracer_begin(&co, "one"), 0);
	CHECK_EQ(corotracer_begin(&co, "one"), 0);
	CHECK_EQ(corotracer_id(&co), 2);
	ask_to_detach(CTP_DETACH_ASKED);
	corotracer_suspend(&co, NULL);
	old = (char *)session()->header;
	first = region;
	region_make();
	attach_by_order(2);
	CHECK_EQ(((struct ctp_header *)old)->magic_number, 0); /* zeros for the old coroutines */
	corotracer_resume(&co);
	CHECK_EQ(read_lane(), 2);
	CHECK_EQ(records[0].kind, CTP_REC_BIRTH);
	CHECK_EQ(records[0].reason, CTP_BIRTH_ADOPTED);
	CHECK_EQ(records[1].kind, CTP_REC_RESUME);
	CHECK_EQ(corotracer_id(&co), 1);
	CHECK_EQ(first.ext->last_id, 2);
	CHECK_EQ(r->first, session()->generation);
	CHECK_EQ(r->sites, 3);
}

static void without_lanes_nothing_is_adopted(void)
{
	struct corotracer_coro early, late;
	struct region plain;

	region_open(&plain, 4, REGION_EXT);
	unset_environment();
	CHECK_EQ(corotracer_begin(&early, NULL), -ENOENT);
	order_give(1, plain.shm);
	corotracer_suspend(&early, NULL);
	CHECK_EQ(corotracer_enabled(), 1);
	CHECK_EQ(plain.header->allocated_count, 0);
	CHECK(all_zero(&early, sizeof(early)));
	CHECK_EQ(corotracer_begin(&late, NULL), 0);
	CHECK_EQ(plain.header->allocated_count, 1);
	corotracer_switch(&late, NULL, &early);
	CHECK_EQ(station_writes(&plain.stations[0]), 1);
	CHECK_EQ(plain.header->allocated_count, 1);
}

static void the_session_that_ends_leaves_new_coroutines_to_the_next(void)
{
	struct ctp_probe p;

	region_make();
	CHECK_EQ(corotracer_init(), -ENOENT);
	attach_by_order(1);
	memset(&p, 0, sizeof(p));
	CHECK_EQ(ctp_probe_missed(&p, session()), 0);
	CHECK_EQ(p.last_ns, 0); /* it has no room: nothing to adopt */
	session()->generation = 0;
	CHECK_EQ(ctp_probe_missed(&p, session()), 0);
	CHECK_EQ(p.last_ns, getpid());
	memset(&p, 0, sizeof(p));
	CHECK_EQ(ctp_probe_begin(&p, &corotracer__thread, session(), 0, NULL, 0, 0), 0);
	CHECK_EQ(p.last_ns, getpid());
	CHECK_EQ(ctp_probe_begin(&p, &corotracer__thread, NULL, 0, NULL, 0, 0), 0);
	CHECK(all_zero(&p, sizeof(p)));
}

/* ---- while another thread attaches
 * --------------------------------------------------------------- */

static const struct ctp_hooks no_hooks = { wipe_in_child, corotracer_leave_thread, NULL };

/* The state of a process in which a thread has been attaching for a long time. */
static struct ctp_session *attach_is_slow(void)
{
	struct ctp_session *s = ctp_session_get(&corotracer__process, &no_hooks);

	s->owner = (uint64_t)getpid();
	s->busy_ns = 1;
	s->state = CTP_ATTACH_BUSY;
	s->sleeping = &s->never_sleeping;
	ctp_gate_open(r);
	return s;
}

/* That thread goes on. */
static void attach_goes_on(struct ctp_session *s)
{
	CHECK_EQ(ctp_session_fill(&corotracer__process, s, region.region.shm, region.region.sock,
				  4),
		 1);
	ctp_session_publish(&corotracer__process, s);
	ctp_session_connect(&corotracer__process, s);
}

static void events_before_the_attach_are_counted(void)
{
	struct corotracer_coro co, other;
	struct ctp_session *s;

	region_make();
	s = attach_is_slow();
	CHECK_EQ(corotracer_begin(&co, "slow"), -EAGAIN);
	CHECK(ctp_is_later(&co.probe));
	CHECK_EQ(co.probe.last_ns, getpid());
	CHECK_EQ(s->later, 1);
	CHECK_EQ(corotracer_begin(&other, NULL), -EAGAIN);
	CHECK_EQ(s->later, 2);
	corotracer_resume(&co);
	corotracer_suspend(&co, NULL);
	CHECK_EQ(co.probe.nr_events, 2);
	CHECK_EQ(s->untraced, 2);
	CHECK_EQ(s->untraced_marks, 0);
	CHECK_EQ(corotracer_id(&co), 0);
	corotracer_wake_at(&co, NULL, NULL, 0);
	CHECK_EQ(s->untraced_marks, 1);
	corotracer_acquired_at(&co, 5, NULL);
	CHECK_EQ(s->untraced_marks, 2);
	corotracer_finish(&co, 0);
	CHECK_EQ(s->untraced_marks, 3);
	corotracer_end(&other);
	CHECK_EQ(s->untraced_marks, 4);
	CHECK(all_zero(&other, sizeof(other)));
	corotracer_switch(&co, NULL, &other);
	CHECK_EQ(s->untraced, 3);
	attach_goes_on(s);
	CHECK_EQ(s->untraced + s->untraced_marks + s->later, 0);
	CHECK_EQ(region.ext->homeless, 3);
	CHECK_EQ(region.ext->homeless_marks, 4);
	CHECK_EQ(region.ext->untraced, 3);
	CHECK_EQ(region.ext->later, 2);
	/* The next event creates it in the trace. */
	corotracer_suspend(&co, &region);
	CHECK_EQ(region.ext->later, 1);
	CHECK(!ctp_is_later(&co.probe) && co.probe.life);
	CHECK_EQ(co.probe.life->events, 4);
	CHECK_EQ(co.probe.life->dropped, 3);
	CHECK_EQ(read_lane(), 2);
	CHECK_EQ(records[0].kind, CTP_REC_BIRTH);
	CHECK_EQ(records[0].reason, 0);
	CHECK_EQ(records[1].kind, CTP_REC_SUSPEND);
	CHECK_EQ(records[1].seq, 3);
	CHECK_EQ(records[1].value, (uintptr_t)&region);
	CHECK_EQ(region.ext->homeless, 3);
}

static void the_end_of_a_later_one_is_in_the_trace(void)
{
	struct corotracer_coro a, b;
	struct ctp_session *s;

	region_make();
	s = attach_is_slow();
	CHECK_EQ(corotracer_begin(&a, NULL), -EAGAIN);
	CHECK_EQ(corotracer_begin(&b, NULL), -EAGAIN);
	attach_goes_on(s);
	corotracer_finish(&a, 0);
	corotracer_end(&b);
	CHECK_EQ(read_lane(), 4);
	CHECK_EQ(records[0].kind, CTP_REC_BIRTH);
	CHECK_EQ(records[1].kind, CTP_REC_END);
	CHECK_EQ(records[1].id, 1);
	CHECK_EQ(records[3].kind, CTP_REC_END);
	CHECK_EQ(records[3].id, 2);
	CHECK_EQ(region.ext->later, 0);
	CHECK_EQ(region.ext->homeless_marks, 0);
	CHECK(all_zero(&b, sizeof(b)));
}

static void events_between_are_counted_at_once(void)
{
	struct ctp_session *s;

	region_make();
	s = attach_is_slow();
	ctp_later_count(s, 1, 2, 3);
	CHECK_EQ(s->untraced, 1);
	attach_goes_on(s);
	ctp_later_count(s, 10, 20, 30); /* a thread that did not see the session */
	CHECK_EQ(region.ext->homeless, 11);
	CHECK_EQ(region.ext->homeless_marks, 22);
	CHECK_EQ(region.ext->untraced, 11);
	CHECK_EQ(region.ext->later, 33);
	CHECK_EQ(s->untraced + s->untraced_marks + s->later, 0);
	ctp_later_mark(s);
	CHECK_EQ(region.ext->homeless_marks, 23);
	/* The plain protocol has no field for them. */
	s->lanes = NULL;
	ctp_later_count(s, 1, 1, 1);
	CHECK_EQ(region.ext->homeless, 11);
	CHECK_EQ(s->untraced + s->untraced_marks + s->later, 0);
	/* Without a collector nothing is counted. */
	s->generation = 0;
	s->state = CTP_ATTACH_FAILED;
	ctp_later_mark(s);
	CHECK_EQ(s->untraced_marks, 0);
}

static void a_later_one_without_a_collector_is_adopted(void)
{
	struct corotracer_coro co, inherited;
	struct ctp_session *s;

	region_make();
	s = attach_is_slow();
	CHECK_EQ(corotracer_begin(&co, NULL), -EAGAIN);
	CHECK_EQ(corotracer_begin(&inherited, NULL), -EAGAIN);
	inherited.probe.last_ns = (uint64_t)getppid();
	CHECK_EQ(ctp_later_resolve(&inherited.probe, &corotracer__thread, s), 1);
	CHECK(all_zero(&inherited, sizeof(inherited)));
	CHECK_EQ(ctp_later_resolve(&co.probe, &corotracer__thread, s), 0);
	CHECK(ctp_is_later(&co.probe));
	s->state = CTP_ATTACH_FAILED;
	corotracer_suspend(&co, NULL);
	CHECK(!co.probe.station && !co.probe.life);
	CHECK_EQ(co.probe.last_ns, getpid());
	CHECK_EQ(co.probe.nr_events, 0);
}

static void a_later_one_has_a_station_under_a_plain_collector(void)
{
	struct corotracer_coro co;
	struct ctp_session *s;
	struct region plain;

	region_open(&plain, 4, 0);
	unset_environment();
	s = attach_is_slow();
	CHECK_EQ(corotracer_begin(&co, NULL), -EAGAIN);
	corotracer_resume(&co);
	CHECK_EQ(ctp_session_fill(&corotracer__process, s, plain.shm, plain.sock, 4), 1);
	ctp_session_publish(&corotracer__process, s);
	corotracer_suspend(&co, NULL);
	CHECK(co.probe.station == &session()->stations[0]);
	CHECK_EQ(station_writes(&plain.stations[0]), 1);
	CHECK_EQ(corotracer_id(&co), 1);
}

int main(void)
{
	scratch_make();
	RUN_ALONE(an_order_that_is_being_written_is_left);
	RUN_ALONE(an_order_attaches_at_the_next_event);
	RUN_ALONE(an_order_that_fails_says_why);
	RUN_ALONE(one_thread_takes_an_order);
	RUN_ALONE(the_tags_of_sites_begin_again_at_one);
	RUN_ALONE(an_order_that_comes_meanwhile_opens_the_gate);
	RUN_ALONE(a_child_takes_the_order_of_its_parent);
	RUN_ALONE(a_session_ends_when_it_is_asked_to);
	RUN_ALONE(a_collector_that_has_ended_gets_its_memory_back);
	RUN_ALONE(another_socket_is_not_shut_down);
	RUN_ALONE(earlier_coroutines_are_adopted);
	RUN_ALONE(coroutines_of_the_last_session_are_adopted_by_the_next);
	RUN_ALONE(without_lanes_nothing_is_adopted);
	RUN_ALONE(the_session_that_ends_leaves_new_coroutines_to_the_next);
	RUN_ALONE(events_before_the_attach_are_counted);
	RUN_ALONE(the_end_of_a_later_one_is_in_the_trace);
	RUN_ALONE(events_between_are_counted_at_once);
	RUN_ALONE(a_later_one_without_a_collector_is_adopted);
	RUN_ALONE(a_later_one_has_a_station_under_a_plain_collector);
	return 0;
}
