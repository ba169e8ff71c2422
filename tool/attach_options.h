/* SPDX-License-Identifier: MIT */
/* attach_options.h - rows of the option tables of `attach` and `monitor`. */
#ifndef TOOL_ATTACH_OPTIONS_H
#define TOOL_ATTACH_OPTIONS_H

#include "cmd.h"
#include "frames/spec/frames_abi.h"
#include "frames/live/attach_session.h"

/* @config is a field of type struct attach_config in @options. */
/* NOLINTBEGIN(bugprone-macro-parentheses): names of fields */
#define OPT_ROW_PID(options, config)                                                          \
	{                                                                                     \
		'p', "pid", "PID", "process id", OPT_NUMBER(options, config.pid, 1, 1u << 30) \
	}
#define OPT_ROW_BUFFER(options, config)                                            \
	{                                                                          \
		'b', "buffer", "NAME", "name of the buffer, if there are several", \
			OPT_TEXT(options, config.buffer)                           \
	}
#define OPT_ROW_COUNTER(options, config, help)                                  \
	{                                                                       \
		'c', "counter", "NAMES", help,                                  \
			OPT_CALL(options, config.counters, attach_add_counters) \
	}
#define OPT_ROW_SIZE(options, config, help)                                             \
	{                                                                               \
		0, "size", "N", help,                                                   \
			OPT_NUMBER(options, config.slots, PPT_SLOTS_MIN, PPT_SLOTS_MAX) \
	}
#define OPT_ROW_AUTO_RESIZE(options, config)                                    \
	{                                                                       \
		0, "auto-resize", NULL, "double the ring when frames are lost", \
			OPT_FLAG(options, config.auto_resize)                   \
	}
#define OPT_ROW_DURATION(options, config)                                      \
	{                                                                      \
		0, "duration", "SECONDS", "stop after this time",              \
			OPT_REAL(options, config.duration_ns, 0.001, 1e9, 1e9) \
	}
#define OPT_ROW_COUNT(options, config)                                   \
	{                                                                \
		0, "count", "N", "stop after N frames",                  \
			OPT_NUMBER(options, config.count, 1, UINT64_MAX) \
	}
#define OPT_ROW_FORCE(options, config)                                           \
	{                                                                        \
		0, "force-attach", NULL, "replace a collector that is attached", \
			OPT_FLAG(options, config.force)                          \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

/* Parser of --counter: adds the names to a struct counters. */
bool attach_add_counters(void *counters, const struct opt_use *use);

#endif
