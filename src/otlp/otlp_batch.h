/* SPDX-License-Identifier: MIT */
/*
 * otlp_batch.h - write spans as an ExportTraceServiceRequest of the OpenTelemetry protocol.
 *
 *	struct otlp_batch b = { .resource = &resource };
 *
 *	otlp_batch_begin(&b);
 *	otlp_span_begin(&b, &span);
 *	otlp_text(&b, "key", "value");
 *	otlp_span_end(&b);
 *	otlp_batch_end(&b);
 *	... b.proto.buf has b.proto.used bytes ...
 *	otlp_batch_release(&b);
 *
 * Requests in a row are one request with all their spans: a file may hold several.  Errors are kept
 * in b.proto.error.
 */
#ifndef OTLP_OTLP_BATCH_H
#define OTLP_OTLP_BATCH_H

#include "base/proto.h"

/* Empty texts, NULL and 0 are left out. */
struct otlp_resource {
	const char *service, *version, *host, *region, *program, *build;
	uint64_t pid;
};

struct otlp_span {
	uint64_t trace_high, trace_low, span;
	uint64_t parent; /* 0: none */
	const char *name;
	uint64_t start_ns, end_ns; /* since 1970 */
};

struct otlp_batch {
	struct proto proto;
	const struct otlp_resource *resource;
	uint32_t attributes; /* field number of the message that is open */
	uint64_t spans;      /* in this batch */
};

void otlp_batch_begin(struct otlp_batch *b);
void otlp_batch_end(struct otlp_batch *b);
void otlp_batch_release(struct otlp_batch *b);

/* Attributes go to the span or event that is open.  Both leave out NULL and empty texts. */
void otlp_text(struct otlp_batch *b, const char *key, const char *text);
void otlp_number(struct otlp_batch *b, const char *key, uint64_t number);

/* code.file.path, code.line.number and code.function.name; a number of 0 and NULL are left out. */
void otlp_place(struct otlp_batch *b, const char *file, uint32_t line, const char *function);

void otlp_span_begin(struct otlp_batch *b, const struct otlp_span *span);
void otlp_span_end(struct otlp_batch *b);

void otlp_event_begin(struct otlp_batch *b, uint64_t at_ns, const char *name);
void otlp_event_end(struct otlp_batch *b);

/* The span failed, for this reason. */
void otlp_set_error(struct otlp_batch *b, const char *why);

/* ---- numbers of spans ------------------------------------------------------- */

/* Equal for equal texts and numbers, in all runs; never 0. */
uint64_t otlp_hash(uint64_t seed, const char *text, uint64_t a, uint64_t b);

#endif
