/* SPDX-License-Identifier: MIT */
/*
 * corotracer/traceparent.h - the span of the user's own trace that a coroutine works for.
 *
 * A traceparent is the header of the W3C Trace Context: "00-TRACE_ID-SPAN_ID-FLAGS", in lower case
 * hexadecimal, 55 bytes.  It becomes two records in the lane of the calling thread.  A collector
 * without CTP_EXT_CONTEXT gets none, and neither does one without lanes.
 *
 * Included by sdk/c/corotracer.c and cpp/context.h.
 */
#ifndef COROTRACER_TRACEPARENT_H
#define COROTRACER_TRACEPARENT_H

#include <corotracer/lane_slow.h>

#include <corotracer/header_begin.h>

#define CTP_TRACEPARENT_SIZE 55u

/* All zero: none. */
struct ctp_context {
	uint64_t trace_high, trace_low; /* as numbers: the first byte is the highest */
	uint64_t span;
	uint32_t flags;
};

#ifdef __cplusplus
extern "C" {
#endif

/* The first @nr digits of @text as a number.  Returns 0 if one of them is not a digit. */
CTP_SLOW int ctp_context_digits(const char *text, uint32_t nr, uint64_t *value)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (text[i] >= '0' && text[i] <= '9')
			sum = sum << 4 | (uint64_t)(text[i] - '0');
		else if (text[i] >= 'a' && text[i] <= 'f')
			sum = sum << 4 | (uint64_t)(text[i] - 'a' + 10);
		else
			return 0;
	}
	*value = sum;
	return 1;
}

/* Returns 0 if @text is not a traceparent.  Later versions may append fields, after a hyphen. */
CTP_SLOW int ctp_context_parse(const char *text, size_t size, struct ctp_context *out)
{
	uint64_t version, flags;

	if (size < CTP_TRACEPARENT_SIZE || text[2] != '-' || text[35] != '-' || text[52] != '-' ||
	    !ctp_context_digits(text, 2, &version) ||
	    !ctp_context_digits(text + 3, 16, &out->trace_high) ||
	    !ctp_context_digits(text + 19, 16, &out->trace_low) ||
	    !ctp_context_digits(text + 36, 16, &out->span) ||
	    !ctp_context_digits(text + 53, 2, &flags) || version == 0xff)
		return 0;
	if (size > CTP_TRACEPARENT_SIZE && (!version || text[CTP_TRACEPARENT_SIZE] != '-'))
		return 0;
	out->flags = (uint32_t)flags;
	return (out->trace_high | out->trace_low) && out->span;
}

/* From now on the coroutine @id works for @context. */
CTP_SLOW void ctp_context_write(struct ctp_thread *t, struct ctp_session *s, uint64_t id,
				const struct ctp_context *context)
{
	struct ctp_record *r;

	if (!id || !ctp_thread_ready(t, s) || !s->lanes || !(s->features & CTP_EXT_CONTEXT))
		return;
	r = ctp_lane_room(t, s, 2);
	if (!r) {
		ctp_lane_count(t, s, 0, 1);
		return;
	}
	ctp_record_put(r, ctp_lane_stamp(t), id, context->span, context->flags,
		       CTP_WHAT(CTP_REC_CONTEXT | CTP_REC_HAS_MORE, 0, 0));
	ctp_record_put_more(r + 1, context->trace_high, context->trace_low);
	ctp_lane_publish_slow(t, s, 2);
}

#ifdef __cplusplus
}
#endif

#include <corotracer/header_end.h>

#endif
