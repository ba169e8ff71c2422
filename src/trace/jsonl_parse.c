/* SPDX-License-Identifier: MIT */
/* jsonl_parse.c - parse one line of a trace. */
#include "trace/jsonl_parse.h"

#include <errno.h>
#include <string.h>

#include "base/fmt.h"
#include "trace/json_line.h"

/* ---- our own form -------------------------------------------------------- */

/*
 * Steps of a parser that may reach the end of the line at any point.  No step goes past it: the
 * newline there is neither a digit nor part of an expected word.  Each step passes a NULL
 * through.
 */
static inline const char *jsonl_word(const char *p, const char *expect, size_t size)
{
	return p && !memcmp(p, expect, size) ? p + size : NULL;
}

#define WORD(p, text) jsonl_word(p, text, sizeof(text) - 1)

static inline const char *jsonl_number(const char *p, uint64_t *out)
{
	return p ? scan_u64(p, out) : NULL;
}

static inline const char *jsonl_address(const char *p, uint64_t *out)
{
	return p ? scan_hex16(p, out) : NULL;
}

static inline const char *jsonl_boolean(const char *p, bool *out)
{
	const char *behind = WORD(p, "true");

	*out = behind != NULL;
	return behind ? behind : WORD(p, "false");
}

/* An optional key: *@out is unchanged if the key is missing. */
static inline const char *optional_u32(const char *p, const char *key, size_t size, uint32_t *out)
{
	const char *behind = jsonl_word(p, key, size);
	uint64_t value;

	if (!behind)
		return p;
	behind = jsonl_number(behind, &value);
	if (!behind || value > UINT32_MAX)
		return NULL;
	*out = (uint32_t)value;
	return behind;
}

/* A reason by name, or by number if its writer had no name for it. */
static const char *jsonl_reason(const char *p, uint8_t *out)
{
	char name[16];
	const char *end;
	uint64_t value = 0;
	int known;

	if (*p != '"') {
		p = scan_u64(p, &value);
		*out = (uint8_t)value;
		return p && value <= UINT8_MAX ? p : NULL;
	}
	/* The line ends with a newline. */
	for (end = ++p; *end != '"' && *end != '\n'; end++)
		;
	if (*end != '"' || (size_t)(end - p) >= sizeof(name))
		return NULL;
	memcpy(name, p, (size_t)(end - p));
	name[end - p] = '\0';
	known = trace_reason_from_name(name);
	*out = (uint8_t)known;
	return known < 0 ? NULL : end + 1;
}

static const char *jsonl_told(const char *p, struct trace_event *ev)
{
	const char *behind;

	p = optional_u32(p, ",\"site\":", 8, &ev->site);
	behind = WORD(p, ",\"reason\":");
	if (behind)
		p = jsonl_reason(behind, &ev->reason);
	behind = WORD(p, ",\"resource\":");
	if (behind) {
		p = jsonl_number(behind, &ev->resource);
		ev->flags |= TRACE_HAS_RESOURCE;
	}
	return p;
}

bool jsonl_parse_ours(const char *text, size_t size, struct trace_event *ev)
{
	const char *p = WORD(text, "{\"probe_id\":");

	trace_event_init(ev);
	p = jsonl_number(p, &ev->probe_id);
	p = WORD(p, ",\"tid\":");
	p = jsonl_number(p, &ev->tid);
	p = WORD(p, ",\"addr\":\"0x");
	p = jsonl_address(p, &ev->addr);
	p = WORD(p, "\",\"seq\":");
	p = jsonl_number(p, &ev->seq);
	p = WORD(p, ",\"is_active\":");
	p = jsonl_boolean(p, &ev->is_active);
	p = WORD(p, ",\"ts\":");
	p = jsonl_number(p, &ev->ts);
	ev->kind = ev->is_active ? TRACE_RESUME : TRACE_SUSPEND;
	p = optional_u32(p, ",\"station\":", 11, &ev->station);
	if (p && *p != '}')
		p = jsonl_told(p, ev);
	p = WORD(p, "}");
	return p == text + size;
}

/* ---- any form ------------------------------------------------------------ */

struct number_key {
	const char *key;
	size_t offset;
	const char *missing, *wrong;
};

#define NUMBER_KEY(name)                                                    \
	{                                                                   \
		.key = #name, .offset = offsetof(struct trace_event, name), \
		.missing = "there is no " #name,                            \
		.wrong = #name " is not a whole number from 0 to 2^64 - 1", \
	}

static const struct number_key number_keys[] = {
	NUMBER_KEY(probe_id), NUMBER_KEY(tid), NUMBER_KEY(addr), NUMBER_KEY(seq), NUMBER_KEY(ts),
};

static const char *get_numbers(const json_t *object, struct trace_event *ev)
{
	size_t i;

	for (i = 0; i < sizeof(number_keys) / sizeof(number_keys[0]); i++) {
		const struct number_key *k = &number_keys[i];
		const json_t *value = json_object_get(object, k->key);
		uint64_t *out = (uint64_t *)(void *)((char *)ev + k->offset);

		if (!value)
			return k->missing;
		if (!json_u64(value, out))
			return k->wrong;
	}
	return NULL;
}

static const char *jsonl_get_state(const json_t *object, struct trace_event *ev)
{
	const json_t *value = json_object_get(object, "is_active");

	if (!value)
		return "there is no is_active";
	if (json_is_integer(value) && (json_integer_value(value) | 1) == 1)
		ev->is_active = json_integer_value(value) == 1;
	else if (json_is_boolean(value))
		ev->is_active = json_is_true(value);
	else
		return "is_active is neither true nor false";
	return NULL;
}

static void jsonl_get_u32(const json_t *object, const char *key, uint32_t *out)
{
	uint64_t value;

	if (json_u64(json_object_get(object, key), &value) && value <= UINT32_MAX)
		*out = (uint32_t)value;
}

/* Optional keys; another tool may use the same keys for other values. */
static void get_told(const json_t *object, struct trace_event *ev)
{
	const json_t *value = json_object_get(object, "reason");
	int known = json_is_string(value) ? trace_reason_from_name(json_string_value(value)) : -1;
	uint64_t number_of_it;

	jsonl_get_u32(object, "station", &ev->station);
	jsonl_get_u32(object, "site", &ev->site);
	if (known >= 0)
		ev->reason = (uint8_t)known;
	else if (json_is_integer(value) && json_u64(value, &number_of_it) &&
		 number_of_it <= UINT8_MAX)
		ev->reason = (uint8_t)number_of_it;
	if (json_u64(json_object_get(object, "resource"), &ev->resource))
		ev->flags |= TRACE_HAS_RESOURCE;
}

const char jsonl_no_memory[] = "there is no memory to parse it";

const char *jsonl_parse_any(const char *text, size_t size, struct trace_event *ev)
{
	int rc;
	json_t *object = json_line_parse(text, size, &rc);
	const char *problem;

	if (!object)
		return rc == -ENOMEM ? jsonl_no_memory : "it is not JSON";
	if (!json_is_object(object)) {
		json_decref(object);
		return "it is not a JSON object";
	}
	trace_event_init(ev);
	problem = get_numbers(object, ev);
	if (!problem)
		problem = jsonl_get_state(object, ev);
	ev->kind = ev->is_active ? TRACE_RESUME : TRACE_SUSPEND;
	get_told(object, ev);
	json_decref(object);
	return problem;
}

const char *jsonl_parse(const char *text, size_t size, struct trace_event *ev)
{
	const char *problem = NULL;

	if (!jsonl_parse_ours(text, size, ev))
		problem = jsonl_parse_any(text, size, ev);
	return problem ? problem : trace_event_problem(ev);
}
