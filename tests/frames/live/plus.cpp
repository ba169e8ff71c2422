// SPDX-License-Identifier: MIT
// plus.cpp - a C++ program with a member of every type: frame n holds n in each of them.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "ppt-Plus.hh"

static volatile std::sig_atomic_t stop;

int main(int argc, char **argv)
{
	const long frames = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 0;

	std::signal(SIGTERM, [](int) { stop = 1; });
	std::puts("ready");
	std::fflush(stdout);
	// Frames count only after a collector has attached.
	while (!stop && !ppt::Plus::attached())
		usleep(100);
	for (long n = 1; !stop && (!frames || n <= frames); n++) {
		ppt::Plus::all all;
		char text[64];

		all.snapshot_took_start();
		all.snapshot_at();
		all.a = static_cast<int8_t>(-n);
		all.b = static_cast<int16_t>(-n);
		all.c = static_cast<int32_t>(-n);
		all.d = -n;
		all.e = static_cast<uint8_t>(n);
		all.f = static_cast<uint16_t>(n);
		all.g = static_cast<uint32_t>(n) | 0x80000000u;
		all.h = ~static_cast<uint64_t>(n);
		all.yes = n % 2;
		all.half = static_cast<float>(n) / 2;
		all.third = static_cast<double>(n) / 3;
		all.step_start = static_cast<int32_t>(n);
		all.step_end = static_cast<int32_t>(-n);
		std::snprintf(text, sizeof(text), "%ld, \"%ld\"", n, n);
		std::memcpy(all.text, text, std::strlen(text) < 12 ? std::strlen(text) : 12);
		for (unsigned i = 0; i < 3; i++)
			all.list[i] = static_cast<uint16_t>(n + i);
		all.is = n % 3 == 0   ? ppt::Plus::state::idle
			 : n % 3 == 1 ? ppt::Plus::state::busy
				      : static_cast<ppt::Plus::state>(77);
		all.snapshot_took_end();
		all.save();
		if (n % 16 == 0)
			usleep(100);
	}
	while (!stop)
		usleep(1000);
	return 0;
}
