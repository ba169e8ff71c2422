// SPDX-License-Identifier: MIT
// together.h - declarations that the files of that program share.
#ifndef TESTS_CPP_TOGETHER_H
#define TESTS_CPP_TOGETHER_H

#include "coro.h"

Whole in_other_file();
void trace_in_c_elsewhere();

#endif
