// SPDX-License-Identifier: MIT
// clean_half_read_generators.cpp - generators that are read in part, and destroyed or kept.
//
// The search reads until it finds a prime above its number and drops the generator.  A table of
// 20 streams is read a little now and then until the program ends.
//
// corpus: clean
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "lazy_sequence.hpp"

static Sequence<int> primes_from(int first)
{
	for (int n = first < 2 ? 2 : first;; n++) {
		bool is_prime = true;

		for (int d = 2; d * d <= n && is_prime; d++)
			is_prime = n % d != 0;
		if (is_prime)
			co_yield n;
	}
}

static Sequence<int> lines_of(int nr)
{
	for (int line = 0; line < nr; line++)
		co_yield line;
}

static int prime_above(int n)
{
	Sequence<int> primes = primes_from(1);
	int prime = 0;

	while (prime <= n)
		prime = *primes.next();
	return prime;
}

int main()
{
	std::vector<Sequence<int>> streams;
	long sum = 0;

	corotracer::InitTracer();
	for (int i = 0; i < 20; i++)
		streams.push_back(primes_from(i * 1000));
	for (int round = 0; round < 200; round++) {
		Sequence<int> lines = lines_of(round % 10);

		sum += prime_above(round);
		for (std::optional<int> line = lines.next(); line; line = lines.next())
			sum += *line;
		if (round % 5 == 0)
			sum += *streams[static_cast<size_t>(round) % 7].next();
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
	std::printf("%ld\n", sum);
	std::fflush(stdout);
	std::quick_exit(0); // the streams are not destroyed
}
