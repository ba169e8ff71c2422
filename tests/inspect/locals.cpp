// SPDX-License-Identifier: MIT
// locals.cpp - coroutines with variables; prints what `corotracer why --locals` must show.
//
// `local FUNCTION NUMBER NAME KIND TEXT`: in the member whose parameter `number` is NUMBER, the
// variable NAME ("point.x", "numbers.2") of FUNCTION is a `value`, has a `length`, is `absent`
// because it is out of scope, or is not `set` yet.
#include "tasks.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#define SECRET  "hunter2-and-more"
#define KEEP(x) asm volatile("" : : "g"(&(x)) : "memory")

enum class Color : unsigned char { red, green = 7, blue };
enum Level { low = -1, high = 1 };

struct Point {
	int x;
	double y;
};

struct Base {
	short inherited;
};

struct Inner : Base {
	Point point;
	const char *label;
	bool on;
	unsigned low_bits : 3;
	int high_bits : 9;
};

union Overlay {
	char text[16];
	uint64_t words[2];
};

struct Loop {
	Loop &again;
	int depth;
};

// Starts at once: the first suspension is in the function that creates the frame.
struct Eager {
	struct promise_type {
		Eager get_return_object()
		{
			return {};
		}
		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_never final_suspend() noexcept
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

static Gate gate;
static volatile int sink;

static void say(const char *function, int number, const char *name, const char *kind,
		long long value)
{
	std::printf("local %s %d %s %s %lld\n", function, number, name, kind, value);
}

static void say_text(const char *function, int number, const char *name, const char *kind,
		     const char *text)
{
	std::printf("local %s %d %s %s %s\n", function, number, name, kind, text);
}

// What is printed of `leaf` is the same for all compilers.
static void say_leaf(int number)
{
	const char *f = "leaf";

	say(f, number, "text", "length", 5);
	say(f, number, "point.x", "value", number);
	say_text(f, number, "point.y", "value", "1.5");
	say(f, number, "other", "length", 40);
	say(f, number, "big", "value", 1ll << 40);
	say(f, number, "negative", "value", -number - 1);
	say_text(f, number, "flag", "value", number > 1 ? "True" : "False");
	say_text(f, number, "color", "value", "green");
	say_text(f, number, "level", "value", "low");
	say_text(f, number, "ratio", "value", "0.25");
	say(f, number, "buffer", "length", 32);
	say(f, number, "numbers", "length", 4);
	say(f, number, "numbers.3", "value", number);
	say(f, number, "list", "length", number);
	say(f, number, "inner.inherited", "value", 11);
	say(f, number, "inner.point.x", "value", number);
	say(f, number, "inner.label", "length", 5);
	say_text(f, number, "inner.on", "value", "True");
	say(f, number, "inner.low_bits", "value", 5);
	say(f, number, "inner.high_bits", "value", -7);
	say(f, number, "shadow", "value", 99);
	say(f, number, "nested", "value", 297);
	say(f, number, "later", "absent", 0);
	say(f, number, "earlier", "absent", 0);
	say(f, number, "after", "absent", 0);
}

static Task<int> leaf(int number, std::string text, Point &point, std::string &other)
{
	unsigned long long big = 1ull << 40;
	long negative = -number - 1;
	bool flag = number > 1;
	Color color = Color::green;
	Level level = low;
	float ratio = 0.25f;
	char buffer[32];
	int numbers[4] = { 1, 2, 3, number };
	std::vector<int> list(static_cast<size_t>(number), 5);
	Inner inner = { { 11 }, { number, 2.5 }, "label", true, 5, -7 };

	std::strcpy(buffer, SECRET);
	KEEP(number);
	KEEP(big);
	KEEP(negative);
	KEEP(flag);
	KEEP(color);
	KEEP(level);
	KEEP(ratio);
	KEEP(buffer);
	KEEP(numbers);
	KEEP(list);
	KEEP(inner);
	{
		long earlier = number;

		KEEP(earlier);
	}
	if (number > 0) {
		int shadow = 99;
		long nested = shadow * 3;

		say_leaf(number);
		co_await gate.wait(static_cast<int>(nested)); // @locals_leaf
		KEEP(shadow);
		KEEP(nested);
	}
	{
		long later = 12;

		co_await gate.wait(static_cast<int>(later));
		KEEP(later);
	}
	int after = number;

	KEEP(after);
	KEEP(number);
	KEEP(big);
	KEEP(negative);
	KEEP(flag);
	KEEP(color);
	KEEP(level);
	KEEP(ratio);
	KEEP(buffer);
	KEEP(numbers);
	KEEP(list);
	KEEP(inner);
	co_return static_cast<int>(text.size() + other.size()) + point.x;
}

static Task<void> root(int number)
{
	Point point = { number, 1.5 };
	std::string other(40, 'o');

	KEEP(number);
	KEEP(point);
	say("root", number, "number", "value", number);
	say("root", number, "point.x", "value", number);
	say("root", number, "other", "length", 40);
	say("root", number, "got", "set", 0);
	int got = co_await leaf(number, "hello", point, other); // @locals_root
	KEEP(number);
	sink = got + static_cast<int>(other.size()) + point.x;
}

static Eager eager(int number)
{
	int square = number * number;
	std::string word = "eager";

	KEEP(number);
	KEEP(square);
	KEEP(word);
	say("eager", number, "square", "value", square);
	say("eager", number, "word", "length", 5);
	co_await gate.wait(square); // @locals_eager
	KEEP(number);
	KEEP(square);
	KEEP(word);
}

struct Counter {
	int base;

	Task<void> method(int number)
	{
		int sum = base + number;

		KEEP(sum);
		say("method", number, "sum", "value", sum);
		say("method", number, "number", "value", number);
		co_await gate.wait(sum); // @locals_method
		KEEP(sum);
		sink = base;
	}
};

// Everything that may hold a secret.
static Task<void> secrets(std::string password, const char *pointer, std::string_view view)
{
	std::string lengthy = std::string(SECRET) + "-and-even-more-of-it";
	std::optional<std::string> perhaps = password;
	std::vector<char> characters(password.begin(), password.end());
	std::vector<std::string> several = { password, password };
	std::array<char, 24> array = {};
	Overlay overlay = {};
	unsigned char bytes[24] = {};
	char odd[32] = "\x1b[31m red \x07\xff\xfe \xe2\x80\xae end\n";
	std::wstring wide = L"" SECRET;

	std::memcpy(array.data(), SECRET, sizeof(SECRET));
	std::memcpy(overlay.text, SECRET, sizeof(overlay.text));
	std::memcpy(bytes, SECRET, sizeof(SECRET));
	KEEP(array);
	KEEP(overlay);
	KEEP(bytes);
	KEEP(odd);
	co_await gate.wait(); // @locals_secrets
	KEEP(array);
	KEEP(overlay);
	KEEP(bytes);
	KEEP(odd);
	sink = static_cast<int>(lengthy.size() + perhaps->size() + characters.size() +
				several.size() + view.size() + wide.size()) +
	       pointer[0];
}

// Objects that are damaged, or refer to nothing.
static Task<void> damaged(int number)
{
	std::string broken = "broken";
	std::vector<int> reversed(4);
	const char *wild = reinterpret_cast<const char *>(8);
	const char *endless = reinterpret_cast<const char *>(-16ll);
	Point &nowhere = *reinterpret_cast<Point *>(16);
	Loop loop = { loop, number };
	Loop &cycle = loop;
	Color unknown = static_cast<Color>(99);
	const uint64_t huge = ~0ull;
	void *begin;

	// Length of the string; end of the vector before its beginning.
	std::memcpy(reinterpret_cast<char *>(&broken) + 8, &huge, sizeof(huge));
	std::memcpy(&begin, static_cast<void *>(&reversed), sizeof(begin));
	begin = static_cast<char *>(begin) - 4096;
	std::memcpy(reinterpret_cast<char *>(&reversed) + 8, &begin, sizeof(begin));
	KEEP(broken);
	KEEP(reversed);
	KEEP(wild);
	KEEP(endless);
	KEEP(loop);
	KEEP(unknown);
	co_await gate.wait(); // @locals_damaged
	KEEP(broken);
	KEEP(reversed);
	KEEP(wild);
	KEEP(endless);
	KEEP(loop);
	KEEP(unknown);
	sink = cycle.depth + (number ? 0 : nowhere.x);
}

int main()
{
	static Counter counter = { 40 };
	static const char pointer[] = SECRET;

	for (int number = 1; number <= 3; number++) {
		auto task = root(number);

		task.start();
		task.detach();
	}
	eager(7);
	auto method = counter.method(2);
	auto secret = secrets(SECRET, pointer, pointer);
	auto bad = damaged(3);

	method.start();
	secret.start();
	bad.start();
	expect(3, "locals_leaf locals_root");
	expect(1, "locals_eager");
	expect(1, "locals_method");
	expect(1, "locals_secrets");
	expect(1, "locals_damaged");
	ready();
	pause();
	while (!gate.waiting.empty())
		gate.open_one();
}
