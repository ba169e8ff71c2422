/* SPDX-License-Identifier: MIT */
/* layout.cpp - the same layout, as a C++ compiler sees it. */
#include "layout.c"
