// SPDX-License-Identifier: MIT
// forged.cpp - memory that looks like coroutines: copies of a real frame, linked in any way.
//
//	forged ring | self | nested | sizes | chain N | pairs N
#include "tasks.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>

static std::coroutine_handle<> parked;

struct Park {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> self)
	{
		parked = self;
	}
	void await_resume()
	{
	}
};

static Task<> copied()
{
	co_await Park{}; // @copied
}

// A copy of the frame; the end of it is not used.
constexpr size_t frame_size = 64;

static std::coroutine_handle<Promise<void>> copy_frame(void *to)
{
	std::memcpy(to, parked.address(), frame_size);
	return std::coroutine_handle<Promise<void>>::from_address(to);
}

static char *new_memory(size_t size)
{
	return static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

// Each waits for the next, and the last for the first, if @ring.
static void link_frames(size_t nr, bool ring)
{
	char *memory = new_memory(nr * frame_size);

	for (size_t i = 0; i < nr; i++)
		copy_frame(memory + i * frame_size);
	for (size_t i = 0; i < nr; i++) {
		void *next = memory + (i + 1) % nr * frame_size;

		if (i + 1 < nr || ring)
			copy_frame(memory + i * frame_size).promise().continuation =
				std::coroutine_handle<>::from_address(next);
	}
}

// The two addresses again and again.
static void fill_pairs(size_t nr)
{
	auto *to = reinterpret_cast<uintptr_t *>(new_memory(nr * 16));
	auto *pair = static_cast<uintptr_t *>(parked.address());

	for (size_t i = 0; i < nr; i++) {
		to[2 * i] = pair[0];
		to[2 * i + 1] = pair[1];
	}
}

int main(int argc, char **argv)
{
	std::string how = argc > 1 ? argv[1] : "";
	size_t nr = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 3;

	alarm(120);
	copied().detach().resume();
	if (how == "ring")
		link_frames(nr, true);
	else if (how == "self")
		link_frames(1, true);
	else if (how == "chain")
		link_frames(nr, false);
	else if (how == "pairs")
		fill_pairs(nr);
	else if (how == "nested") // the beginning of a frame in the end of another, a hundred deep
		for (char *to = new_memory(65536), *end = to + 1600; to < end; to += 16)
			copy_frame(to);
	else if (how == "sizes") // the headers of malloc before and behind a frame
		for (int i = 0; i < 8; i++) {
			auto *volatile block = static_cast<uint64_t *>(std::malloc(frame_size));
			uint64_t *header = block - 1;

			copy_frame(block);
			*header = i % 2 ? ~uint64_t(7) : uint64_t(1) << (i * 8);
		}
	expect(1, "copied");
	ready();
	pause();
	return 0;
}
