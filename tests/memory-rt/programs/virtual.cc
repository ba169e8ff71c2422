// SPDX-License-Identifier: MIT
/*
 * virtual.cc - objects with virtual functions, typed allocations, delete.
 */
#include <cacheray.h>

#include <memory>
#include <vector>

struct shape {
	virtual ~shape()
	{
	}
	virtual long area() const = 0;
	long a = 2;
};
struct square : shape {
	long area() const override
	{
		return a * a;
	}
};
struct circle : shape {
	long area() const override
	{
		return 3 * a * a;
	}
};

int main()
{
	long sum = 0;
	for (int i = 0; i < 100; i++) {
		shape *s = i % 2 ? static_cast<shape *>(cacheray::make<square>())
				 : static_cast<shape *>(cacheray::make<circle>());
		sum += s->area();
		delete s;
	}
	{
		std::vector<long, cacheray::allocator<long>> v;
		for (int i = 0; i < 1000; i++)
			v.push_back(i);
		long on_stack[4] = { 1, 2, 3, 4 };
		cacheray::scope here(on_stack, 4);
		sum += v[999] + on_stack[3];
	}
	cacheray_mark(1, "done");
	return sum == 100 / 2 * (4 + 12) + 999 + 4 ? 0 : 1;
}
