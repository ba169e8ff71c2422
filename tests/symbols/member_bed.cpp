// SPDX-License-Identifier: MIT
// member_bed.cpp - see member_bed.h.
#include "member_bed.h"

#include <time.h>

#define FOUR(name)     short name##a, name##b, name##c, name##d;
#define SIXTEEN(name)  FOUR(name##0) FOUR(name##1) FOUR(name##2) FOUR(name##3)
#define MANY(name)     SIXTEEN(name##0) SIXTEEN(name##1) SIXTEEN(name##2) SIXTEEN(name##3)
#define HUNDREDS(name) MANY(name##0) MANY(name##1) MANY(name##2) MANY(name##3)

namespace bed
{
struct Elsewhere; // defined in the other file
extern Elsewhere elsewhere_object;

struct Empty {
};

struct Inner {
	short low;
	signed char small;
	unsigned char byte;
	unsigned word;
};

struct Base {
	long base_first;
	int base_number;
};

struct Second {
	unsigned long second_number;
};

struct Smart {
	Inner *where;
};

struct Wrapped {
	Empty nothing;
	static int shared;
	Smart smart;
};

template <typename T> struct Pair {
	T left, right;
};

struct Stamped {
	timespec stamp;
};

struct Clock {
	Stamped inside;
};

struct Deadline {
	long before;
	Clock clock;
};

// The last one that a path finds, and one more.
#define NAMELESS(...)       \
	struct {            \
		int : 8;    \
		__VA_ARGS__ \
	};
struct Nested {
	NAMELESS(NAMELESS(NAMELESS(NAMELESS(
		NAMELESS(NAMELESS(NAMELESS(NAMELESS(int eighth; NAMELESS(int ninth;)))))))))
};

struct In1 {
	int value;
};
struct In2 {
	In1 in;
};
struct In3 {
	In2 in;
};
struct In4 {
	In3 in;
};
struct In5 {
	In4 in;
};
struct In6 {
	In5 in;
};
struct In7 {
	In6 in;
};
struct In8 {
	In7 in;
};

typedef int T1;
typedef T1 T2;
typedef T2 T3;
typedef T3 T4;
typedef T4 T5;
typedef T5 T6;
typedef T6 T7;
typedef T7 T8;
typedef T8 T9;
typedef T9 T10;
typedef T10 T11;
typedef T11 T12;
typedef T12 T13;
typedef T13 T14;
typedef T14 T15;
typedef T15 T16;

struct Large {
	HUNDREDS(m0)
	HUNDREDS(m1)
	HUNDREDS(m2)
	HUNDREDS(m3)
	short beyond;
};

struct Whole : Base, Second {
	static int shared;
	int number_two;
	int number;
	union {
		struct {
			int apart;
		};
		float either;
	};
	Inner inner;
	const Inner *pointer;
	Inner &reference;
	Inner &&moved;
	volatile const long qualified;
	Wrapped wrapped;
	Pair<short> pair;
	timespec when;
	Deadline deadline;
	Elsewhere *elsewhere;
	Whole *self;
	void *nothing;
	long double huge;
	char letter;
	bool is_set;
	enum Colour : unsigned char { RED, GREEN } colour;
	Nested nested;
	In7 seven;
	In8 eight;
	T15 fifteen;
	T16 sixteen;
	union {
		int in_union;
		char *of_union;
	} named;
	Large *large;
	Empty empty;
};

static Inner other = { -2, -3, 200, 4000000000u };
static Large large;
int Whole::shared = 7;
int Wrapped::shared = 8;

static Whole whole = {
	{ 10, 11 },
	{ 12 },
	-6,
	-5,
	{ { 21 } },
	{ -32768, -128, 255, 31 },
	&other,
	other,
	static_cast<Inner &&>(other),
	-40,
	{ {}, { &other } },
	{ 51, -52 },
	{ 60, 999999999 },
	{ 1, { { { -1, 500 } } } },
	&elsewhere_object,
	&whole,
	nullptr,
	1.0L,
	'x',
	true,
	Whole::GREEN,
	{},
	{},
	{},
	15,
	16,
	{ 61 },
	&large,
	{},
};

struct coroutine_handle {
	void *address;
};

struct Continued {
	long before;
	coroutine_handle first;
	struct {
		struct {
			struct {
				coroutine_handle third;
				struct {
					coroutine_handle too_deep;
				} d;
			} c;
		} b;
	} a;
	union {
		coroutine_handle in_union;
	} u;
	coroutine_handle more[1];
	char between[65528 - 48];
	coroutine_handle far_away, too_far; // its offset needs more than 16 bits
};

struct Handles {
	coroutine_handle a, b, c, d, e;
};

struct Promise : Base {
	coroutine_handle waiter;
	Continued *state;
	Handles &all;
	unsigned char flag;
};

// As gcc describes the frame of a coroutine.
struct Frame {
	void (*_Coro_resume_fn)(Frame *);
	void (*_Coro_destroy_fn)(Frame *);
	Promise _Coro_promise;
	Inner local_1_2;
	const char *text;
	double real;
	Continued *state_1_3;
	char array[64], longer[65];
	Empty nothing;
	Whole::Colour colour;
	coroutine_handle handle_1_4;
};

// The same for clang.
struct ClangFrame {
	void (*__resume_fn)(Frame *);
	Pair<int> __promise;
};

Frame *kept_frame;
ClangFrame *kept_clang_frame;
} // namespace bed

using namespace bed;

static const unsigned block_line = __LINE__ + 4;

int member_bed_blocks(int value)
{
	int one = value;

	{
		int two = one + 1;

		value += two;
		{
			int three = two + 2;

			value += three;
		}
	}
	return value + one;
}

unsigned member_bed_lines(unsigned number)
{
	return block_line + number;
}

const void *member_bed_whole(void)
{
	return &whole;
}

const struct member_bed_place member_bed_places[] = {
	{ "", &whole },
	{ "inner", &whole.inner },
	{ "wrapped.smart", &whole.wrapped.smart },
	{ "pair", &whole.pair },
	{ "wrapped", &whole.wrapped },
	{ "wrapped.nothing", &whole.wrapped.nothing },
	{ "reference.word", &other.word },
	{ nullptr, nullptr },
};
