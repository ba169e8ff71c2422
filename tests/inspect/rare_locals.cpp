// SPDX-License-Identifier: MIT
// rare_locals.cpp - a coroutine with variables of rare types, for test_saved_programs.c.
//
// With few headers: it is built by several compilers, with several forms of debug information.
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#define KEEP(x) asm volatile("" : : "g"(&(x)) : "memory")

static std::coroutine_handle<> held[8];
static int nr_held;

struct Never {
	bool await_ready() noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> self) noexcept
	{
		held[nr_held++] = self;
	}
	void await_resume() noexcept
	{
	}
};

// A promise that is aligned more than usual, with members of its own.
struct Job {
	struct alignas(64) promise_type {
		int priority = 7;
		void *owner = nullptr;

		Job get_return_object()
		{
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
			abort();
		}
		// The allocator of the library aligns to 16.
		static void *operator new(size_t size)
		{
			return aligned_alloc(64, (size + 63) / 64 * 64);
		}
		static void operator delete(void *p)
		{
			free(p);
		}
	};
};

namespace outer
{
namespace
{
struct Bits {
	unsigned low : 3;
	int negative : 5;
	uint64_t wide : 40;
	bool flag : 1;
};
} // namespace

template <typename T, int N> struct Box {
	T items[N];

	struct Inner {
		T first;
	} inner;
};

struct Base {
	int base_number = 11;
};

struct Derived : Base {
	int own_number = 22;
};
} // namespace outer

enum class Small : int8_t { minus = -5, zero = 0, big = 100 };
enum Plain { one = 1, two = 2 };

union Number {
	int32_t integer;
	uint8_t bytes[4];
	struct {
		uint16_t low, high;
	} halves;
};

union Text {
	long number;
	char letters[16];
};

struct Nested {
	int before;
	union {
		int a;
		unsigned b;
	};
	struct {
		int x, y;
	};
	struct Unknown *unknown;
	const volatile int *pointer;
};

struct Empty {
};

static int function(int x)
{
	return x + 1;
}

static Job numbers(int argument, const int &reference, int &&moved)
{
	outer::Bits bits = { 5, -3, 0x123456789a, true };
	Small small = Small::minus, odd = static_cast<Small>(77);
	Plain plain = two;
	Number number = { 0x01020304 };
	Text text = { 42 };
	float half = 0.5F;
	double nan = __builtin_nan("");
	long double large = 1.25L;
	__int128 huge = -1;
	unsigned char byte = 255;
	signed char negative = -100;
	char16_t wide = u'\u20ac';
	char8_t narrow = u8'x';
	wchar_t letter = L'w';
	std::nullptr_t null = nullptr;
	void *nowhere = nullptr;
	int (*call)(int) = function;
	int Nested::*member = &Nested::before;

	KEEP(argument);
	KEEP(reference);
	KEEP(moved);
	KEEP(bits);
	KEEP(small);
	KEEP(odd);
	KEEP(plain);
	KEEP(number);
	KEEP(text);
	KEEP(half);
	KEEP(nan);
	KEEP(large);
	KEEP(huge);
	KEEP(byte);
	KEEP(negative);
	KEEP(wide);
	KEEP(narrow);
	KEEP(letter);
	KEEP(null);
	KEEP(nowhere);
	KEEP(call);
	KEEP(member);
	co_await Never{};
	KEEP(argument);
	KEEP(bits);
	KEEP(small);
	KEEP(odd);
	KEEP(plain);
	KEEP(number);
	KEEP(text);
	KEEP(half);
	KEEP(nan);
	KEEP(large);
	KEEP(huge);
	KEEP(byte);
	KEEP(negative);
	KEEP(wide);
	KEEP(narrow);
	KEEP(letter);
	KEEP(null);
	KEEP(nowhere);
	KEEP(call);
	KEEP(member);
}

static Job structures(outer::Box<short, 3> box, outer::Derived derived)
{
	Nested nested = { 1, { 2 }, { 3, 4 }, nullptr, nullptr };
	int matrix[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
	uint16_t row[100];
	Empty empty;
	static const char *const names[] = { "a", "b" };
	const char *const *list = names;
	outer::Box<outer::Base, 1> boxes = { { { 9 } }, { { 8 } } };

	for (int i = 0; i < 100; i++)
		row[i] = static_cast<uint16_t>(i);
	KEEP(box);
	KEEP(derived);
	KEEP(nested);
	KEEP(matrix);
	KEEP(row);
	KEEP(empty);
	KEEP(list);
	KEEP(boxes);
	{
		int inner = 5;

		KEEP(inner);
		co_await Never{};
		KEEP(inner);
	}
	KEEP(box);
	KEEP(derived);
	KEEP(nested);
	KEEP(matrix);
	KEEP(row);
	KEEP(empty);
	KEEP(list);
	KEEP(boxes);
}

int main()
{
	static int kept = 3;
	int moved = 4;

	alarm(300);
	numbers(-1, kept, static_cast<int &&>(moved));
	structures({ { 1, 2, 3 }, { 4 } }, {});
	puts("ready");
	fflush(stdout);
	pause();
}
