// SPDX-License-Identifier: MIT
// sampled.cpp - coroutines that spend known shares of their time at known places.
//
// 60 sleep at one place all the time.  40 sleep in a callee: at one place for three quarters of the
// time, at another for the rest; each is a quarter of a period behind the one before.  A thread of
// its own runs one that blocks.  At the end, by SIGTERM or after a time in seconds, the program
// prints the nanoseconds that coroutines were suspended at each place: "time PLACE N".
#include "tasks.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <queue>
#include <thread>

static uint64_t now_ns()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
}

struct Place {
	const char *name;
	uint64_t total, since, waiting;

	// Time of all that wait here, until now.
	void settle()
	{
		uint64_t now = now_ns();

		total += waiting * (now - since);
		since = now;
	}
};

static Place still{ "still", 0, 0, 0 }, longer{ "longer", 0, 0, 0 }, shorter{ "shorter", 0, 0, 0 };

struct Timer {
	uint64_t due;
	std::coroutine_handle<> coroutine;
	bool operator<(const Timer &other) const
	{
		return due > other.due;
	}
};

static std::priority_queue<Timer> timers;

struct Sleep {
	Place *place;
	uint64_t ns;
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> self)
	{
		place->settle();
		place->waiting++;
		timers.push({ now_ns() + ns, self });
	}
	void await_resume()
	{
		place->settle();
		place->waiting--;
	}
};

static Task<> sleep_still()
{
	co_await Sleep{ &still, 3600ull * 1000000000u }; // @still
}

static Task<> sleep_in_turns(int phase) // @turns
{
	co_await Sleep{ &shorter, 10000000ull * phase }; // @start
	for (;;) {
		co_await Sleep{ &longer, 300000000 };  // @longer
		co_await Sleep{ &shorter, 100000000 }; // @shorter
	}
}

static Task<> client(int phase)
{
	co_await sleep_in_turns(phase); // @client
}

static Task<> blocking() // @blocking
{
	for (;;)
		pause();
	co_return;
}

static volatile sig_atomic_t is_ended;

int main(int argc, char **argv)
{
	uint64_t end = now_ns() + 1000000000ull * (argc > 1 ? strtoul(argv[1], nullptr, 10) : 60);

	signal(SIGTERM, [](int) { is_ended = 1; });
	std::thread([] { blocking().start(); }).detach();
	for (int i = 0; i < 60; i++)
		sleep_still().detach().resume();
	for (int i = 0; i < 40; i++)
		client(i % 40).detach().resume();
	ready();
	while (!is_ended && now_ns() < end) {
		while (!timers.empty() && timers.top().due <= now_ns()) {
			auto next = timers.top().coroutine;

			timers.pop();
			next.resume();
		}
		usleep(1000);
	}
	for (Place *place : { &still, &longer, &shorter }) {
		place->settle();
		std::printf("time %s %llu\n", place->name, (unsigned long long)place->total);
	}
	std::fflush(stdout);
	_exit(7);
}
