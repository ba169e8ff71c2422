// SPDX-License-Identifier: MIT
// main.cpp - the same program as C++.
#include "../c/main.c"
