// SPDX-License-Identifier: MIT
// target.cpp - a C++20 program that the tests trace: "target SCENARIO".
#include "scenarios.h"

#include <cstring>

int main(int argc, char **argv)
{
	const char *wanted = argc > 1 ? argv[1] : "";

	for (const Scenarios *file : { &awaits, &lives, &threads, &abuses, &handles }) {
		for (size_t i = 0; i < file->nr; i++) {
			if (std::strcmp(file->all[i].name, wanted) != 0)
				continue;
			file->all[i].run();
			return 0;
		}
	}
	std::fprintf(stderr, "target: no scenario '%s'\n", wanted);
	return 2;
}
