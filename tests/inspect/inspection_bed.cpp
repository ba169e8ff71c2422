// SPDX-License-Identifier: MIT
// inspection_bed.cpp - coroutines in every state that an inspection tells apart.
//
// Run by test_inspection.c, which knows the numbers below.  It prints its descriptors as
// "NAME NUMBER" and "ready", and is looked at then.
#include "tasks.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thread>

#define KEEP(x) asm volatile("" : : "g"(&(x)) : "memory")

static Gate gate;
static volatile int sink;
static std::mutex held_lock;
static std::vector<std::coroutine_handle<>> held; // keeps them reachable

// Waits for a descriptor and is never woken.
struct ReadReady {
	int fd;
	bool await_ready() noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> self)
	{
		held.push_back(self);
	}
	void await_resume() noexcept
	{
	}
};

struct WriteReady : ReadReady {
};

struct Silence {
	bool await_ready() noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<>) noexcept
	{
	}
	void await_resume() noexcept
	{
	}
};

enum class Color : unsigned char { red, green = 7 };

struct Point {
	int x;
	double y;
};

struct Letters {
	char32_t a, e, euro, smile;
};

static Task<int> leaf(int number)
{
	long wide = 1000000000000 + number;
	unsigned char small = 200;
	bool flag = true;
	Color color = Color::green;
	Point point = { number, 2.5 };
	int list[3] = { 1, 2, number };
	std::string text = "secret";
	Letters letters = { U'A', U'\u00e9', U'\u20ac', U'\U0001f600' };

	KEEP(number);
	KEEP(wide);
	KEEP(small);
	KEEP(flag);
	KEEP(color);
	KEEP(point);
	KEEP(list);
	KEEP(text);
	KEEP(letters);
	co_return co_await gate.wait(number); // @leaf
}

static Task<int> middle(int number)
{
	co_return co_await leaf(number) + 1; // @middle
}

static Task<> root(int number)
{
	co_await middle(number); // @root
}

static Task<> reads(int fd)
{
	KEEP(fd);
	co_await ReadReady{ fd }; // @reads
	sink = fd;                // used after the suspension: it is in the frame
}

static Task<> writes(int fd)
{
	KEEP(fd);
	co_await WriteReady{ { fd } }; // @writes
	sink = fd;
}

static Task<> lost()
{
	co_await Silence{}; // @lost
}

static Task<> done()
{
	co_return;
}

static Task<> not_started() // @not_started
{
	co_await gate.wait();
}

static Task<> blocks(int fd)
{
	char byte;

	co_await gate.wait();
	while (read(fd, &byte, 1) == 1)
		;
}

// As a coroutine of the SDK: its promise has the address of an entry in a region.
struct Station {
	uint64_t before;
	const void *life;
};

struct Traced {
	struct promise_type {
		Station my_station{};

		promise_type(uintptr_t entry)
		{
			my_station.life = reinterpret_cast<const void *>(entry);
		}
		Traced get_return_object()
		{
			held.push_back(std::coroutine_handle<promise_type>::from_promise(*this));
			return {};
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
			std::terminate();
		}
	};
};

static Traced traced(uintptr_t entry)
{
	KEEP(entry);
	co_await Silence{}; // @traced
}

static void name_fd(const char *name, int fd)
{
	std::printf("%s %d\n", name, fd);
}

// A socket pair with @bytes to read, watched with @events; 0: not watched.
static int make_socket(int epoll, int bytes, uint32_t events)
{
	int ends[2];
	epoll_event ev{ events, {} };

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		std::terminate();
	if (events && epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &ev))
		std::terminate();
	for (int i = 0; i < bytes; i++) {
		if (write(ends[1], "x", 1) != 1)
			std::terminate();
	}
	return ends[0];
}

static void wait_for_descriptors()
{
	int epoll = epoll_create1(0), empty, unread, edge, timer, closed, count;
	itimerspec soon{ {}, { 0, 1 } };
	epoll_event ev[4];

	empty = make_socket(epoll, 0, EPOLLIN);
	unread = make_socket(epoll, 3, 0);
	edge = make_socket(epoll, 2, EPOLLIN | EPOLLET);
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	timerfd_settime(timer, 0, &soon, nullptr);
	count = eventfd(5, 0);
	closed = dup(empty);
	close(closed);
	epoll_wait(epoll, ev, 4, 1000); // takes the edge
	for (int fd : { empty, unread, edge, timer, closed, count })
		reads(fd).detach().resume();
	writes(empty).detach().resume(); // writable, registered without EPOLLOUT
	name_fd("empty", empty);
	name_fd("unread", unread);
	name_fd("edge", edge);
	name_fd("timer", timer);
	name_fd("closed", closed);
	name_fd("count", count);
	name_fd("epoll", epoll);
}

__attribute__((noinline)) static void lose_two()
{
	for (int i = 0; i < 2; i++)
		lost().detach().resume();
}

// No address of a coroutine is left below the stack of main.
__attribute__((noinline)) static void wipe_stack()
{
	volatile char room[65536];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

int main()
{
	int ends[2];

	alarm(300);
	if (pipe(ends))
		return 1;
	std::thread([ends] {
		char byte;

		while (read(ends[0], &byte, 1) == 1)
			;
	}).detach();
	held_lock.lock();
	std::thread([] { held_lock.lock(); }).detach(); // waits for the main thread
	blocks(ends[0]).detach().resume();
	auto running = gate.waiting.front();
	gate.waiting.pop_front();
	for (int i = 1; i <= 3; i++) {
		auto task = root(i).detach();

		held.push_back(task);
		task.resume();
	}
	for (uintptr_t entry = 1; entry <= 5; entry++)
		traced(entry << 20);
	lose_two();
	auto finished = done().detach();
	held.push_back(finished);
	finished.resume();
	held.push_back(not_started().detach());
	wait_for_descriptors();
	name_fd("pipe", ends[0]);
	wipe_stack();
	ready();
	running.resume(); // blocks in read()
	return 1;
}
