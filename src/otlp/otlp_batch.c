/* SPDX-License-Identifier: MIT */
/* otlp_batch.c - write spans as an ExportTraceServiceRequest of the OpenTelemetry protocol. */
#include "otlp/otlp_batch.h"

#include <endian.h>
#include <string.h>

#include <corotracer/version.h>

/* Field numbers of opentelemetry/proto/collector/trace/v1 and trace/v1. */
enum {
	OTLP_RESOURCE_SPANS = 1,
	OTLP_RESOURCE = 1,
	OTLP_RESOURCE_ATTRIBUTES = 1,
	OTLP_SCOPE_SPANS = 2,
	OTLP_SCOPE = 1,
	OTLP_SCOPE_NAME = 1,
	OTLP_SCOPE_VERSION = 2,
	OTLP_SPANS = 2,
	OTLP_SPAN_TRACE_ID = 1,
	OTLP_SPAN_ID = 2,
	OTLP_SPAN_PARENT_ID = 4,
	OTLP_SPAN_NAME = 5,
	OTLP_SPAN_KIND = 6,
	OTLP_SPAN_START = 7,
	OTLP_SPAN_END = 8,
	OTLP_SPAN_ATTRIBUTES = 9,
	OTLP_SPAN_EVENTS = 11,
	OTLP_SPAN_STATUS = 15,
	OTLP_EVENT_TIME = 1,
	OTLP_EVENT_NAME = 2,
	OTLP_EVENT_ATTRIBUTES = 3,
	OTLP_STATUS_MESSAGE = 2,
	OTLP_STATUS_CODE = 3,
	OTLP_KEY = 1,
	OTLP_VALUE = 2,
	OTLP_VALUE_TEXT = 1,
	OTLP_VALUE_INT = 3,
};

#define OTLP_KIND_INTERNAL 1
#define OTLP_STATUS_ERROR  2

static void otlp_put_text(struct proto *p, uint32_t field, const char *text)
{
	proto_string(p, field, text, strlen(text));
}

/* ---- attributes ---------------------------------------------------------------- */

void otlp_text(struct otlp_batch *b, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	proto_begin(&b->proto, b->attributes);
	otlp_put_text(&b->proto, OTLP_KEY, key);
	proto_begin(&b->proto, OTLP_VALUE);
	otlp_put_text(&b->proto, OTLP_VALUE_TEXT, text);
	proto_end(&b->proto);
	proto_end(&b->proto);
}

void otlp_number(struct otlp_batch *b, const char *key, uint64_t number)
{
	proto_begin(&b->proto, b->attributes);
	otlp_put_text(&b->proto, OTLP_KEY, key);
	proto_begin(&b->proto, OTLP_VALUE);
	proto_u64(&b->proto, OTLP_VALUE_INT, number);
	proto_end(&b->proto);
	proto_end(&b->proto);
}

void otlp_place(struct otlp_batch *b, const char *file, uint32_t line, const char *function)
{
	otlp_text(b, "code.file.path", file);
	if (line)
		otlp_number(b, "code.line.number", line);
	otlp_text(b, "code.function.name", function);
}

/* ---- the request --------------------------------------------------------------- */

static void otlp_put_resource(struct otlp_batch *b)
{
	const struct otlp_resource *r = b->resource;

	proto_begin(&b->proto, OTLP_RESOURCE);
	b->attributes = OTLP_RESOURCE_ATTRIBUTES;
	otlp_text(b, "service.name", r->service);
	otlp_text(b, "service.version", r->version);
	otlp_text(b, "host.name", r->host);
	otlp_text(b, "cloud.region", r->region);
	if (r->pid)
		otlp_number(b, "process.pid", r->pid);
	otlp_text(b, "process.executable.name", r->program);
	otlp_text(b, "process.executable.build_id.gnu", r->build);
	proto_end(&b->proto);
}

void otlp_batch_begin(struct otlp_batch *b)
{
	b->proto.used = 0;
	b->spans = 0;
	proto_begin(&b->proto, OTLP_RESOURCE_SPANS);
	otlp_put_resource(b);
	proto_begin(&b->proto, OTLP_SCOPE_SPANS);
	proto_begin(&b->proto, OTLP_SCOPE);
	otlp_put_text(&b->proto, OTLP_SCOPE_NAME, "corotracer");
	otlp_put_text(&b->proto, OTLP_SCOPE_VERSION, COROTRACER_VERSION);
	proto_end(&b->proto);
}

void otlp_batch_end(struct otlp_batch *b)
{
	proto_end(&b->proto);
	proto_end(&b->proto);
}

void otlp_batch_release(struct otlp_batch *b)
{
	proto_release(&b->proto);
}

/* ---- spans --------------------------------------------------------------------- */

/* An id in bytes: the first byte is the highest of the number. */
static void otlp_put_id(struct proto *p, uint32_t field, const uint64_t *numbers, size_t nr)
{
	uint64_t bytes[2];
	size_t i;

	for (i = 0; i < nr; i++)
		bytes[i] = htobe64(numbers[i]);
	proto_bytes(p, field, bytes, nr * sizeof(bytes[0]));
}

void otlp_span_begin(struct otlp_batch *b, const struct otlp_span *span)
{
	struct proto *p = &b->proto;

	proto_begin(p, OTLP_SPANS);
	b->attributes = OTLP_SPAN_ATTRIBUTES;
	b->spans++;
	otlp_put_id(p, OTLP_SPAN_TRACE_ID, (uint64_t[]){ span->trace_high, span->trace_low }, 2);
	otlp_put_id(p, OTLP_SPAN_ID, &span->span, 1);
	if (span->parent)
		otlp_put_id(p, OTLP_SPAN_PARENT_ID, &span->parent, 1);
	otlp_put_text(p, OTLP_SPAN_NAME, span->name);
	proto_u64(p, OTLP_SPAN_KIND, OTLP_KIND_INTERNAL);
	proto_fixed64(p, OTLP_SPAN_START, span->start_ns);
	proto_fixed64(p, OTLP_SPAN_END, span->end_ns);
}

void otlp_span_end(struct otlp_batch *b)
{
	proto_end(&b->proto);
}

void otlp_event_begin(struct otlp_batch *b, uint64_t at_ns, const char *name)
{
	proto_begin(&b->proto, OTLP_SPAN_EVENTS);
	b->attributes = OTLP_EVENT_ATTRIBUTES;
	proto_fixed64(&b->proto, OTLP_EVENT_TIME, at_ns);
	otlp_put_text(&b->proto, OTLP_EVENT_NAME, name);
}

void otlp_event_end(struct otlp_batch *b)
{
	proto_end(&b->proto);
	b->attributes = OTLP_SPAN_ATTRIBUTES;
}

void otlp_set_error(struct otlp_batch *b, const char *why)
{
	proto_begin(&b->proto, OTLP_SPAN_STATUS);
	otlp_put_text(&b->proto, OTLP_STATUS_MESSAGE, why);
	proto_u64(&b->proto, OTLP_STATUS_CODE, OTLP_STATUS_ERROR);
	proto_end(&b->proto);
}

/* ---- ids ----------------------------------------------------------------------- */

/* The finalizer of splitmix64: each bit of the input changes half of the output. */
static uint64_t otlp_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t otlp_hash(uint64_t seed, const char *text, uint64_t a, uint64_t b)
{
	uint64_t h = otlp_mix(seed);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	h = otlp_mix(otlp_mix(otlp_mix(h) ^ a) ^ b);
	return h ? h : 1;
}
