// SPDX-License-Identifier: MIT
// sdk_records.cpp - what the C++ SDK leaves in the lanes of a region, record by record, without a
// collector.  Each test is a process of its own.
#include "coro.h"
#include "records_region.h"

#include <corotracer/cpp/handle.h>
#include <corotracer/cpp/site.h>
#include <corotracer/cpp/wait.h>

#include <cerrno>
#include <string>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

#define RUN_TEST(test) records_run(#test, test)

namespace
{

using namespace corotracer;
using detail::Coro;
using Place = std::source_location;

ctp_record records[4096];

std::string number(const char *word, uint64_t value)
{
	return std::string(word) + std::to_string(value);
}

std::string told(const ctp_record &r)
{
	static const char *const kinds[] = { "?",       "suspend", "resume",  "birth",
					     "wake",    "end",     "destroy", "gap",
					     "pad",     "more",    "text",    "close",
					     "acquire", "release", "thread",  "context" };
	uint32_t kind = r.kind & 0x7f;
	std::string out = kind < CTP_REC_KINDS ? kinds[kind] : "?";

	if (kind == CTP_REC_MORE)
		return number("more ", reinterpret_cast<const ctp_record_more *>(&r)->resource);
	if (kind == CTP_REC_TEXT)
		return std::string("text ") + reinterpret_cast<const char *>(&r);
	out += number(" ", r.id);
	out += kind == CTP_REC_BIRTH ? "" : number(" #", r.seq);
	if (r.value >> 20)
		out += " =code"; /* the function that resumes the coroutine */
	else
		out += r.value ? number(" =", r.value) : "";
	out += r.reason ? number(" r", r.reason) : "";
	out += r.site ? " @" : "";
	return out;
}

// The records of a lane from @from on, in one line.
const char *story(uint32_t lane = 0, uint64_t from = 0)
{
	uint64_t nr = records_read(lane, records, 4096);
	static std::string out;

	out.clear();
	for (uint64_t i = from; i < nr; i++)
		out += (out.empty() ? "" : ", ") + told(records[i]);
	return out.c_str();
}

void begin(Coro *c, const char *name = nullptr, Place where = Place())
{
	detail::begin(c, c, name, where);
	c->holds = true;
}

uint64_t id_of(const Coro &c)
{
	return ctp_probe_id(&c.my_station);
}

// ---- creation and end ---------------------------------------------------------------------

void creation_and_end_are_told()
{
	Coro a{}, b{};

	records_open(8);
	CHECK_EQ(enabled(), false);
	begin(&a, "first");
	CHECK(enabled() && detail::gate_is_open());
	CHECK_EQ(id_of(a), 1);
	begin(&b, nullptr, Place::current());
	CHECK_STR(story(), "birth 1, text first, birth 2 @");
	CHECK_EQ(records_site(records[2].site)->line, __LINE__ - 2);
	CHECK(strstr(reinterpret_cast<const char *>(records_site(records[2].site)->file),
		     "sdk_records.cpp"));
	detail::end(&a);
	detail::cancel(&b);
	CHECK(!a.my_station && a.my_station == nullptr && b.my_station);
	detail::end(&b);
	CHECK_STR(story(0, 3), "end 1 #0 r1, end 2 #0 r4, destroy 2 #0");
	CHECK_EQ(detail::session()->life_pool.pool->used, 2);
}

void the_parent_is_the_coroutine_that_runs()
{
	Coro a{}, b{}, c{};

	records_open(8);
	begin(&a);
	detail::write_resume(&a, nullptr);
	CHECK_EQ(detail::self()->current, 1);
	begin(&b);
	detail::end(&a); /* it runs no longer */
	CHECK_EQ(detail::self()->current, 0);
	begin(&c);
	CHECK_STR(story(), "birth 1, resume 1 #0, birth 2 =1, end 1 #1 =1 r1, birth 3");
}

void a_name_is_for_one_coroutine()
{
	Coro a{}, b{};

	records_open(8);
	detail::name_next("once");
	begin(&a);
	begin(&b);
	CHECK_STR(story(), "birth 1, text once, birth 2");
	named("never", [] {});
	CHECK(!detail::self()->birth_name);
	detail::name_next("other");
	begin(&b, "own"); /* and the other name is used up */
	CHECK(!detail::self()->birth_name);
	CHECK_STR(story(0, 3), "birth 3, text own");
}

void without_a_collector_a_coroutine_waits_for_one()
{
	Coro c{};

	begin(&c);
	CHECK(!c.my_station && c.my_station.last_ns == static_cast<uint64_t>(getpid()));
	CHECK(!enabled() && !detail::gate_is_open() && !detail::is_open(&c));
	CHECK(detail::station_of(&c.my_station) == nullptr);
	detail::request.gate = 1;
	CHECK(detail::is_open(&c));
	c.my_station.last_ns = 0;
	CHECK(!detail::is_open(&c));
	CHECK(set_traceparent("no such text") == false);
}

/* Another thread is at it, and takes long. */
void while_another_thread_attaches_a_coroutine_is_counted()
{
	ctp_session *s = ctp_session_get(&detail::process, &detail::hooks);
	Coro c{};

	s->owner = static_cast<uint64_t>(getpid());
	s->busy_ns = 1;
	s->state = CTP_ATTACH_BUSY;
	s->sleeping = &s->never_sleeping;
	begin(&c);
	CHECK(ctp_is_later(&c.my_station));
	CHECK_EQ(s->later, 1);
	detail::wake(&c, {}, Place());
	CHECK_EQ(s->untraced_marks, 1);
	detail::write_suspend(&c, 1, Place(), {});
	CHECK_EQ(s->untraced, 1);
	CHECK_EQ(c.event_count, 1);
}

// ---- suspend and resume ----------------------------------------------------------------------

void a_suspend_has_a_place_and_a_reason()
{
	Coro c{};

	records_open(8);
	begin(&c);
	detail::leave_end(detail::write_suspend(&c, 77, Place::current(), {}));
	detail::write_resume(&c, nullptr);
	detail::leave_end(detail::write_suspend(&c, 78, Place(), reading(9)));
	CHECK_STR(story(0, 1), "suspend 1 #0 =77 @, resume 1 #1, suspend 1 #2 =78 r1, more 9");
	CHECK_EQ(c.event_count, 3);
	CHECK_EQ(detail::self()->current, 0);
	CHECK_EQ(c.my_station.life->resource, 9);
}

void the_current_coroutine_wakes_the_next()
{
	Coro a{}, b{};

	records_open(8);
	begin(&a);
	begin(&b);
	detail::write_resume(&a, nullptr);
	detail::write_resume(&b, nullptr); /* by a, which stays below it */
	CHECK_EQ(detail::self()->current, 2);
	CHECK_EQ(b.below, 1);
	detail::leave_end(detail::write_suspend(&b, 0, Place(), {}));
	CHECK_EQ(detail::self()->current, 1);
	detail::leave_not(detail::write_suspend(&a, 0, Place(), {}));
	CHECK_EQ(detail::self()->current, 1);
	CHECK_STR(story(0, 2), "resume 1 #0, wake 2 #0 =1, resume 2 #0, suspend 2 #1, "
			       "suspend 1 #1");
	CHECK_EQ(records[3].ticks <= records[4].ticks, true);
}

/* Also where the lane has no room for both records at once. */
void a_wake_and_a_resume_may_be_in_two_chunks()
{
	Coro a{}, b{};

	records_open(8);
	begin(&a);
	begin(&b);
	detail::write_resume(&a, nullptr);
	while (detail::self()->ctp.at + 1 < detail::self()->ctp.end)
		ctp_suspend(&a.my_station, &detail::self()->ctp, detail::session(), 0, 0, 0);
	detail::write_resume(&b, nullptr);
	CHECK_STR(story(0, 2046), "wake 2 #0 =1, resume 2 #0");
}

void a_thread_is_passed_to_a_frame()
{
	Coro a{}, b{};
	int frame = 0, other = 0;

	records_open(8);
	begin(&a);
	begin(&b);
	detail::write_resume(&a, nullptr);
	detail::leave_to(detail::write_suspend(&a, 0, Place::current(), {}), &frame);
	CHECK_EQ(detail::self()->current, 0);
	detail::write_resume(&b, &frame);
	CHECK_STR(story(0, 2), "resume 1 #0, suspend 1 #1 @, wake 2 #0 =1 @, resume 2 #0");
	CHECK(!detail::self()->passed);
	detail::leave_to(detail::write_suspend(&b, 0, Place(), {}), &frame);
	detail::write_resume(&a, &other); /* it was not the one */
	CHECK_STR(story(0, 6), "suspend 2 #1, resume 1 #2");
	CHECK(!detail::self()->passed);
	detail::leave_to(detail::leave_begin(&a, 0), &frame);
	CHECK(detail::self()->passed == &frame);
	detail::leave_begin(&a, 0); /* no traced await resumed that frame */
	CHECK(!detail::self()->passed);
}

void only_coroutines_that_hold_are_current()
{
	Coro c{};

	records_open(8);
	begin(&c);
	c.holds = false;
	detail::enter(&c);
	CHECK_EQ(detail::self()->current, 0);
	c.holds = true;
	detail::self()->current = 55;
	detail::start(&c);
	CHECK_EQ(detail::self()->current, 1);
	CHECK_EQ(c.below, 55);
	detail::start(&c); /* it is on top of itself no second time */
	CHECK_EQ(c.below, 55);
	detail::forget(&c, 2);
	CHECK_EQ(detail::self()->current, 1);
	detail::forget(&c, 1);
	CHECK_EQ(detail::self()->current, 55);
	detail::forget(&c, 0);
	CHECK_EQ(detail::self()->current, 55);
}

void transitions_by_hand_are_told()
{
	Coro a{}, c{};

	records_open(8);
	begin(&a);
	begin(&c);
	detail::write_by_hand(&c, 5, false);
	detail::write_by_hand(&c, 0, true);
	detail::write_by_hand(&c, 6, false);
	CHECK_EQ(detail::self()->current, 2); /* it is not known that it left */
	detail::write_by_hand(&a, 7, true);
	CHECK_STR(story(0, 2), "suspend 2 #0 =5, resume 2 #1, suspend 2 #2 =6, "
			       "wake 1 #0 =2, resume 1 #0 =7");
	CHECK_EQ(c.event_count, 3);
	CHECK_EQ(a.event_count, 1);
	CHECK_EQ(detail::self()->current, 1);
}

void an_exception_of_await_suspend_is_a_resume()
{
	Coro c{};
	detail::Left left;

	records_open(8);
	begin(&c);
	detail::write_resume(&c, nullptr);
	left = detail::write_suspend(&c, 0, Place(), {});
	detail::suspend_threw(left, &c);
	CHECK_STR(story(0, 1), "resume 1 #0, suspend 1 #1, resume 1 #2");
	CHECK_EQ(detail::self()->current, 1);
	CHECK_EQ(c.event_count, 3);
	detail::self()->current = 55; /* another coroutine runs, and calls it */
	left = detail::write_suspend(&c, 0, Place(), {});
	CHECK_EQ(detail::self()->current, 1);
	detail::suspend_threw(left, &c);
	CHECK_EQ(detail::self()->current, 55);
}

// ---- a suspend that may not happen --------------------------------------------------------------

void a_suspend_that_does_not_happen_leaves_nothing()
{
	ctp_record *at;
	Coro c{};

	records_open(8);
	begin(&c);
	detail::write_resume(&c, nullptr);
	at = detail::self()->ctp.at;
	for (int i = 0; i < 3; i++) {
		detail::Perhaps p = detail::write_perhaps(&c, 5, Place(), i ? reading(4) : Wait{});

		CHECK(p.turn && p.turn->nr % 2 == 1);
		CHECK_EQ(c.event_count, 2);
		CHECK_STR(story(0, 1), "resume 1 #0"); /* not published */
		detail::perhaps_retract(p, &c);
		CHECK(p.turn->nr % 2 == 0 && !c.turn);
		CHECK(detail::self()->ctp.at == at);
		CHECK_EQ(c.event_count, 1);
		CHECK_EQ(c.my_station.life->events, 1);
		CHECK_EQ(c.my_station.life->state, CTP_REC_RESUME);
		CHECK_EQ(detail::self()->current, 1);
	}
	detail::leave_end(detail::write_suspend(&c, 6, Place(), {}));
	CHECK_STR(story(0, 1), "resume 1 #0, suspend 1 #1 =6");
}

void a_suspend_that_happens_is_published()
{
	Coro c{};
	detail::Perhaps p;

	records_open(8);
	begin(&c);
	detail::write_resume(&c, nullptr);
	p = detail::write_perhaps(&c, 5, Place::current(), locking(&c));
	detail::perhaps_publish(p);
	CHECK(p.turn->nr % 2 == 0);
	CHECK_EQ(detail::self()->current, 0);
	CHECK_EQ(c.my_station.life->resource, reinterpret_cast<uintptr_t>(&c));
	CHECK_EQ(records_read(0, records, 4096), 4);
	CHECK(told(records[2]) == "suspend 1 #1 =5 r6 @");
	CHECK_EQ(reinterpret_cast<ctp_record_more *>(&records[3])->resource,
		 reinterpret_cast<uintptr_t>(&c));
	detail::write_resume(&c, nullptr);
	CHECK(!c.turn);
	detail::self()->ctp.always_slow = 1;
	detail::perhaps_publish(detail::write_perhaps(&c, 6, Place(), {}));
	CHECK_STR(story(0, 4), "resume 1 #2, suspend 1 #3 =6");
}

/* await_suspend() resumed others, and returns false: the record cannot be taken back. */
void a_suspend_with_records_after_it_stays()
{
	Coro a{}, b{};
	detail::Perhaps p;

	records_open(8);
	begin(&a);
	begin(&b);
	detail::write_resume(&a, nullptr);
	p = detail::write_perhaps(&a, 5, Place(), {});
	detail::write_resume(&b, nullptr);
	detail::leave_end(detail::write_suspend(&b, 0, Place(), {}));
	detail::perhaps_retract(p, &a);
	CHECK_STR(story(0, 2), "resume 1 #0, suspend 1 #1 =5, wake 2 #0 =1, resume 2 #0, "
			       "suspend 2 #1, resume 1 #2");
	CHECK_EQ(a.event_count, 3);
	CHECK_EQ(detail::self()->current, 1);
	/* One inside another: the first is published by the second. */
	p = detail::write_perhaps(&a, 6, Place(), {});
	detail::perhaps_publish(detail::write_perhaps(&b, 7, Place(), {}));
	detail::perhaps_publish(p);
	CHECK_STR(story(0, 8), "suspend 1 #3 =6, suspend 2 #2 =7");
}

void without_lanes_a_suspend_is_written_at_once()
{
	Coro c{};
	detail::Perhaps p;

	records_open(0);
	begin(&c);
	CHECK(c.my_station.station && !c.my_station.life);
	CHECK(static_cast<StationData *>(c.my_station) ==
	      reinterpret_cast<StationData *>(c.my_station.station));
	p = detail::write_perhaps(&c, 5, Place(), {});
	CHECK(!p.turn);
	CHECK_EQ(c.event_count, 1);
	CHECK_EQ(c.my_station.nr_events, 1);
	detail::perhaps_retract(p, &c);
	CHECK_EQ(c.event_count, 2);
	CHECK_EQ(c.my_station.nr_events, 2);
	CHECK_EQ(c.my_station.station->slots[1].is_active, 1);
	detail::perhaps_publish(detail::write_perhaps(&c, 6, Place(), {}));
	CHECK_EQ(c.event_count, 3);
	CHECK_EQ(c.my_station.nr_events, 3);
}

void lanes_beyond_the_turns_publish_at_once()
{
	ctp_session *s;
	Coro c{};
	detail::Turn *first;

	records_open(8);
	begin(&c);
	s = detail::session();
	first = detail::turn_of(s, reinterpret_cast<ctp_lane *>(s->lane_pool.units));
	CHECK(first && first == detail::turns);
	CHECK_EQ(detail::nr_turns, 8);
	CHECK(detail::turn_of(s, reinterpret_cast<ctp_lane *>(s->lane_pool.units) + 7) ==
	      first + 7);
	CHECK(!detail::turn_of(s, reinterpret_cast<ctp_lane *>(s->lane_pool.units) + 8));
	detail::nr_turns = 0;
	detail::perhaps_publish(detail::write_perhaps(&c, 5, Place(), {}));
	CHECK_STR(story(0, 1), "suspend 1 #0 =5");
}

/* Another thread resumes the coroutine before the suspend is published: it publishes it. */
void another_thread_publishes_the_suspend()
{
	Coro c{}, d{};
	detail::Perhaps p;

	records_open(8);
	begin(&c);
	p = detail::write_perhaps(&c, 5, Place(), {});
	CHECK_STR(story(), "birth 1");
	std::thread([&] {
		begin(&d);
		detail::write_resume(&c, nullptr);
		CHECK(!c.turn);
		CHECK_STR(story(0), "birth 1, suspend 1 #0 =5");
		CHECK_STR(story(1), "birth 2, resume 1 #1");
	}).join();
	CHECK_EQ(p.turn->helpers, 0);
	detail::perhaps_publish(p);
	CHECK_STR(story(0), "birth 1, suspend 1 #0 =5");
	/* The turn has ended: nothing to help with. */
	p = detail::write_perhaps(&c, 6, Place(), {});
	detail::perhaps_publish(p);
	std::thread([&] {
		uint64_t head = records_lane(0)->head;

		c.head = head; /* a compare-and-swap would move it */
		c.next_head = head + 32;
		detail::help_publish(&c);
		CHECK_EQ(records_lane(0)->head, head);
		detail::settle_turn(&c, *detail::self());
		CHECK(!c.turn);
	}).join();
}

void a_lane_with_helpers_is_not_reused()
{
	uint32_t helpers = 0;
	auto suspend_and_end = [&] {
		Coro c{};
		detail::Perhaps p;

		begin(&c);
		p = detail::write_perhaps(&c, 5, Place(), {});
		p.turn->helpers = helpers;
	};

	records_open(8);
	std::thread(suspend_and_end).join();
	CHECK_EQ(records_lane(0)->state, CTP_LANE_CLOSED);
	CHECK_EQ(detail::turns[0].nr, 2);
	CHECK_STR(story(0), "birth 1, suspend 1 #0 =5"); /* it was under way */
	helpers = 1;
	std::thread(suspend_and_end).join();
	CHECK_EQ(records_lane(1)->state, CTP_LANE_OPEN);
	CHECK_STR(story(1), "birth 2, suspend 2 #0 =5");
}

// ---- wake, resources, contexts
// --------------------------------------------------------------------

void wakes_resources_and_contexts_name_the_current_coroutine()
{
	Coro a{}, b{};

	records_open(8);
	begin(&a);
	begin(&b);
	detail::wake(&b, {}, Place());
	detail::write_resume(&a, nullptr);
	detail::wake(&b, reading(3), Place::current());
	closing(4);
	acquired(5);
	released(6);
	CHECK_STR(story(0, 2), "wake 2 #0, resume 1 #0, wake 2 #0 =1 r1 @, more 3, "
			       "close 1 #0 =4 @, acquire 1 #0 =5 @, release 1 #0 =6 @");
	CHECK(set_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
	CHECK(set_traceparent(""));
	CHECK(!set_traceparent("00"));
	CHECK_EQ(records_read(0, records, 4096), 13);
	CHECK_EQ(records[9].value, 0xb7ad6b7169203331);
	CHECK_EQ(records[9].id, 1);
	CHECK_EQ(records[11].value, 0);
	CHECK_EQ(records[11].kind, CTP_REC_CONTEXT | CTP_REC_HAS_MORE);
}

void a_new_region_has_other_coroutines()
{
	detail::Thread &t = *detail::self();
	ctp_session s = {};
	Coro c{};

	records_open(8);
	begin(&c);
	detail::write_resume(&c, nullptr);
	CHECK_EQ(t.newborn[0].id, 1);
	detail::thread_renew(t, nullptr);
	CHECK_EQ(t.current, 1);
	s.first = ~t.ctp.ticket; /* the same region */
	t.passed = &s;
	detail::thread_renew(t, &s);
	CHECK(t.current == 1 && t.passed == &s && t.newborn[0].id == 1);
	s.first++;
	s.generation = 9;
	CHECK(&detail::thread_for(&s) == &t);
	CHECK(t.current == 0 && !t.passed && !t.newborn[0].id && !t.newborn[0].life);
}

void the_last_four_children_are_known()
{
	Coro c[6];

	records_open(8);
	for (Coro &each : c)
		begin(&each);
	CHECK_EQ(detail::self()->nr_born, 6);
	CHECK_EQ(detail::newborn_id(reinterpret_cast<uintptr_t>(&c[1])), 0);
	for (int i = 2; i < 6; i++)
		CHECK_EQ(detail::newborn_id(reinterpret_cast<uintptr_t>(&c[i])), i + 1);
	detail::end(&c[5]); /* its memory may be another coroutine's */
	CHECK_EQ(detail::newborn_id(reinterpret_cast<uintptr_t>(&c[5])), 0);
	CHECK_EQ(detail::newborn_id(0), 0);
}

// ---- stations
// -----------------------------------------------------------------------------------------

void stations_are_claimed_at_the_first_use()
{
	Coro c[6];
	ctp_header *h;
	ctp_station *st;

	records_open(8);
	for (Coro &each : c)
		begin(&each);
	h = records_header();
	st = ctp_stations(h);
	CHECK_EQ(h->allocated_count, 0);
	CHECK(detail::station_of(&c[2].my_station) ==
	      reinterpret_cast<StationData *>(detail::session()->stations));
	CHECK(detail::station_of(&c[2].my_station) == static_cast<StationData *>(c[2].my_station));
	CHECK(&*c[2].my_station == c[2].my_station.operator->());
	CHECK_EQ(h->allocated_count, 1);
	CHECK_EQ(st[0].probe_id, 3);
	CHECK(st[0].birth_ts != 0);
	CHECK_EQ(st[0].is_dead, 0);
	detail::end(&c[0]); /* has none */
	CHECK_EQ(st[0].is_dead, 0);
	detail::end(&c[2]);
	CHECK_EQ(st[0].is_dead, 1);
	detail::station_of(&c[1].my_station);
	detail::station_of(&c[3].my_station);
	detail::station_of(&c[4].my_station);
	CHECK(detail::station_of(&c[5].my_station) == &detail::no_station_left);
	CHECK(detail::station_of(&c[5].my_station) == &detail::no_station_left);
	CHECK_EQ(h->allocated_count, 5);
	CHECK_EQ(st[3].probe_id, 5);
	detail::end(&c[5]);
}

void the_region_is_known_by_its_old_names()
{
	int conn;

	trigger_uds_wakeup(); /* before there is a session */
	records_open(8);
	CHECK(!g_header && !g_stations && g_uds_fd == -1);
	InitTracer();
	CHECK(g_header == reinterpret_cast<GlobalHeader *>(detail::session()->header));
	CHECK(g_stations == reinterpret_cast<StationData *>(detail::session()->stations));
	CHECK(g_uds_fd == detail::session()->sock && g_uds_fd >= 0);
	conn = records_accept();
	CHECK_EQ(records_wakeups(conn), 0);
	errno = 12345;
	trigger_uds_wakeup();
	CHECK_EQ(errno, 12345);
	CHECK_EQ(records_wakeups(conn), 1);
	detail::session()->sock_ino++; /* another file has its number */
	trigger_uds_wakeup();
	CHECK_EQ(records_wakeups(conn), 0);
}

// ---- tables
// ----------------------------------------------------------------------------------------------

void a_site_has_one_number()
{
	Place here = Place::current();
	uint32_t first;
	ctp_session *s;
	Coro c{};

	CHECK_EQ(detail::site_id(nullptr, here), 0);
	records_open(8);
	begin(&c);
	s = detail::session();
	CHECK_EQ(detail::site_id(s, Place()), 0);
	first = detail::site_id(s, here);
	CHECK(first != 0);
	CHECK_EQ(detail::site_id(s, here), first);
	CHECK_EQ(detail::site_enter(s, here), first);
	CHECK(detail::site_id(s, Place::current()) == first + 1);
	CHECK_EQ(records_ext()->sites.used, 2);
	CHECK(strstr(reinterpret_cast<const char *>(records_site(first)->function),
		     "a_site_has_one_number"));
	s->site_tag++; /* another region: its own numbers */
	CHECK_EQ(detail::site_id(s, here), first + 2);
	s->generation = 0;
	CHECK_EQ(detail::site_enter(s, here), 0);
}

void places_of_one_slot_are_beside_each_other()
{
	static detail::SiteEntry table[detail::site_entries];
	const uintptr_t last = (detail::site_entries - 1) * 8;
	auto key = [](uintptr_t value) { return reinterpret_cast<const void *>(value); };

	CHECK_EQ(detail::site_slot(key(16)), 2);
	CHECK_EQ(detail::site_slot(key(8 * uintptr_t(detail::site_entries))), 0);
	CHECK(detail::site_entry(table, key(last)) == &table[detail::site_entries - 1]);
	CHECK(detail::site_entry(table, key(last)) == &table[detail::site_entries - 1]);
	CHECK(detail::site_entry(table, key(last + 1)) == &table[0]);
	CHECK(detail::site_entry(table, key(last + 2)) == &table[1]);
	for (uint32_t i = 0; i < detail::site_entries; i++)
		table[i].key = key(3);
	table[77].key = key(4);
	CHECK(!detail::site_entry(table, key(last + 8 * 5)));
	CHECK(detail::site_entry(table, key(4)) == &table[77]);
}

void frames_are_known_by_their_function()
{
	uintptr_t resume = 0x1230, frame[2] = { resume, 0 };

	CHECK(!detail::frame_mixin(nullptr));
	CHECK(!detail::frame_mixin(frame));
	CHECK(!detail::frame_kind(resume, false)); /* was not entered by the question */
	detail::frame_enter(frame, reinterpret_cast<char *>(frame) + 24);
	CHECK(detail::frame_mixin(frame) == reinterpret_cast<char *>(frame) + 24);
	frame[0] = 0; /* a coroutine at its end */
	detail::frame_enter(frame, frame + 1);
	CHECK(!detail::frame_mixin(frame) && !detail::frame_kind(0, true));
	/* The table is full around that place. */
	for (detail::FrameKind &kind : detail::frame_kinds)
		kind.resume = 5;
	CHECK(!detail::frame_kind(resume, true));
	for (uint32_t i = 0; i < detail::nr_frame_kinds; i += detail::frame_kind_tries)
		detail::frame_kinds[i].resume = 0;
	CHECK(detail::frame_kind(resume, true) == detail::frame_kind(resume, false));
	CHECK(detail::frame_kind(resume, false) != nullptr);
}

enum class Colour : int { red = 7 };

void waits_have_a_reason_and_a_resource()
{
	int lock;

	CHECK(reading(1).reason == CTP_REASON_IO_READ && reading(1).resource == 1);
	CHECK(writing(2).reason == CTP_REASON_IO_WRITE && accepting(0).reason == CTP_REASON_ACCEPT);
	CHECK(connecting(3).reason == CTP_REASON_CONNECT && sleeping(0).reason == CTP_REASON_TIMER);
	CHECK(locking(&lock).resource == reinterpret_cast<uintptr_t>(&lock));
	CHECK(acquiring(&lock).reason == CTP_REASON_SEMAPHORE);
	CHECK(sending(1).reason == CTP_REASON_CHANNEL_SEND);
	CHECK(receiving(1).reason == CTP_REASON_CHANNEL_RECV &&
	      joining(1).reason == CTP_REASON_JOIN);
	CHECK(signalled(9).reason == CTP_REASON_SIGNAL && signalled(9).has_resource == 1);
	CHECK(yielding().reason == CTP_REASON_YIELD && yielding().has_resource == 0);
	CHECK(waiting(3).reason == 3 && waiting(3).has_resource == 0);
	CHECK_EQ(detail::resource_number(Colour::red), 7);
	CHECK(!Wait{} && waiting(1) && (Wait{ 0, 0, 1 }));
}

// ---- whole coroutines
// -----------------------------------------------------------------------------------------

struct Perhaps {
	bool suspends;

	bool await_ready() const noexcept
	{
		return false;
	}

	bool await_suspend(std::coroutine_handle<> h) const
	{
		if (suspends)
			parked.push_back(h);
		return suspends;
	}

	void await_resume() const noexcept
	{
	}
};

Eager waits(Perhaps how)
{
	co_await how;
	co_await Park{};
}

void a_coroutine_is_told_from_creation_to_end()
{
	records_open(8);
	waits({ false });
	resume_all();
	CHECK_STR(story(), "birth 1, suspend 1 #0 =code @, resume 1 #1, end 1 #2 =2 r1");
}

void a_promise_answers_for_its_coroutine()
{
	Eager e = waits({ true });
	Eager::promise_type &p = e.handle.promise();

	CHECK(p.id() == 0 && !p.is_traced()); /* no collector */
	CHECK(p.set_traceparent("whatever"));
	e.handle.destroy();
	parked.clear();
	records_open(8);
	unsetenv(CTP_ENV_FDS);
	detail::process.session->state = CTP_ATTACH_NEVER; /* as if it had not looked */
	e = waits({ true });
	Eager::promise_type &q = e.handle.promise();
	CHECK(q.id() == 1 && q.is_traced() && q.event_count == 1);
	CHECK(!q.set_traceparent("whatever"));
	q.wake(reading(3));
	wake(std::coroutine_handle<>(e.handle));
	wake(e.handle, writing(4));
	wake(std::coroutine_handle<>(std::noop_coroutine()));
	wake(std::coroutine_handle<>());
	q.write_trace(5, true);
	q.write_trace(6, false);
	CHECK_STR(story(0, 2), "wake 1 #1 r1 @, more 3, wake 1 #1 @, wake 1 #1 r2 @, more 4, "
			       "resume 1 #1 =5, suspend 1 #2 =6");
	CHECK_EQ(q.event_count, 3);
	q.cancelled();
	e.handle.destroy();
	parked.clear();
	CHECK_STR(story(0, 9), "end 1 #3 =3 r6, destroy 1 #3 =3");
	PromiseMixin copy(q); /* a copy is untraced */
	CHECK(!copy.is_traced() && copy.id() == 0);
}

struct Lazy {
	struct Plain;
	using promise_type = Traced<Plain>;

	std::coroutine_handle<promise_type> handle;
};

struct Lazy::Plain {
	Lazy get_return_object();

	std::suspend_always initial_suspend() noexcept
	{
		return {};
	}

	std::suspend_always final_suspend() noexcept
	{
		return {};
	}

	std::suspend_always yield_value(int) noexcept
	{
		return {};
	}

	void return_void()
	{
	}

	void unhandled_exception()
	{
		std::abort();
	}
};

Lazy Lazy::Plain::get_return_object()
{
	return { std::coroutine_handle<promise_type>::from_promise(
		static_cast<promise_type &>(*this)) };
}

Lazy lazily()
{
	co_await Park{};
	co_yield 1;
}

void a_promise_without_tracing_is_traced_whole()
{
	records_open(8);
	Lazy l = lazily();

	l.handle.resume();
	CHECK_EQ(detail::self()->current, 0);
	resume_all();
	l.handle.resume(); /* after the yield */
	CHECK(l.handle.done());
	l.handle.destroy();
	CHECK_STR(story(), "birth 1 @, suspend 1 #0 =code @, resume 1 #1, suspend 1 #2 =code @, "
			   "resume 1 #3, suspend 1 #4 =code r11 @, resume 1 #5, end 1 #6 =6, "
			   "destroy 1 #6 =6");
}

} // namespace

int main()
{
	records_prepare();
	RUN_TEST(creation_and_end_are_told);
	RUN_TEST(the_parent_is_the_coroutine_that_runs);
	RUN_TEST(a_name_is_for_one_coroutine);
	RUN_TEST(without_a_collector_a_coroutine_waits_for_one);
	RUN_TEST(while_another_thread_attaches_a_coroutine_is_counted);
	RUN_TEST(a_suspend_has_a_place_and_a_reason);
	RUN_TEST(the_current_coroutine_wakes_the_next);
	RUN_TEST(a_wake_and_a_resume_may_be_in_two_chunks);
	RUN_TEST(a_thread_is_passed_to_a_frame);
	RUN_TEST(only_coroutines_that_hold_are_current);
	RUN_TEST(transitions_by_hand_are_told);
	RUN_TEST(an_exception_of_await_suspend_is_a_resume);
	RUN_TEST(a_suspend_that_does_not_happen_leaves_nothing);
	RUN_TEST(a_suspend_that_happens_is_published);
	RUN_TEST(a_suspend_with_records_after_it_stays);
	RUN_TEST(without_lanes_a_suspend_is_written_at_once);
	RUN_TEST(lanes_beyond_the_turns_publish_at_once);
	RUN_TEST(another_thread_publishes_the_suspend);
	RUN_TEST(a_lane_with_helpers_is_not_reused);
	RUN_TEST(wakes_resources_and_contexts_name_the_current_coroutine);
	RUN_TEST(a_new_region_has_other_coroutines);
	RUN_TEST(the_last_four_children_are_known);
	RUN_TEST(stations_are_claimed_at_the_first_use);
	RUN_TEST(the_region_is_known_by_its_old_names);
	RUN_TEST(a_site_has_one_number);
	RUN_TEST(places_of_one_slot_are_beside_each_other);
	RUN_TEST(frames_are_known_by_their_function);
	RUN_TEST(waits_have_a_reason_and_a_resource);
	RUN_TEST(a_coroutine_is_told_from_creation_to_end);
	RUN_TEST(a_promise_answers_for_its_coroutine);
	RUN_TEST(a_promise_without_tracing_is_traced_whole);
	return 0;
}
