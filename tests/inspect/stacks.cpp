// SPDX-License-Identifier: MIT
// stacks.cpp - chains of tasks: functions, members, templates, lambdas, several awaits, when_all.
#include "tasks.h"

#include <string>

static Gate gate, other_gate;

namespace net
{
static Task<int> read_some(int id, std::string name)
{
	int got = co_await gate.wait(id); // @read_first

	std::printf("%s got %d\n", name.c_str(), got);
	got += co_await gate.wait(id + 1); // @read_second
	co_return got;
}

struct Session {
	int id;
	Task<int> handshake()
	{
		int n = co_await read_some(id, "handshake"); // @handshake

		co_return n;
	}
	Task<> serve()
	{
		for (int i = 0; i < 3; i++) {
			try {
				int n = co_await handshake(); // @serve

				std::printf("session %d: %d\n", id, n);
			} catch (...) {
				co_return;
			}
		}
	}
};
} // namespace net

template <typename T> static Task<T> twice(T value)
{
	if (value > T(10))
		co_await other_gate.wait(); // @twice_large
	else
		co_await other_gate.wait(1); // @twice_small
	co_return value * 2;
}

static Task<> sum()
{
	int a = co_await twice(3); // @sum_int
	double b = co_await twice(30.0);

	std::printf("%f\n", a + b);
}

static Task<> sum_large()
{
	std::printf("%f\n", co_await twice(30.0)); // @sum_double
}

static Task<> both()
{
	std::string text = "kept alive across the wait";

	co_await WhenAll(twice(5), net::read_some(7, text)); // @both
	std::printf("%s\n", text.c_str());
}

// Created, and never started.
static Task<> never_started() // @never_started
{
	co_await gate.wait();
}

int main()
{
	std::deque<net::Session> sessions;
	std::vector<Task<>> tasks;

	for (int i = 0; i < 4; i++) {
		sessions.push_back({ i });
		tasks.push_back(sessions.back().serve());
		tasks.back().start();
	}
	gate.open_one();
	expect(3, "read_first handshake serve");
	expect(1, "read_second handshake serve");

	tasks.push_back(sum());
	tasks.back().start();
	tasks.push_back(sum_large());
	tasks.back().start();
	expect(1, "twice_small sum_int");
	expect(1, "twice_large sum_double");

	auto lambda = [](int n) -> Task<> {
		co_await other_gate.wait(n); // @lambda
	};
	for (int i = 0; i < 2; i++) {
		tasks.push_back(lambda(i));
		tasks.back().start();
	}
	expect(2, "lambda");

	tasks.push_back(both());
	tasks.back().start();
	expect(1, "twice_small when_all_child both");
	expect(1, "read_first when_all_child both");

	tasks.push_back(never_started());
	expect(1, "never_started");
	ready();
	pause();
}
