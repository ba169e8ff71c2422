// SPDX-License-Identifier: MIT
// why_target.cpp - programs for why.sh to look at.
//
// usage: bench-why-target frames N | untouched BYTES | server
//
//   frames      N suspended coroutine frames, in stacks of two
//   untouched   memory of BYTES of which every 16,384th page is used, and 1,000 frames
//   server      64 coroutines that answer requests over socket pairs as fast as they can; prints
//               the number of requests, the time and its CPU time at every SIGUSR1
//
// Prints "ready" when it is so.
#include <coroutine>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

struct Task {
	struct promise_type {
		std::coroutine_handle<> continuation;

		Task get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		std::suspend_always initial_suspend() noexcept
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
	std::coroutine_handle<promise_type> handle;

	bool await_ready()
	{
		return false;
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller)
	{
		handle.promise().continuation = caller;
		return handle;
	}
	void await_resume()
	{
	}
};

// ---- frames ----------------------------------------------------------------------------

static std::coroutine_handle<> *waiting;
static size_t nr_waiting;

struct Enroll {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> self)
	{
		waiting[nr_waiting++] = self;
	}
	void await_resume()
	{
	}
};

static Task wait_for_message()
{
	co_await Enroll{};
}

static Task client()
{
	co_await wait_for_message();
}

static void make_frames(size_t nr)
{
	waiting = static_cast<std::coroutine_handle<> *>(calloc(nr / 2 + 1, sizeof(*waiting)));
	for (size_t i = 0; i < nr / 2; i++)
		client().handle.resume();
}

static void make_untouched(size_t bytes)
{
	char *memory = static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
						0));

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < bytes; at += size_t{ 16384 } * 4096)
		memory[at] = 1;
}

// ---- server ----------------------------------------------------------------------------

static int epoll;
static uint64_t requests;
static volatile sig_atomic_t is_asked;

struct Readable {
	int fd;
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> self)
	{
		epoll_event event{};

		event.events = EPOLLIN | EPOLLONESHOT;
		event.data.ptr = self.address();
		if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) < 0)
			epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	}
	void await_resume()
	{
	}
};

static Task serve(int fd)
{
	char text[64];

	for (;;) {
		co_await Readable{ fd };
		ssize_t got = read(fd, text, sizeof(text));

		if (got <= 0 || write(fd, text, size_t(got)) != got)
			exit(1);
		requests++;
	}
}

// The other end: the answer to one request is the next request.
static Task ask(int fd)
{
	char text[64] = "request";

	for (;;) {
		if (write(fd, text, sizeof(text)) != sizeof(text))
			exit(1);
		co_await Readable{ fd };
		if (read(fd, text, sizeof(text)) != sizeof(text))
			exit(1);
	}
}

static void report()
{
	timespec t, cpu;

	clock_gettime(CLOCK_MONOTONIC, &t);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	std::printf("%llu %lld%09ld %lld%09ld\n", static_cast<unsigned long long>(requests),
		    static_cast<long long>(t.tv_sec), t.tv_nsec, static_cast<long long>(cpu.tv_sec),
		    cpu.tv_nsec);
	std::fflush(stdout);
	is_asked = 0;
}

static void run_server()
{
	epoll_event events[64];

	epoll = epoll_create1(0);
	for (int i = 0; i < 64; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
			exit(1);
		serve(ends[0]).handle.resume();
		ask(ends[1]).handle.resume();
	}
	for (;;) {
		int nr = epoll_wait(epoll, events, 64, -1);

		if (is_asked)
			report();
		for (int i = 0; i < nr; i++)
			std::coroutine_handle<>::from_address(events[i].data.ptr).resume();
	}
}

int main(int argc, char **argv)
{
	std::string mode = argc > 1 ? argv[1] : "";
	size_t number = argc > 2 ? strtoull(argv[2], nullptr, 10) : 0;

	if (mode == "frames")
		make_frames(number);
	else if (mode == "untouched")
		make_frames(1000), make_untouched(number);
	else if (mode != "server")
		return 2;
	signal(SIGUSR1, [](int) { is_asked = 1; });
	std::printf("ready\n");
	std::fflush(stdout);
	if (mode == "server")
		run_server();
	pause();
}
