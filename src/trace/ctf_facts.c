/* SPDX-License-Identifier: MIT */
/* ctf_facts.c - facts about a run as records of a CTF stream. */
#include "trace/ctf_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMBER(name, member, type)                              \
	{                                                       \
		name, type, offsetof(struct trace_item, member) \
	}
#define END                      \
	{                        \
		NULL, CTF_U64, 0 \
	}

/* New members are appended: see ctf.h. */

static const struct ctf_member run_members[] = {
	MEMBER("format", run.format, CTF_U64),
	MEMBER("pid", run.pid, CTF_U64),
	MEMBER("start_ts", run.start_ts, CTF_U64),
	MEMBER("start_realtime", run.start_realtime, CTF_U64),
	MEMBER("stations", run.stations, CTF_U64),
	MEMBER("tool", run.tool, CTF_TEXT_OR),
	MEMBER("hostname", run.hostname, CTF_TEXT_OR),
	MEMBER("arch", run.arch, CTF_TEXT_OR),
	MEMBER("command", run.command, CTF_COMMAND),
	END,
};

static const struct ctf_member process_members[] = {
	MEMBER("pid", process.pid, CTF_U64),
	MEMBER("uid", process.uid, CTF_U64),
	MEMBER("connected_ts", process.connected_ts, CTF_U64),
	END,
};

static const struct ctf_member module_members[] = {
	MEMBER("pid", module.pid, CTF_U64),
	MEMBER("start", module.start, CTF_U64),
	MEMBER("end", module.end, CTF_U64),
	MEMBER("offset", module.offset, CTF_U64),
	MEMBER("path", module.path, CTF_TEXT),
	MEMBER("build_id", module.build_id, CTF_TEXT_OR),
	END,
};

static const struct ctf_member cpu_members[] = {
	MEMBER("pid", cpu.pid, CTF_U64),
	MEMBER("tid", cpu.tid, CTF_U64),
	MEMBER("from_ts", cpu.from_ts, CTF_U64),
	MEMBER("to_ts", cpu.to_ts, CTF_U64),
	MEMBER("cpu_ns", cpu.cpu_ns, CTF_U64),
	MEMBER("queued_ns", cpu.queued_ns, CTF_U64),
	MEMBER("state", cpu.state, CTF_TEXT_OR),
	MEMBER("call", cpu.call, CTF_TEXT_OR),
	END,
};

static const struct ctf_member descriptor_members[] = {
	MEMBER("pid", descriptor.pid, CTF_U64),
	MEMBER("probe_id", descriptor.probe_id, CTF_U64),
	MEMBER("fd", descriptor.fd, CTF_U64),
	MEMBER("from_ts", descriptor.from_ts, CTF_U64),
	MEMBER("to_ts", descriptor.to_ts, CTF_U64),
	MEMBER("unread", descriptor.unread, CTF_U64),
	MEMBER("kind", descriptor.kind, CTF_TEXT_OR),
	MEMBER("ready", descriptor.ready, CTF_TEXT_OR),
	MEMBER("watch", descriptor.watch, CTF_TEXT_OR),
	END,
};

static const struct ctf_member site_members[] = {
	MEMBER("site", site.id, CTF_U32),
	MEMBER("line", site.line, CTF_U32),
	MEMBER("pid", site.pid, CTF_U32),
	MEMBER("file", site.file, CTF_TEXT),
	MEMBER("function", site.function, CTF_TEXT),
	END,
};

static const struct ctf_member coroutine_members[] = {
	MEMBER("station", coroutine.station, CTF_U64),
	MEMBER("probe_id", coroutine.probe_id, CTF_U64),
	MEMBER("pid", coroutine.pid, CTF_U64),
	MEMBER("name", coroutine.name, CTF_TEXT_OR),
	MEMBER("name_truncated", coroutine.name_truncated, CTF_BOOL),
	MEMBER("birth_ts", coroutine.birth_ts, CTF_U64),
	MEMBER("death_ts", coroutine.death_ts, CTF_U64),
	MEMBER("dead", coroutine.dead, CTF_BOOL),
	MEMBER("writer", coroutine.writer, CTF_TEXT_OR),
	MEMBER("written", coroutine.written, CTF_U64),
	MEMBER("collected", coroutine.collected, CTF_U64),
	MEMBER("lost", coroutine.lost, CTF_U64),
	MEMBER("garbage", coroutine.garbage, CTF_U64),
	MEMBER("parent", coroutine.parent, CTF_U64),
	MEMBER("birth_site", coroutine.birth_site, CTF_U32),
	MEMBER("state", coroutine.state, CTF_STATE),
	MEMBER("since_ts", coroutine.since_ts, CTF_U64),
	MEMBER("addr", coroutine.addr, CTF_U64),
	MEMBER("site", coroutine.site, CTF_U32),
	MEMBER("reason", coroutine.reason, CTF_REASON),
	MEMBER("has_resource", coroutine.has_resource, CTF_BOOL),
	MEMBER("resource", coroutine.resource, CTF_U64),
	END,
};

static const struct ctf_member totals_members[] = {
	MEMBER("complete", totals.complete, CTF_BOOL),
	MEMBER("written", totals.written, CTF_U64),
	MEMBER("collected", totals.collected, CTF_U64),
	MEMBER("lost", totals.lost, CTF_U64),
	MEMBER("lost_overwritten", totals.lost_overwritten, CTF_U64),
	MEMBER("lost_full", totals.lost_full, CTF_U64),
	MEMBER("lost_output", totals.lost_output, CTF_U64),
	MEMBER("garbage", totals.garbage, CTF_U64),
	MEMBER("unfinished", totals.unfinished, CTF_U64),
	MEMBER("coroutines", totals.coroutines, CTF_U64),
	MEMBER("without_station", totals.without_station, CTF_U64),
	MEMBER("others_written", totals.others_written, CTF_U64),
	MEMBER("others_collected", totals.others_collected, CTF_U64),
	MEMBER("others_lost", totals.others_lost, CTF_U64),
	MEMBER("forgotten", totals.forgotten, CTF_U64),
	MEMBER("others_forgotten", totals.others_forgotten, CTF_U64),
	MEMBER("waits", totals.waits, CTF_U64),
	MEMBER("wait_ns", totals.wait_ns, CTF_U64),
	MEMBER("exit_status", totals.exit_status, CTF_INT),
	MEMBER("signal", totals.signal, CTF_INT),
	MEMBER("end_ts", totals.end_ts, CTF_U64),
	END,
};

const struct ctf_fact ctf_facts[NR_CTF_FACTS] = {
	[CTF_RUN] = { "run", TRACE_ITEM_RUN, run_members },
	[CTF_PROCESS] = { "process", TRACE_ITEM_PROCESS, process_members },
	[CTF_SITE] = { "site", TRACE_ITEM_SITE, site_members },
	[CTF_COROUTINE] = { "coroutine", TRACE_ITEM_COROUTINE, coroutine_members },
	[CTF_FACT_TOTALS] = { "totals", TRACE_ITEM_TOTALS, totals_members },
	[CTF_CPU] = { "cpu", TRACE_ITEM_CPU, cpu_members },
	[CTF_DESCRIPTOR] = { "descriptor", TRACE_ITEM_DESCRIPTOR, descriptor_members },
	[CTF_MODULE] = { "module", TRACE_ITEM_MODULE, module_members },
};

int ctf_fact_of(enum trace_item_type type)
{
	int i;

	for (i = 0; i < NR_CTF_FACTS; i++) {
		if (ctf_facts[i].type == type)
			return i;
	}
	return -1;
}

/* ---- write --------------------------------------------------------------- */

static size_t fixed_size(enum ctf_type type)
{
	switch (type) {
	case CTF_U64:
		return 8;
	case CTF_U32:
	case CTF_INT:
	case CTF_COMMAND: /* the count */
		return 4;
	case CTF_BOOL:
	case CTF_REASON:
	case CTF_STATE:
	case CTF_TEXT: /* the NUL */
	case CTF_TEXT_OR:
		return 1;
	}
	return 0;
}

static const char *text_at(const void *place)
{
	const char *text = *(const char *const *)place;

	return text ? text : "";
}

static size_t member_size(const struct ctf_member *m, const struct trace_item *item)
{
	size_t size = fixed_size(m->type), i;

	if (m->type == CTF_TEXT || m->type == CTF_TEXT_OR)
		size += strlen(text_at((const char *)item + m->offset));
	for (i = 0; m->type == CTF_COMMAND && i < item->run.nr_command; i++)
		size += strlen(item->run.command[i]) + 1;
	return size;
}

size_t ctf_fact_size(const struct trace_item *item)
{
	const struct ctf_member *m = ctf_facts[ctf_fact_of(item->type)].members;
	size_t size = 0;

	for (; m->name; m++)
		size += member_size(m, item);
	return size;
}

static uint8_t *ctf_fact_put_text(uint8_t *p, const char *text)
{
	size_t size = strlen(text) + 1;

	return (uint8_t *)memcpy(p, text, size) + size;
}

static uint8_t *ctf_fact_put_command(uint8_t *p, const struct sidecar_run *run)
{
	uint32_t nr = (uint32_t)run->nr_command, i;

	memcpy(p, &nr, sizeof(nr));
	p += sizeof(nr);
	for (i = 0; i < nr; i++)
		p = ctf_fact_put_text(p, run->command[i]);
	return p;
}

uint8_t *ctf_fact_encode(uint8_t *p, const struct trace_item *item)
{
	const struct ctf_member *m = ctf_facts[ctf_fact_of(item->type)].members;

	for (; m->name; m++) {
		const char *from = (const char *)item + m->offset;

		if (m->type == CTF_TEXT || m->type == CTF_TEXT_OR)
			p = ctf_fact_put_text(p, text_at(from));
		else if (m->type == CTF_COMMAND)
			p = ctf_fact_put_command(p, &item->run);
		else
			p = (uint8_t *)memcpy(p, from, fixed_size(m->type)) + fixed_size(m->type);
	}
	return p;
}

/* ---- read ---------------------------------------------------------------- */

/* The rest of a payload.  Nothing reads past its end. */
struct payload {
	const uint8_t *at, *end;
	bool no_memory;
};

static bool ctf_fact_take(struct payload *p, void *out, size_t size)
{
	if ((size_t)(p->end - p->at) < size)
		return false;
	memcpy(out, p->at, size);
	p->at += size;
	return true;
}

static const char *take_text(struct payload *p)
{
	const uint8_t *start = p->at;
	const uint8_t *nul = memchr(start, '\0', (size_t)(p->end - start));

	if (!nul)
		return NULL;
	p->at = nul + 1;
	return (const char *)start;
}

static bool take_command(struct payload *p, struct sidecar_run *run, const char ***words)
{
	uint32_t nr, i;

	/* A word takes at least one byte: a larger count is corrupt. */
	if (!ctf_fact_take(p, &nr, sizeof(nr)) || nr > (size_t)(p->end - p->at))
		return false;
	free((void *)*words);
	*words = calloc((size_t)nr + 1, sizeof(**words));
	p->no_memory = !*words;
	if (p->no_memory)
		return false;
	for (i = 0; i < nr; i++) {
		(*words)[i] = take_text(p);
		if (!(*words)[i])
			return false;
	}
	run->command = *words;
	run->nr_command = nr;
	return true;
}

static bool take_byte(struct payload *p, const struct ctf_member *m, char *out)
{
	uint8_t byte;

	if (!ctf_fact_take(p, &byte, 1))
		return false;
	if (m->type == CTF_BOOL)
		*(bool *)out = byte != 0; /* any other byte is not a valid bool */
	else
		*(uint8_t *)out = byte;
	return true;
}

static bool take_member(struct payload *p, const struct ctf_member *m, struct trace_item *item,
			const char ***words)
{
	char *out = (char *)item + m->offset;
	const char *text;

	switch (m->type) {
	case CTF_U64:
	case CTF_U32:
	case CTF_INT:
		return ctf_fact_take(p, out, fixed_size(m->type));
	case CTF_BOOL:
	case CTF_REASON:
	case CTF_STATE:
		return take_byte(p, m, out);
	case CTF_TEXT:
	case CTF_TEXT_OR:
		text = take_text(p);
		*(const char **)out = text && !*text && m->type == CTF_TEXT_OR ? NULL : text;
		return text != NULL;
	case CTF_COMMAND:
		return take_command(p, &item->run, words);
	}
	return false;
}

int ctf_fact_decode(const uint8_t *p, size_t size, unsigned id, struct trace_item *item,
		    const char ***words)
{
	struct payload payload = { .at = p, .end = p + size };
	const struct ctf_member *m;

	if (id >= NR_CTF_FACTS)
		return 0;
	trace_item_init(item, ctf_facts[id].type);
	for (m = ctf_facts[id].members; m->name && payload.at < payload.end; m++) {
		if (!take_member(&payload, m, item, words))
			return payload.no_memory ? -ENOMEM : 0;
	}
	return 1;
}
