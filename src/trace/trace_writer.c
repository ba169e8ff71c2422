/* SPDX-License-Identifier: MIT */
/* trace_writer.c - write a trace: choose the format, and put facts. */
#include "trace/trace_writer.h"

#include <errno.h>
#include <string.h>

#include "trace/compact_writer.h"
#include "trace/ctf_writer.h"
#include "trace/jsonl_output.h"

enum trace_format trace_format_of(const char *path)
{
	size_t size = strlen(path);

	if (size && path[size - 1] == '/')
		return TRACE_FORMAT_CTF;
	if (size > 4 && !strcmp(path + size - 4, ".ctf"))
		return TRACE_FORMAT_CTF;
	if (size > 3 && !strcmp(path + size - 3, ".ct"))
		return TRACE_FORMAT_CT;
	return TRACE_FORMAT_JSONL;
}

const char *trace_format_name(enum trace_format format)
{
	return format == TRACE_FORMAT_CTF ? "ctf" : format == TRACE_FORMAT_CT ? "ct" : "jsonl";
}

struct trace_writer *trace_writer_open(const struct trace_output *output, struct err *err)
{
	enum trace_format format = output->format;

	if (format == TRACE_FORMAT_AUTO)
		format = trace_format_of(output->path);
	if (format == TRACE_FORMAT_CT)
		return compact_writer_open(output, err);
	return format == TRACE_FORMAT_CTF ? ctf_writer_open(output, err)
					  : jsonl_output_open(output, err);
}

void trace_writer_close(struct trace_writer *w, struct trace_counts *counts, struct err *trace,
			struct err *facts)
{
	w->ops->close(w, counts, trace, facts);
}

void trace_put_run(struct trace_writer *w, const struct sidecar_run *run)
{
	w->ops->fact(w, &(struct trace_item){ .type = TRACE_ITEM_RUN, .run = *run });
}

void trace_put_gap(struct trace_writer *w, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
		   uint64_t transitions, uint64_t others)
{
	struct trace_gap gap = {
		.lane = lane,
		.from_ts = from_ts,
		.to_ts = to_ts,
		.transitions = transitions,
		.others = others,
	};

	w->ops->fact(w, &(struct trace_item){ .type = TRACE_ITEM_GAP, .gap = gap });
}

void trace_put_site(struct trace_writer *w, const struct trace_site *site)
{
	w->ops->fact(w, &(struct trace_item){ .type = TRACE_ITEM_SITE, .site = *site });
}

void trace_put_module(struct trace_writer *w, const struct sidecar_module *module)
{
	w->ops->fact(w, &(struct trace_item){ .type = TRACE_ITEM_MODULE, .module = *module });
}

void trace_put_cpu(struct trace_writer *w, const struct trace_cpu *cpu)
{
	w->ops->fact(w, &(struct trace_item){ .type = TRACE_ITEM_CPU, .cpu = *cpu });
}

void trace_put_descriptor(struct trace_writer *w, const struct trace_descriptor *descriptor)
{
	w->ops->fact(w, &(struct trace_item){ .type = TRACE_ITEM_DESCRIPTOR,
					      .descriptor = *descriptor });
}

void trace_put_switch(struct trace_writer *w, const struct trace_switch *switched)
{
	struct trace_item item;

	/* Not all of the item is initialized: there are as many switches as events. */
	item.type = TRACE_ITEM_SWITCH;
	item.switched = *switched;
	w->ops->fact(w, &item);
}

void trace_put_waiting(struct trace_writer *w, const struct trace_waiting *waiting)
{
	w->ops->fact(w, &(struct trace_item){ .type = TRACE_ITEM_WAITING, .waiting = *waiting });
}

void trace_put_frame(struct trace_writer *w, const struct trace_frame *frame)
{
	w->ops->fact(w, &(struct trace_item){ .type = TRACE_ITEM_FRAME, .frame = *frame });
}

void trace_put_part(struct trace_writer *w, const struct trace_part *part)
{
	w->ops->fact(w, &(struct trace_item){ .type = TRACE_ITEM_PART, .part = *part });
}

void trace_put_memory(struct trace_writer *w, const struct trace_memory *memory)
{
	w->ops->fact(w, &(struct trace_item){ .type = TRACE_ITEM_MEMORY, .memory = *memory });
}

void trace_put_process(struct trace_writer *w, const struct sidecar_process *process)
{
	w->ops->fact(w, &(struct trace_item){ .type = TRACE_ITEM_PROCESS, .process = *process });
}

void trace_put_coroutine(struct trace_writer *w, const struct sidecar_coroutine *coroutine)
{
	w->ops->fact(w,
		     &(struct trace_item){ .type = TRACE_ITEM_COROUTINE, .coroutine = *coroutine });
}

void trace_put_totals(struct trace_writer *w, const struct sidecar_totals *totals)
{
	w->ops->fact(w, &(struct trace_item){ .type = TRACE_ITEM_TOTALS, .totals = *totals });
}
