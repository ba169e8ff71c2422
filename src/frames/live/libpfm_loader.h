/* SPDX-License-Identifier: MIT */
/* libpfm_loader.h - the functions of libpfm4 that are in use, loaded on first use. */
#ifndef FRAMES_LIVE_LIBPFM_LOADER_H
#define FRAMES_LIVE_LIBPFM_LOADER_H

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include "base/dynlib.h"

#define LIBPFM_FUNCTIONS(X)          \
	X(pfm_get_event_info)        \
	X(pfm_get_event_next)        \
	X(pfm_get_os_event_encoding) \
	X(pfm_get_pmu_info)          \
	X(pfm_initialize)            \
	X(pfm_strerror)

struct libpfm {
	DYNLIB_POINTERS(LIBPFM_FUNCTIONS)
};

extern struct libpfm libpfm;

/* Set the pointers of `libpfm`; see dynlib_load(). */
int libpfm_load(struct err *err);

#endif
