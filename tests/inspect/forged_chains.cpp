// SPDX-License-Identifier: MIT
// forged_chains.cpp - memory that looks like coroutine frames: rings, a very long chain, copies
// that await themselves; and three real coroutines.
#include "tasks.h"

#include <cstdlib>
#include <cstring>

static Gate gate;

static Task<> real()
{
	co_await gate.wait(); // @real
}

static Task<> copied()
{
	co_await gate.wait(); // @copied
}

static char *original;
static size_t frame_size;

// A copy of the frame, whose continuation is set by the caller.
static char *forge()
{
	char *copy = static_cast<char *>(malloc(frame_size));

	std::memcpy(copy, original, frame_size);
	return copy;
}

static void set_parent(char *frame, char *parent)
{
	auto handle = std::coroutine_handle<Promise<void>>::from_address(frame);

	handle.promise().continuation = std::coroutine_handle<>::from_address(parent);
}

int main()
{
	size_t chain = 150000;
	auto task = copied().detach();

	for (int i = 0; i < 3; i++)
		real().detach().resume();
	task.resume();
	original = static_cast<char *>(task.address());
	frame_size = 64;
	for (int size : { 1, 2, 3, 1000 }) {
		char *first = forge(), *last = first;

		for (int i = 1; i < size; i++) {
			char *next = forge();

			set_parent(last, next);
			last = next;
		}
		set_parent(last, first);
	}
	char *last = forge();

	for (size_t i = 1; i < chain; i++) {
		char *next = forge();

		set_parent(last, next);
		last = next;
	}
	ready();
	pause();
}
