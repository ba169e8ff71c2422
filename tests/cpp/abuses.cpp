// SPDX-License-Identifier: MIT
// abuses.cpp - scenarios: incorrect use, and its effect.
#include "scenarios.h"

#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace
{

Eager waits_twice()
{
	co_await std::suspend_always{}; // @first
	co_await std::suspend_always{}; // @second
}

void run_init_never()
{
	Eager e = named("never", waits_twice);

	e.handle.resume();
	e.handle.resume();
}

void run_init_twice()
{
	corotracer::InitTracer();
	corotracer::InitTracer();
	run_init_never();
	corotracer::InitTracer();
}

void run_init_late()
{
	Eager before = named("before", waits_twice);

	corotracer::InitTracer();
	before.handle.resume();
	before.handle.resume();
	run_init_never();
}

// A promise outside a coroutine may be copied and moved: the copies have no coroutine.
void run_copies()
{
	using Promise = Eager::promise_type;
	Promise original;

	original.write_trace(1, false);
	{
		Promise copy = original;
		Promise moved = std::move(copy);
		std::vector<Promise> many(10, original);

		expect(!copy.is_traced() && !moved.is_traced() && !many[3].is_traced(),
		       "a copy is traced");
		copy.write_trace(2, false);
		moved = original;
		moved.write_trace(3, false);
		original = moved;
	}
	expect(original.is_traced() == corotracer::enabled(), "the original is not traced");
	original.write_trace(0, true);
}

// Destroyed by a destructor that runs after main(), and never destroyed.
struct Outlives {
	std::coroutine_handle<> handle;

	~Outlives()
	{
		if (handle)
			handle.destroy();
		handle = nullptr;
	}
};

Outlives after_main;

void run_outlives()
{
	static Outlives in_function;

	after_main.handle = named("static", waits_twice).handle;
	in_function.handle = named("local static", waits_twice).handle;
	std::atexit([] { in_function.handle.resume(); });
	named("leaked", waits_twice);
}

// Threads that start and end, and do not use the SDK.
void run_strangers()
{
	for (int i = 0; i < 20; i++) {
		Eager e = named("visited", waits_twice);

		std::thread(e.handle).join();
		std::thread(e.handle).join();
	}
}

// Resumed by a thread_local destructor, while the thread exits.
void run_last_breath()
{
	struct Breath {
		std::coroutine_handle<> handle;

		~Breath()
		{
			if (handle)
				handle.resume();
		}
	};
	Eager e = named("breath", waits_twice);

	std::thread([e] {
		static thread_local Breath breath;

		breath.handle = e.handle;
	}).join();
	e.handle.resume();
}

Eager one_of_many()
{
	co_await Park{}; // @many
}

void run_many()
{
	for (int i = 0; i < 10000; i++)
		one_of_many();
	resume_all();
}

// Runs for ever; prints when it runs.
void run_endless()
{
	struct sigaction act = {};

	act.sa_handler = [](int) { _exit(0); };
	sigaction(SIGTERM, &act, nullptr);
	std::printf("running\n");
	std::fflush(stdout);
	for (long i = 0;; i++) {
		Eager e = named("endless", waits_twice);

		errno = 77;
		e.handle.resume();
		e.handle.resume();
		expect(errno == 77, "errno changed");
		if (i % 100 == 99)
			usleep(1000);
	}
}

// The child of a fork has its own coroutines; the inherited ones belong to the parent.
void run_fork()
{
	Eager e = named("inherited", waits_twice);
	pid_t child = fork();

	if (child == 0) {
		e.handle.resume();
		run_init_never();
		e.handle.resume();
		_exit(0);
	}
	waitpid(child, nullptr, 0);
	e.handle.resume();
	e.handle.resume();
}

const Scenario scenarios[] = {
	{ "init-never", run_init_never },   { "init-twice", run_init_twice },
	{ "init-late", run_init_late },     { "copies", run_copies },
	{ "outlives", run_outlives },       { "strangers", run_strangers },
	{ "last-breath", run_last_breath }, { "many", run_many },
	{ "endless", run_endless },         { "fork", run_fork },
};

} // namespace

const Scenarios abuses = { scenarios, COUNT_OF(scenarios) };
