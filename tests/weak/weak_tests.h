/* SPDX-License-Identifier: MIT */
/* weak_tests.h - the tests of a program; the last one has no name. */
#ifndef WEAK_TESTS_H
#define WEAK_TESTS_H

#include "weak_machine.h"

extern const struct weak_test weak_tests[];

#endif
