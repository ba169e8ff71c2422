/* SPDX-License-Identifier: MIT */
/*
 * writer_002.cpp - a C++20 program traced through a promise mixin, as the existing
 * header does it.
 *
 * await_transform() wraps what is awaited: a suspend event with the frame's address,
 * a resume event with 0.  The probe id is the promise's address, so the allocator
 * gives it out again; the destroy event comes from the promise's destructor.  Rewritten with that
 * header's order of stores, without corotracer's headers.
 *
 * usage: -c coroutines -e events of each (even) -p pause after each step in us
 *        -t threads -r rounds: all coroutines again, after those of the last round are destroyed
 * At the end one JSON object on stdout says what was really written.
 */
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

namespace
{

struct alignas(1024) GlobalHeader {
	uint64_t magic_number;
	uint32_t version;
	uint32_t max_stations;
	std::atomic<uint32_t> allocated_count;
	std::atomic<uint32_t> tracer_sleeping;
	char reserved[1000];
};

struct alignas(64) Epoch {
	uint64_t timestamp;
	uint64_t tid;
	uint64_t addr;
	std::atomic<uint64_t> seq;
	char reserved[31];
	bool is_active;
};

struct alignas(1024) StationData {
	uint64_t probe_id;
	uint64_t birth_ts;
	bool is_dead;
	char pad[47];
	Epoch slots[8];
	char flexible[448];
};

static_assert(sizeof(GlobalHeader) == 1024 && sizeof(Epoch) == 64 && sizeof(StationData) == 1024,
	      "the documents' sizes");

GlobalHeader *header;
StationData *stations;
uint32_t max_stations;
int sock = -1;

uint64_t now_ns()
{
	timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return uint64_t(ts.tv_sec) * 1000000000u + uint64_t(ts.tv_nsec);
}

void connect_socket(const char *path)
{
	sockaddr_un sun{};

	sun.sun_family = AF_UNIX;
	if (!path || strlen(path) >= sizeof(sun.sun_path))
		return;
	memcpy(sun.sun_path, path, strlen(path));
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(sock, reinterpret_cast<sockaddr *>(&sun), sizeof(sun)) < 0)
		sock = -1;
	else
		fcntl(sock, F_SETFL, O_NONBLOCK);
}

void init_tracer()
{
	const char *path = getenv("CTP_SHM_PATH"), *nr = getenv("CTP_MAX_STATIONS");
	void *map;
	int fd;

	if (!path || !nr) {
		fprintf(stderr, "no collector in the environment\n");
		exit(2);
	}
	max_stations = uint32_t(strtoul(nr, nullptr, 10));
	fd = open(path, O_RDWR);
	map = mmap(nullptr, 1024 + size_t(max_stations) * 1024, PROT_READ | PROT_WRITE, MAP_SHARED,
		   fd, 0);
	if (map == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	close(fd);
	header = static_cast<GlobalHeader *>(map);
	stations = reinterpret_cast<StationData *>(header + 1);
	connect_socket(getenv("CTP_SOCK_PATH"));
}

void wake_collector()
{
	uint32_t asleep = 1;

	std::atomic_thread_fence(std::memory_order_seq_cst);
	if (header->tracer_sleeping.load(std::memory_order_relaxed) != 1)
		return;
	if (header->tracer_sleeping.compare_exchange_strong(asleep, 0) && sock >= 0 &&
	    write(sock, "1", 1) < 0)
		return; // a full socket has already woken it
}

// What each coroutine wrote, stored by its promise's destructor.
struct Written {
	uint64_t probe_id;
	long station;
	uint64_t events;
};

std::mutex written_lock;
std::vector<Written> written;

struct PromiseMixin;

template <typename Awaiter> struct TracedAwaiter {
	Awaiter inner;
	PromiseMixin *promise;

	bool await_ready()
	{
		return inner.await_ready();
	}

	template <typename Promise> auto await_suspend(std::coroutine_handle<Promise> handle);
	auto await_resume();
};

struct PromiseMixin {
	StationData *my_station = nullptr;
	uint64_t event_count = 0;

	PromiseMixin()
	{
		uint32_t index = header->allocated_count.fetch_add(1);

		if (index >= max_stations)
			return;
		my_station = &stations[index];
		my_station->probe_id = reinterpret_cast<uint64_t>(this);
		my_station->birth_ts = now_ns();
		my_station->is_dead = false;
	}

	~PromiseMixin()
	{
		std::lock_guard<std::mutex> guard(written_lock);

		written.push_back({ reinterpret_cast<uint64_t>(this),
				    my_station ? long(my_station - stations) : -1, event_count });
		if (my_station)
			my_station->is_dead = true;
	}

	void write_trace(uint64_t addr, bool is_active)
	{
		if (!my_station)
			return;
		Epoch &slot = my_station->slots[event_count++ % 8];
		uint64_t seq = slot.seq.load(std::memory_order_relaxed);

		slot.seq.store(seq + 1, std::memory_order_release);
		slot.addr = addr;
		slot.tid = uint64_t(syscall(SYS_gettid));
		slot.timestamp = now_ns();
		slot.is_active = is_active;
		slot.seq.store(seq + 2, std::memory_order_release);
		wake_collector();
	}

	template <typename Awaiter> auto await_transform(Awaiter &&awaiter)
	{
		return TracedAwaiter<std::decay_t<Awaiter>>{ std::forward<Awaiter>(awaiter), this };
	}
};

template <typename Awaiter>
template <typename Promise>
auto TracedAwaiter<Awaiter>::await_suspend(std::coroutine_handle<Promise> handle)
{
	promise->write_trace(reinterpret_cast<uint64_t>(handle.address()), false);
	return inner.await_suspend(handle);
}

template <typename Awaiter> auto TracedAwaiter<Awaiter>::await_resume()
{
	promise->write_trace(0, true);
	return inner.await_resume();
}

// The scheduler: a queue of ready coroutines, and threads that take from it.
std::mutex queue_lock;
std::deque<std::coroutine_handle<>> queue;
std::atomic<unsigned long> running{ 0 };

void enqueue(std::coroutine_handle<> handle)
{
	std::lock_guard<std::mutex> guard(queue_lock);

	queue.push_back(handle);
}

struct Yield {
	bool await_ready()
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> handle)
	{
		enqueue(handle);
	}

	void await_resume()
	{
	}
};

// Frames come from a pool, as in many schedulers: a new coroutine gets the address of a destroyed
// one.
std::mutex pool_lock;
std::vector<std::pair<size_t, void *>> pool;

void *pool_take(size_t size)
{
	std::lock_guard<std::mutex> guard(pool_lock);

	if (pool.empty() || pool.back().first != size)
		return ::operator new(size);
	void *frame = pool.back().second;

	pool.pop_back();
	return frame;
}

void pool_give(void *frame, size_t size)
{
	std::lock_guard<std::mutex> guard(pool_lock);

	pool.emplace_back(size, frame);
}

void pool_empty()
{
	for (auto &entry : pool)
		::operator delete(entry.second);
	pool.clear();
}

void pool_release()
{
	for (auto &entry : pool)
		::operator delete(entry.second);
	pool.clear();
}

struct Task {
	struct promise_type : PromiseMixin {
		static void *operator new(size_t size)
		{
			return pool_take(size);
		}

		static void operator delete(void *frame, size_t size)
		{
			pool_give(frame, size);
		}

		Task get_return_object()
		{
			return {};
		}

		std::suspend_never initial_suspend()
		{
			return {};
		}

		std::suspend_never final_suspend() noexcept
		{
			return {};
		}

		void return_void()
		{
			running--;
		}

		void unhandled_exception()
		{
			std::terminate();
		}
	};
};

Task worker(unsigned long yields)
{
	for (unsigned long i = 0; i < yields; i++)
		co_await Yield{};
}

void run_queue(unsigned long pause_us)
{
	while (running.load()) {
		std::coroutine_handle<> next;

		{
			std::lock_guard<std::mutex> guard(queue_lock);

			if (!queue.empty()) {
				next = queue.front();
				queue.pop_front();
			}
		}
		if (next)
			next.resume();
		else
			std::this_thread::yield();
		if (next && pause_us)
			std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
	}
}

void run_round(unsigned long coroutines, unsigned long events, unsigned long pause_us,
	       unsigned long nr_threads)
{
	std::vector<std::thread> threads;

	running = coroutines;
	for (unsigned long i = 0; i < coroutines; i++)
		worker(events / 2);
	for (unsigned long i = 0; i < nr_threads; i++)
		threads.emplace_back(run_queue, pause_us);
	for (auto &thread : threads)
		thread.join();
}

void report()
{
	const char *comma = "";

	printf("{\"writer\":\"seed-002\",\"pid\":%d,\"coroutines\":[", int(getpid()));
	for (const Written &w : written) {
		printf("%s{\"probe_id\":%llu,\"station\":%ld,\"events\":%llu}", comma,
		       static_cast<unsigned long long>(w.probe_id), w.station,
		       static_cast<unsigned long long>(w.events));
		comma = ",";
	}
	printf("]}\n");
}

} // namespace

int main(int argc, char **argv)
{
	unsigned long coroutines = 4, events = 24, pause_us = 0, threads = 1, rounds = 1;
	int c;

	while ((c = getopt(argc, argv, "c:e:p:t:r:")) != -1) {
		unsigned long value = optarg ? strtoul(optarg, nullptr, 10) : 0;

		switch (c) {
		case 'c':
			coroutines = value;
			break;
		case 'e':
			events = value;
			break;
		case 'p':
			pause_us = value;
			break;
		case 't':
			threads = value;
			break;
		case 'r':
			rounds = value;
			break;
		default:
			return 2;
		}
	}
	init_tracer();
	for (unsigned long i = 0; i < rounds; i++)
		run_round(coroutines, events, pause_us, threads);
	report();
	pool_release();
	pool_empty();
	return 0;
}
