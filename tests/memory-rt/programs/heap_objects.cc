// SPDX-License-Identifier: MIT
// heap_objects.cc - objects of C++ whose number and size are known; "FUNCTION BLOCKS BYTES" for
// each.
#include <cstdio>
#include <cstdlib>
#include <list>
#include <new>
#include <stdexcept>
#include <vector>

struct Point {
	long x, y, z;
};
struct alignas(64) Line {
	char bytes[64];
};

__attribute__((noinline)) Point *make_point(long x)
{
	Point *p = new Point;

	p->x = x;
	return p;
}

__attribute__((noinline)) Point *make_points()
{
	Point *p = new Point[10];

	p[9].y = 1;
	return p;
}

__attribute__((noinline)) Line *make_line()
{
	Line *l = new Line;

	l->bytes[63] = 1;
	return l;
}

__attribute__((noinline)) Point *make_quietly()
{
	return new (std::nothrow) Point;
}

__attribute__((noinline)) int thrower(int depth)
{
	volatile int mark = depth;

	if (depth == 0)
		throw std::runtime_error("a reason");
	return thrower(depth - 1) + mark;
}

__attribute__((noinline)) Point *after_exception()
{
	return make_point(7);
}

__attribute__((noinline)) bool too_large(size_t size)
{
	try {
		volatile char *p = new char[size];

		p[0] = 1;
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 50; i++)
		delete make_point(i);
	delete[] make_points();
	delete make_line();
	delete make_quietly();
	for (int i = 0; i < 10; i++) {
		try {
			thrower(i);
		} catch (const std::exception &) {
		}
		delete after_exception();
	}
	if (!too_large(static_cast<size_t>(-1) / 4 / static_cast<size_t>(argc)))
		return 1;
	delete make_point(1);
	std::printf("make_point 61 %zu\nmake_points 1 %zu\nmake_line 1 %zu\nmake_quietly 1 %zu\n",
		    61 * sizeof(Point), 10 * sizeof(Point), sizeof(Line), sizeof(Point));
	return 0;
}
