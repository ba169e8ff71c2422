// SPDX-License-Identifier: MIT
//
// bench_cpp.cpp - the cost of one event of a C++20 coroutine, against one of the C SDK.
//
// The region has no collector.  Runs of 1,000 events take turns; full chunks are returned to the
// pool in between, as a collector does.  A traced coroutine is suspended and resumed, and so is an
// identical one that is not traced: the difference is the cost of tracing.  The C SDK writes the
// same two events, also with a site, in its own loop.
extern "C" {
#include "bench.h"
}

#include <corotracer/corotracer.h>
#include <corotracer/coroTracer.h>
#include <corotracer/pool.h>

#include <cstdlib>
#include <exception>
#include <string_view>

namespace
{

constexpr unsigned events_a_run = 1000;

template <class Base> struct Coroutine {
	struct promise_type : Base {
		Coroutine get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}

		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}

		std::suspend_always final_suspend() noexcept
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

	std::coroutine_handle<promise_type> handle;
};

struct Nothing {
};

struct PerhapsSuspends {
	bool stays;

	bool await_ready() noexcept
	{
		return false;
	}

	bool await_suspend(std::coroutine_handle<>) noexcept
	{
		return stays;
	}

	void await_resume() noexcept
	{
	}
};

template <class Base> Coroutine<Base> awaits()
{
	for (;;)
		co_await std::suspend_always{};
}

template <class Base> Coroutine<Base> awaits_why()
{
	for (;;)
		co_await corotracer::reading(7, std::suspend_always{});
}

template <class Base> Coroutine<Base> awaits_perhaps()
{
	for (;;)
		co_await PerhapsSuspends{ true };
}

// What corotracer/cpp/trace_all.h makes of a promise, of an ordinary one and of a final one.
struct Final final : Coroutine<Nothing>::promise_type {
};

template <class Promise> struct Whole {
	using promise_type = corotracer::Traced<Promise>;
	std::coroutine_handle<> handle;

	Whole(Coroutine<Nothing> inner) : handle(inner.handle)
	{
	}
};

template <class Promise> Whole<Promise> awaits_whole()
{
	for (;;)
		co_await std::suspend_always{};
}

std::coroutine_handle<> traced[5], untraced[3];
corotracer_coro c_coroutine;

void resume_often(std::coroutine_handle<> h)
{
	for (unsigned i = 0; i < events_a_run / 2; i++)
		h.resume();
}

void run_nothing()
{
	corotracer_coro *co = &c_coroutine;

	for (unsigned i = 0; i < events_a_run / 2; i++) {
		BENCH_LAUNDER(co);
		BENCH_LAUNDER(co);
	}
}

void run_c()
{
	corotracer_coro *co = &c_coroutine;

	for (unsigned i = 0; i < events_a_run / 2; i++) {
		BENCH_LAUNDER(co);
		corotracer_suspend_at(co, reinterpret_cast<void *>(run_nothing), COROTRACER_HERE,
				      CTP_REASON_UNKNOWN);
		BENCH_LAUNDER(co);
		corotracer_resume(co);
	}
}

void run_c_why()
{
	corotracer_coro *co = &c_coroutine;

	for (unsigned i = 0; i < events_a_run / 2; i++) {
		BENCH_LAUNDER(co);
		corotracer_await(co, CTP_REASON_IO_READ, 7);
		BENCH_LAUNDER(co);
		corotracer_resume(co);
	}
}

struct Subject {
	const char *key;
	void (*run)();
	bench_samples samples; // ns per event
};

Subject subjects[] = {
	{ "loop", run_nothing, {} },
	{ "c", run_c, {} },
	{ "c_why", run_c_why, {} },
	{ "await", [] { resume_often(traced[0]); }, {} },
	{ "await_untraced", [] { resume_often(untraced[0]); }, {} },
	{ "why", [] { resume_often(traced[1]); }, {} },
	{ "why_untraced", [] { resume_often(untraced[1]); }, {} },
	{ "whole", [] { resume_often(traced[3]); }, {} },
	{ "final", [] { resume_often(traced[4]); }, {} },
	{ "perhaps", [] { resume_often(traced[2]); }, {} },
	{ "perhaps_untraced", [] { resume_often(untraced[2]); }, {} },
};

void give_back_chunks(ctp_lane *lane, ctp_arena *chunks)
{
	while (lane->taken - lane->returned > 1) {
		uint32_t oldest = static_cast<uint32_t>(lane->oldest);

		lane->oldest = static_cast<ctp_chunk *>(ctp_unit(chunks, oldest - 1))->link;
		ctp_pool_give(chunks, oldest - 1);
		lane->returned++;
	}
}

void measure(Subject *s)
{
	uint64_t start = bench_now_ns();

	s->run();
	bench_sample(&s->samples, static_cast<double>(bench_now_ns() - start) / events_a_run);
	give_back_chunks(corotracer__thread.lane, &corotracer__process.session->chunk_pool);
	give_back_chunks(corotracer::detail::self()->ctp.lane,
			 &corotracer::detail::session()->chunk_pool);
}

double best(const char *key)
{
	for (Subject &s : subjects)
		if (std::string_view(s.key) == key)
			return bench_best(&s.samples);
	bench_die("no such subject");
}

} // namespace

int main(int argc, char **argv)
{
	double seconds = bench_option(argc, argv, "seconds", 2);

	bench_pin();
	if (!bench_region_lanes(16))
		bench_die("cannot make a region");
	traced[0] = awaits<corotracer::PromiseMixin>().handle;
	traced[1] = awaits_why<corotracer::PromiseMixin>().handle;
	traced[2] = awaits_perhaps<corotracer::PromiseMixin>().handle;
	traced[3] = awaits_whole<Coroutine<Nothing>::promise_type>().handle;
	traced[4] = awaits_whole<Final>().handle;
	untraced[0] = awaits<Nothing>().handle;
	untraced[1] = awaits_why<Nothing>().handle;
	untraced[2] = awaits_perhaps<Nothing>().handle;
	if (corotracer_begin(&c_coroutine, "c") < 0 || !corotracer::detail::self()->ctp.lane)
		bench_die("not traced");
	corotracer_resume(&c_coroutine);

	uint64_t end = bench_now_ns() + static_cast<uint64_t>(seconds * 1e9);

	while (bench_now_ns() < end)
		for (Subject &s : subjects)
			measure(&s);

	bench_emit(best("c") - best("loop"), "cpp.alone.c_ns");
	bench_emit(best("c_why") - best("loop"), "cpp.alone.c_why_ns");
	bench_emit(best("await") - best("await_untraced"), "cpp.alone.await_ns");
	bench_emit(best("whole") - best("await_untraced"), "cpp.alone.whole_ns");
	bench_emit(best("final") - best("await_untraced"), "cpp.alone.whole_final_ns");
	bench_emit(best("why") - best("why_untraced"), "cpp.alone.why_ns");
	bench_emit(best("perhaps") - best("perhaps_untraced"), "cpp.alone.perhaps_ns");
	return 0;
}
