/* SPDX-License-Identifier: MIT */
/* export_otlp.h - options of `export otlp`. */
#ifndef TOOL_EXPORT_OTLP_H
#define TOOL_EXPORT_OTLP_H

#include <stdint.h>

#include "ship_options.h"

#define OTLP_PER_SITE_DEFAULT 10
#define OTLP_PER_SITE_MOST    10000
#define OTLP_LEAST_NS_DEFAULT UINT64_C(1000000)

struct otlp_options {
	uint32_t per_site; /* 0: the default */
	uint64_t least_ns;
	bool has_least;             /* least_ns was given */
	struct ship_options labels; /* service, version, host and region */
};

#endif
