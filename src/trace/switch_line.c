/* SPDX-License-Identifier: MIT */
/* switch_line.c - the JSON line of a context switch, without a JSON writer. */
#include "trace/switch_line.h"

#include <string.h>

#include "base/fmt.h"

static char *line_put_member(char *to, const char *key, uint64_t value)
{
	return fmt_u64(stpcpy(to, key), value);
}

/* States that need no escape, and no other members. */
static bool switch_state_is_plain(const struct trace_switch *s)
{
	return s->state && !s->lost &&
	       (!strcmp(s->state, TRACE_SWITCH_BLOCKED) ||
		!strcmp(s->state, TRACE_SWITCH_PREEMPTED) || !strcmp(s->state, TRACE_SWITCH_READY));
}

size_t switch_line_put(char line[SWITCH_LINE_SIZE], const struct trace_switch *s)
{
	char *to = line;

	if (!switch_state_is_plain(s))
		return 0;
	to = line_put_member(to, "{\"type\":\"switch\",\"pid\":", s->pid);
	to = line_put_member(to, ",\"tid\":", s->tid);
	to = line_put_member(to, ",\"from_ts\":", s->from_ts);
	to = line_put_member(to, ",\"to_ts\":", s->to_ts);
	to = line_put_member(to, ",\"cpu\":", s->cpu);
	to = stpcpy(to, ",\"state\":\"");
	to = stpcpy(to, s->state);
	to = stpcpy(to, "\"}\n");
	return (size_t)(to - line);
}
