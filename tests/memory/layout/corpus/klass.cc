// SPDX-License-Identifier: MIT
// klass.cc - a class with a base and private members, hot ones at both ends.
#include <cstdio>

struct Named {
	char name[24];
};

class Account : public Named
{
      public:
	void pay(long amount)
	{
		balance += amount;
		moves++;
	}
	long now() const
	{
		return balance;
	}
	void rename(int i)
	{
		name[i % 24] = 'n';
		street[i % 100] = 's';
	}

      private:
	// layout
	long balance;
	char street[100];
	char city[60];
	unsigned moves;
	// end
};

static Account accounts[2000];

int main()
{
	unsigned long at = 3;
	long sum = 0;

	for (int i = 0; i < 20000; i++) {
		Account &a = accounts[at % 2000];

		at = at * 6364136223846793005ul + 1442695040888963407ul;
		at ^= at >> 33;
		a.pay((long)(at & 255));
		sum += a.now();
		if (i % 1000 == 0)
			a.rename(i);
	}
	std::printf("%ld\n", sum);
	return 0;
}
