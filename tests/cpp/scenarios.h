// SPDX-License-Identifier: MIT
// scenarios.h - the scenarios that the target can run, by file.
#ifndef TESTS_CPP_SCENARIOS_H
#define TESTS_CPP_SCENARIOS_H

#include "coro.h"

struct Scenarios {
	const Scenario *all;
	size_t nr;
};

extern const Scenarios awaits, lives, threads, abuses, handles;

#endif
