/* SPDX-License-Identifier: MIT */
/* _sdk.c - the C SDK, compiled into the extension: a program needs no library beside it. */
#include "corotracer.c"
