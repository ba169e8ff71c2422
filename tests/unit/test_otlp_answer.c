/* SPDX-License-Identifier: MIT */
/* test_otlp_answer.c - answers of a receiver of OTLP: partial success, unknown fields, damage. */
#include "otlp/otlp_send.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "trace_items.h"

/* partial_success { rejected_spans: 300 error_message: "too old" }, then an unknown field. */
static const uint8_t answer[] = { 0x0a, 0x0c, 0x08, 0xac, 0x02, 0x12, 0x07, 't', 'o', 'o', ' ', 'o',
				  'l',  'd',  0x19, 1,    2,    3,    4,    5,   6,   7,   8 };

static void rejected_spans_and_their_reason_are_read(void)
{
	struct otlp_sent sent = { .rejected = 1 };

	otlp_parse_answer(answer, sizeof(answer), &sent);
	CHECK_EQ(sent.rejected, 301);
	CHECK_STR(sent.message, "too old");
}

static void an_empty_answer_rejects_nothing(void)
{
	struct otlp_sent sent = { 0 };

	otlp_parse_answer(NULL, 0, &sent);
	otlp_parse_answer((const uint8_t[]){ 0x0a, 0 }, 2, &sent);
	CHECK_EQ(sent.rejected, 0);
	CHECK_STR(sent.message, "");
}

/* In memory of exactly that size: a sanitizer sees every access behind it. */
static void damaged_answers_are_read_within_their_bounds(void)
{
	struct otlp_sent sent = { 0 };
	size_t size, n;
	uint8_t *copy;

	for (n = 0; n < 200000; n++) {
		size = next_random() % (sizeof(answer) + 1);
		copy = malloc(size ? size : 1);
		memcpy(copy, answer, size);
		if (size && next_random() % 4)
			copy[next_random() % size] = (uint8_t)next_random();
		otlp_parse_answer(copy, size, &sent);
		CHECK(strlen(sent.message) < sizeof(sent.message));
		free(copy);
	}
}

int main(void)
{
	RUN(rejected_spans_and_their_reason_are_read);
	RUN(an_empty_answer_rejects_nothing);
	RUN(damaged_answers_are_read_within_their_bounds);
	return 0;
}
