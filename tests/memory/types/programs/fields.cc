// SPDX-License-Identifier: MIT
//
// fields.cc - the same for C++: classes, bases, virtual ones, static members, templates,
// namespaces.
#include <cacheray.h>

#define TIMES(n) for (int i = 0; i < (n); i++)

namespace shop
{

class Base
{
      public:
	virtual ~Base()
	{
	}
	virtual int price() const
	{
		return 1;
	}
	volatile int id = 0;

      protected:
	volatile char state = 0;
};

class Item : public Base
{
      public:
	int price() const override
	{
		return cost;
	}
	void count(int n)
	{
		state = (char)n; // Base::state
		cost = n;
	}
	static volatile long made;

      private:
	volatile int cost = 0;
	volatile double discount = 0;
	friend void work();
};
volatile long Item::made;

template <class T> struct Box {
	volatile T value;
	volatile unsigned used;
};

namespace
{
struct Hidden {
	volatile int x, y;
} hidden;
} // namespace

static Item items[4];
static Box<double> boxes[8];

void work()
{
	TIMES(40) items[i % 4].count(i); // state: 40 w, cost: 40 w
	TIMES(50) items[i % 4].discount = i;
	TIMES(60) items[i % 4].id = i;
	TIMES(70) Item::made = i;
	TIMES(80) boxes[i % 8].value = i;
	TIMES(90) boxes[i % 8].used = (unsigned)i;
	TIMES(25) hidden.y = i;

	Box<double> *heap = cacheray::annotate(new Box<double>[3], 3);
	TIMES(30) heap[i % 3].used = 1;
	delete[] heap;
}

} // namespace shop

int main()
{
	shop::work();
	return 0;
}
