/* SPDX-License-Identifier: MIT */
/* test_switch_line.c - the short way to write a context switch gives what the schema gives. */
#include "base/json_writer.h"
#include "check.h"
#include "trace/schema.h"
#include "trace/switch_line.h"

static void check_line(const struct trace_switch *s, bool is_short)
{
	char line[SWITCH_LINE_SIZE];
	size_t size = switch_line_put(line, s), wanted;
	struct json_writer j;
	const char *text;

	CHECK_EQ(size > 0, is_short);
	if (!is_short)
		return;
	jw_init_buffer(&j);
	jw_object_begin(&j);
	jw_field_string(&j, "type", schema[TRACE_ITEM_SWITCH].name);
	schema_put_json(&j, TRACE_ITEM_SWITCH, s);
	jw_object_end(&j);
	jw_newline(&j);
	text = jw_text(&j, &wanted);
	CHECK_EQ(size, wanted);
	CHECK(!memcmp(line, text, size));
	CHECK_EQ(jw_release(&j), 0);
}

int main(void)
{
	static const char *const states[] = { TRACE_SWITCH_BLOCKED,
					      TRACE_SWITCH_PREEMPTED,
					      TRACE_SWITCH_READY,
					      TRACE_SWITCH_RECORDED,
					      TRACE_SWITCH_LOST,
					      "x\"y",
					      NULL };
	size_t i;

	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		check_line(&(struct trace_switch){ 7, 8, 1000, 9000, 1, 0, states[i] }, i < 3);
		check_line(&(struct trace_switch){ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
						   UINT64_MAX, 0, states[i] },
			   i < 3);
		check_line(&(struct trace_switch){ 0, 0, 0, 0, 0, 3, states[i] }, false);
	}
	return 0;
}
