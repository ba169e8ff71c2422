/* SPDX-License-Identifier: MIT */
/* schema.c - the fields of a trace's items, and access to them by their rows. */
#include "trace/schema.h"

#include <string.h>

#include "base/fmt.h"
#include "trace/ctf.h"
#include "trace/schema_event.h"

/* ---- the run ------------------------------------------------------------- */

static const struct schema_field run_fields[] = {
	{ KEY("format"), U64(sidecar_run, format), .ctf = 1 },
	{ KEY("tool"), TEXT(sidecar_run, tool), OR_NULL, .ctf = 6 },
	{ KEY("command"), COMMAND(sidecar_run, command), .ctf = 9 },
	{ KEY("pid"), U64(sidecar_run, pid), .ctf = 2 },
	{ KEY("start_ts"), U64(sidecar_run, start_ts), .ctf = 3 },
	{ KEY("start_realtime"), U64(sidecar_run, start_realtime), .ctf = 4 },
	{ KEY("hostname"), TEXT(sidecar_run, hostname), OMITTED, .ctf = 7 },
	{ KEY("arch"), TEXT(sidecar_run, arch), OR_NULL, .ctf = 8 },
	{ KEY("stations"), U64(sidecar_run, stations), .ctf = 5 },
};

static const struct schema_field process_fields[] = {
	{ KEY("pid"), U64(sidecar_process, pid), .ctf = 1 },
	{ KEY("uid"), U64(sidecar_process, uid), .ctf = 2 },
	{ KEY("connected_ts"), U64(sidecar_process, connected_ts), .ctf = 3 },
	{ KEY("part"), U64(sidecar_process, part), OMITTED, .ctf = 4 },
};

static const struct schema_field module_fields[] = {
	{ KEY("pid"), U64(sidecar_module, pid), .ctf = 1 },
	{ KEY("start"), U64(sidecar_module, start), .ctf = 2 },
	{ KEY("end"), U64(sidecar_module, end), .ctf = 3 },
	{ KEY("offset"), U64(sidecar_module, offset), .ctf = 4 },
	{ KEY("path"), TEXT(sidecar_module, path), .otherwise = "", .ctf = 5 },
	{ KEY("build_id"), TEXT(sidecar_module, build_id), OMITTED, .ctf = 6 },
};

static const struct schema_field cpu_fields[] = {
	{ KEY("pid"), U64(trace_cpu, pid), .ctf = 1 },
	{ KEY("tid"), U64(trace_cpu, tid), .ctf = 2 },
	{ KEY("from_ts"), U64(trace_cpu, from_ts), .ctf = 3 },
	{ KEY("to_ts"), U64(trace_cpu, to_ts), .ctf = 4 },
	{ KEY("cpu_ns"), U64(trace_cpu, cpu_ns), .ctf = 5 },
	{ KEY("queued_ns"), U64(trace_cpu, queued_ns), .ctf = 6 },
	{ KEY("state"), TEXT(trace_cpu, state), .otherwise = "", .ctf = 7 },
	{ KEY("call"), TEXT(trace_cpu, call), OMITTED, .ctf = 8 },
};

static const struct schema_field descriptor_fields[] = {
	{ KEY("pid"), U64(trace_descriptor, pid), .ctf = 1 },
	{ KEY("probe_id"), ID(trace_descriptor, probe_id), .ctf = 2 },
	{ KEY("fd"), U64(trace_descriptor, fd), .ctf = 3 },
	{ KEY("from_ts"), U64(trace_descriptor, from_ts), .ctf = 4 },
	{ KEY("to_ts"), U64(trace_descriptor, to_ts), .ctf = 5 },
	{ KEY("unread"), U64(trace_descriptor, unread), .ctf = 6 },
	{ KEY("kind"), TEXT(trace_descriptor, kind), OMITTED, .ctf = 7 },
	{ KEY("ready"), TEXT(trace_descriptor, ready), OMITTED, .ctf = 8 },
	{ KEY("watch"), TEXT(trace_descriptor, watch), OMITTED, .ctf = 9 },
};

static const struct schema_field switch_fields[] = {
	{ KEY("pid"), U64(trace_switch, pid), .ctf = 1, COLUMN(1) },
	{ KEY("tid"), U64(trace_switch, tid), .ctf = 2, COLUMN(2) },
	{ KEY("from_ts"), U64(trace_switch, from_ts), .ctf = 3, COLUMN(3) },
	{ KEY("to_ts"), U64(trace_switch, to_ts), .ctf = 4, COLUMN(4) },
	{ KEY("cpu"), U64(trace_switch, cpu), .ctf = 5, COLUMN(5) },
	{ KEY("lost"), U64(trace_switch, lost), OMITTED, .ctf = 6, COLUMN(7) },
	{ KEY("state"), TEXT(trace_switch, state), .otherwise = "", .ctf = 7, COLUMN(6) },
};

static const struct schema_field waiting_fields[] = {
	{ KEY("pid"), U64(trace_waiting, pid), .ctf = 1 },
	{ KEY("ts"), U64(trace_waiting, ts), .ctf = 2 },
	{ KEY("count"), U64(trace_waiting, count), .ctf = 3 },
	{ KEY("checked"), BOOL(trace_waiting, is_checked), .ctf = 4 },
	{ KEY("unmoved"), U64(trace_waiting, unmoved), .ctf = 5 },
	{ KEY("function"), TEXT(trace_waiting, function), OMITTED, .ctf = 6 },
	{ KEY("file"), TEXT(trace_waiting, file), OMITTED, .ctf = 7 },
	{ KEY("line"), U64(trace_waiting, line), .ctf = 8 },
	{ KEY("stack"), TEXT(trace_waiting, stack), OMITTED, .ctf = 9 },
	{ KEY("verdict"), TEXT(trace_waiting, verdict), OMITTED, .ctf = 10 },
	{ KEY("missing"), TEXT(trace_waiting, missing), OMITTED, .ctf = 11 },
};

static const struct schema_field frame_fields[] = {
	{ KEY("pid"), U64(trace_frame, pid), .ctf = 1, COLUMN(1) },
	{ KEY("tid"), U64(trace_frame, tid), OMITTED, .ctf = 2, COLUMN(2) },
	{ KEY("ts"), U64(trace_frame, ts), .ctf = 3, COLUMN(3) },
	{ KEY("probe_id"), ID(trace_frame, probe_id), OMITTED, .ctf = 4, COLUMN(4) },
	{ KEY("ticket"), U64(trace_frame, ticket), OMITTED, .ctf = 5, COLUMN(7) },
	{ KEY("lost"), U64(trace_frame, lost), OMITTED, .ctf = 6, COLUMN(9) },
	{ KEY("late"), BOOL(trace_frame, is_late), OMITTED, .ctf = 7, COLUMN(10) },
	{ KEY("buffer"), TEXT(trace_frame, buffer), OMITTED, .ctf = 8, COLUMN(5) },
	{ KEY("frame"), TEXT(trace_frame, type), OMITTED, .ctf = 9, COLUMN(6) },
	{ KEY("fields"), TEXT(trace_frame, fields), OMITTED, .ctf = 10, COLUMN(8) },
};

static const struct schema_field memory_fields[] = {
	{ KEY("pid"), U64(trace_memory, pid), .ctf = 1 },
	{ KEY("tid"), U64(trace_memory, tid), OMITTED, .ctf = 2 },
	{ KEY("probe_id"), ID(trace_memory, probe_id), OMITTED, .ctf = 3 },
	{ KEY("from_ts"), U64(trace_memory, from_ts), .ctf = 4 },
	{ KEY("to_ts"), U64(trace_memory, to_ts), .ctf = 5 },
	{ KEY("accesses"), U64(trace_memory, accesses), .ctf = 6 },
	{ KEY("writes"), U64(trace_memory, writes), .ctf = 7 },
	{ KEY("allocations"), U64(trace_memory, allocations), .ctf = 8 },
	{ KEY("allocated"), U64(trace_memory, allocated), .ctf = 9 },
	{ KEY("offset"), U64(trace_memory, offset), OMITTED, .ctf = 10 },
	{ KEY("size"), U64(trace_memory, size), OMITTED, .ctf = 11 },
	{ KEY("lost"), U64(trace_memory, lost), OMITTED, .ctf = 12 },
	{ KEY("file"), TEXT(trace_memory, file), OMITTED, .ctf = 13 },
	{ KEY("build_id"), TEXT(trace_memory, build_id), OMITTED, .ctf = 14 },
};

static const struct schema_field site_fields[] = {
	{ KEY("id"), U32(trace_site, id), .ctf = 1, .ctf_name = "site", COLUMN(1),
	  .column_name = "site" },
	{ KEY("file"), TEXT(trace_site, file), .otherwise = "", .ctf = 4, COLUMN(2) },
	{ KEY("line"), U32(trace_site, line), .ctf = 2, COLUMN(3) },
	{ KEY("function"), TEXT(trace_site, function), .otherwise = "", .ctf = 5, COLUMN(4) },
	{ KEY("pid"), U32(trace_site, pid), .ctf = 3 },
};

/* ---- gaps ---------------------------------------------------------------- */

static const struct schema_field gap_fields[] = {
	{ KEY("from_ts"), U64(trace_gap, from_ts) },
	{ KEY("to_ts"), U64(trace_gap, to_ts) },
	{ KEY("lane"), U32(trace_gap, lane), OMITTED, .missing = TRACE_LANE_STATIONS },
	{ KEY("pid"), U32(trace_gap, pid) },
	{ KEY("tid"), U64(trace_gap, tid) },
	{ KEY("transitions"), U64(trace_gap, transitions) },
	{ KEY("others"), U64(trace_gap, others) },
};

/* ---- the end of a run ---------------------------------------------------- */

static const struct schema_field coroutine_fields[] = {
	{ KEY("station"), U64(sidecar_coroutine, station), OR_NULL, .missing = TRACE_NO_STATION,
	  .ctf = 1, COLUMN(2) },
	{ KEY("probe_id"), ID(sidecar_coroutine, probe_id), .ctf = 2, COLUMN(1) },
	{ KEY("pid"), U64(sidecar_coroutine, pid), .ctf = 3, COLUMN_OR_NULL(3) },
	{ KEY("name"), TEXT(sidecar_coroutine, name), OR_NULL, .ctf = 4, COLUMN(4) },
	{ KEY("name_truncated"), BOOL(sidecar_coroutine, name_truncated), OMITTED, .ctf = 5 },
	{ KEY("birth_ts"), U64(sidecar_coroutine, birth_ts), .ctf = 6, COLUMN_OR_NULL(6) },
	{ U64(sidecar_coroutine, end_ts), COLUMN_OR_NULL(8), .column_name = "end_ts" },
	{ KEY("death_ts"), U64(sidecar_coroutine, death_ts), OR_NULL, .ctf = 7, COLUMN(9),
	  .column_name = "destroy_ts" },
	{ KEY("dead"), BOOL(sidecar_coroutine, dead), .ctf = 8 },
	{ KEY("writer"), TEXT(sidecar_coroutine, writer), .otherwise = "unknown", .ctf = 9 },
	{ KEY("written"), U64(sidecar_coroutine, written), HAS(sidecar_coroutine, is_counted, 1),
	  .ctf = 10, COLUMN_OR_NULL(15) },
	{ KEY("collected"), U64(sidecar_coroutine, collected), .ctf = 11 },
	{ KEY("lost"), U64(sidecar_coroutine, lost), HAS(sidecar_coroutine, is_counted, 1),
	  .ctf = 12, COLUMN_OR_NULL(16) },
	{ KEY("garbage"), U64(sidecar_coroutine, garbage), .ctf = 13 },
	{ KEY("parent"), ID(sidecar_coroutine, parent), OMITTED, .ctf = 14, COLUMN(5) },
	{ KEY("birth_site"), U32(sidecar_coroutine, birth_site), OMITTED, .ctf = 15, COLUMN(7) },
	{ KEY("state"), STATE(sidecar_coroutine, state), OMITTED, .ctf = 16, COLUMN(10) },
	{ KEY("since_ts"), U64(sidecar_coroutine, since_ts), OMITTED,
	  HAS(sidecar_coroutine, state, 0), .ctf = 17, COLUMN(11) },
	{ KEY("addr"), ADDR(sidecar_coroutine, addr), OMITTED, .ctf = 18 },
	{ KEY("site"), U32(sidecar_coroutine, site), OMITTED, .ctf = 19, COLUMN(12) },
	{ KEY("reason"), REASON(sidecar_coroutine, reason), OMITTED, .ctf = 20, COLUMN(13) },
	{ BOOL(sidecar_coroutine, has_resource), .ctf = 21, .ctf_name = "has_resource" },
	{ KEY("resource"), ID(sidecar_coroutine, resource), OMITTED,
	  HAS(sidecar_coroutine, has_resource, 1), .ctf = 22, COLUMN(14) },
};

static const struct schema_field totals_fields[] = {
	{ KEY("complete"), BOOL(sidecar_totals, complete), .ctf = 1 },
	{ KEY("written"), U64(sidecar_totals, written), .ctf = 2 },
	{ KEY("collected"), U64(sidecar_totals, collected), .ctf = 3 },
	{ KEY("lost"), U64(sidecar_totals, lost), .ctf = 4 },
	{ KEY("lost_overwritten"), U64(sidecar_totals, lost_overwritten), .ctf = 5 },
	{ KEY("lost_full"), U64(sidecar_totals, lost_full), .ctf = 6 },
	{ KEY("lost_output"), U64(sidecar_totals, lost_output), .ctf = 7 },
	{ KEY("garbage"), U64(sidecar_totals, garbage), .ctf = 8 },
	{ KEY("unfinished"), U64(sidecar_totals, unfinished), .ctf = 9 },
	{ KEY("coroutines"), U64(sidecar_totals, coroutines), .ctf = 10 },
	{ KEY("without_station"), U64(sidecar_totals, without_station), .ctf = 11 },
	{ KEY("others_written"), U64(sidecar_totals, others_written), .ctf = 12 },
	{ KEY("others_collected"), U64(sidecar_totals, others_collected), .ctf = 13 },
	{ KEY("others_lost"), U64(sidecar_totals, others_lost), .ctf = 14 },
	{ KEY("forgotten"), U64(sidecar_totals, forgotten), .ctf = 15 },
	{ KEY("others_forgotten"), U64(sidecar_totals, others_forgotten), .ctf = 16 },
	{ KEY("waits"), U64(sidecar_totals, waits), .ctf = 17 },
	{ KEY("wait_ns"), U64(sidecar_totals, wait_ns), .ctf = 18 },
	{ KEY("exit_status"), INT(sidecar_totals, exit_status), OR_NULL, .missing = (uint64_t)-1,
	  .ctf = 19 },
	{ KEY("signal"), INT(sidecar_totals, signal), OR_NULL, .ctf = 20 },
	{ KEY("detached"), BOOL(sidecar_totals, detached), OMITTED },
	{ KEY("end_ts"), U64(sidecar_totals, end_ts), .ctf = 21 },
};

/* ---- parts of a merged trace ---------------------------------------------- */

static const struct schema_field part_fields[] = {
	{ KEY("number"), U64(trace_part, number), .ctf = 1 },
	{ KEY("ids_from"), ID(trace_part, ids_from), .ctf = 2 },
	{ KEY("ids_to"), ID(trace_part, ids_to), .ctf = 3 },
	{ KEY("name"), TEXT(trace_part, name), OMITTED, .ctf = 4 },
	{ KEY("has_totals"), BOOL(trace_part, has_totals), .ctf = 5 },
	{ KEY("whole"), BOOL(trace_part, is_whole), .ctf = 6 },
	{ KEY("tool"), TEXT(trace_part, run.tool), OR_NULL, .ctf = 7 },
	{ KEY("command"), COMMAND(trace_part, run.command), .ctf = 8 },
	{ KEY("pid"), U64(trace_part, run.pid), .ctf = 9 },
	{ KEY("start_ts"), U64(trace_part, run.start_ts), .ctf = 10 },
	{ KEY("start_realtime"), U64(trace_part, run.start_realtime), .ctf = 11 },
	{ KEY("hostname"), TEXT(trace_part, run.hostname), OMITTED, .ctf = 12 },
	{ KEY("arch"), TEXT(trace_part, run.arch), OR_NULL, .ctf = 13 },
	{ KEY("stations"), U64(trace_part, run.stations), .ctf = 14 },
	{ KEY("complete"), BOOL(trace_part, totals.complete), .ctf = 15 },
	{ KEY("written"), U64(trace_part, totals.written), .ctf = 16 },
	{ KEY("collected"), U64(trace_part, totals.collected), .ctf = 17 },
	{ KEY("lost"), U64(trace_part, totals.lost), .ctf = 18 },
	{ KEY("lost_overwritten"), U64(trace_part, totals.lost_overwritten), .ctf = 19 },
	{ KEY("lost_full"), U64(trace_part, totals.lost_full), .ctf = 20 },
	{ KEY("lost_output"), U64(trace_part, totals.lost_output), .ctf = 21 },
	{ KEY("garbage"), U64(trace_part, totals.garbage), .ctf = 22 },
	{ KEY("unfinished"), U64(trace_part, totals.unfinished), .ctf = 23 },
	{ KEY("coroutines"), U64(trace_part, totals.coroutines), .ctf = 24 },
	{ KEY("without_station"), U64(trace_part, totals.without_station), .ctf = 25 },
	{ KEY("others_written"), U64(trace_part, totals.others_written), .ctf = 26 },
	{ KEY("others_collected"), U64(trace_part, totals.others_collected), .ctf = 27 },
	{ KEY("others_lost"), U64(trace_part, totals.others_lost), .ctf = 28 },
	{ KEY("forgotten"), U64(trace_part, totals.forgotten), .ctf = 29 },
	{ KEY("others_forgotten"), U64(trace_part, totals.others_forgotten), .ctf = 30 },
	{ KEY("waits"), U64(trace_part, totals.waits), .ctf = 31 },
	{ KEY("wait_ns"), U64(trace_part, totals.wait_ns), .ctf = 32 },
	{ KEY("exit_status"), INT(trace_part, totals.exit_status), OR_NULL, .missing = (uint64_t)-1,
	  .ctf = 33 },
	{ KEY("signal"), INT(trace_part, totals.signal), OR_NULL, .ctf = 34 },
	{ KEY("detached"), BOOL(trace_part, totals.detached), OMITTED, .ctf = 35 },
	{ KEY("end_ts"), U64(trace_part, totals.end_ts), .ctf = 36 },
};

#define FIELDS(array) .fields = (array), .nr = sizeof(array) / sizeof((array)[0])

const struct schema_record schema[NR_TRACE_ITEM_TYPES] = {
	[TRACE_ITEM_RUN] = { "run", FIELDS(run_fields), CTF_RUN },
	[TRACE_ITEM_PROCESS] = { "process", FIELDS(process_fields), CTF_PROCESS },
	[TRACE_ITEM_SITE] = { "site", FIELDS(site_fields), CTF_SITE },
	[TRACE_ITEM_EVENT] = { NULL, FIELDS(schema_event_fields), -1 },
	[TRACE_ITEM_GAP] = { "gap", FIELDS(gap_fields), -1 },
	[TRACE_ITEM_COROUTINE] = { "coroutine", FIELDS(coroutine_fields), CTF_COROUTINE },
	[TRACE_ITEM_TOTALS] = { "totals", FIELDS(totals_fields), CTF_FACT_TOTALS },
	[TRACE_ITEM_MODULE] = { "module", FIELDS(module_fields), CTF_MODULE },
	[TRACE_ITEM_CPU] = { "cpu", FIELDS(cpu_fields), CTF_CPU },
	[TRACE_ITEM_DESCRIPTOR] = { "descriptor", FIELDS(descriptor_fields), CTF_DESCRIPTOR },
	[TRACE_ITEM_SWITCH] = { "switch", FIELDS(switch_fields), CTF_SWITCH },
	[TRACE_ITEM_WAITING] = { "waiting", FIELDS(waiting_fields), CTF_WAITING },
	[TRACE_ITEM_FRAME] = { "frame", FIELDS(frame_fields), CTF_FRAME },
	[TRACE_ITEM_PART] = { "part", FIELDS(part_fields), CTF_PART },
	[TRACE_ITEM_MEMORY] = { "memory", FIELDS(memory_fields), CTF_MEMORY },
};

const struct schema_kind schema_kinds[NR_TRACE_KINDS] = {
	[TRACE_SUSPEND] = { "suspend", "suspends", "suspension", "suspensions" },
	[TRACE_RESUME] = { "resume", "resumes", "resumption", "resumptions" },
	[TRACE_BIRTH] = { "birth", "births", "birth", "births" },
	[TRACE_WAKE] = { "wake", "wakes", "wake", "wakes" },
	[TRACE_END] = { "end", "ends", "end", "ends" },
	[TRACE_DESTROY] = { "destroy", "destroys", "destruction", "destructions" },
	[TRACE_CLOSE] = { "close", "closes", "close", "closes" },
	[TRACE_ACQUIRE] = { "acquire", "acquires", "lock taken", "locks taken" },
	[TRACE_RELEASE] = { "release", "releases", "lock released", "locks released" },
	[TRACE_CONTEXT] = { "context", "contexts", "trace context", "trace contexts" },
};

/* ---- values -------------------------------------------------------------- */

const char *schema_word(const struct schema_field *f, uint64_t value)
{
	unsigned number = (unsigned)value;

	if (f->type == SCHEMA_REASON)
		return trace_reason_name(number);
	return f->type == SCHEMA_STATE ? trace_state_name(number) : trace_kind_name(number);
}

void trace_item_init(struct trace_item *item, enum trace_item_type type)
{
	const struct schema_record *r = &schema[type];
	size_t i;

	memset(item, 0, sizeof(*item));
	item->type = type;
	for (i = 0; i < r->nr; i++) {
		char *at = (char *)schema_record_of(item) + r->fields[i].offset;

		if (!r->fields[i].missing)
			continue;
		if (r->fields[i].type == SCHEMA_INT)
			*(int *)at = (int)r->fields[i].missing;
		else
			schema_set_number(&r->fields[i], schema_record_of(item),
					  r->fields[i].missing);
	}
}

/* ---- JSON ---------------------------------------------------------------- */

static void schema_put_word(struct json_writer *j, const struct schema_field *f, uint64_t value)
{
	const char *word = schema_word(f, value);

	if (word)
		jw_string(j, word);
	else
		jw_u64(j, value); /* of a later version */
}

static void schema_put_command(struct json_writer *j, const struct sidecar_run *run)
{
	size_t i;

	jw_array_begin(j);
	for (i = 0; i < run->nr_command; i++)
		jw_string(j, run->command[i]);
	jw_array_end(j);
}

static void schema_put_value(struct json_writer *j, const struct schema_field *f,
			     const void *record)
{
	const char *at = (const char *)record + f->offset, *text;
	char addr[2 + 16 + FMT_SLACK] = "0x";

	switch ((enum schema_type)f->type) {
	case SCHEMA_BOOL:
		jw_bool(j, schema_number(f, record));
		break;
	case SCHEMA_ADDR:
		*fmt_hex16(addr + 2, schema_number(f, record)) = '\0';
		jw_string(j, addr);
		break;
	case SCHEMA_REASON:
	case SCHEMA_STATE:
		schema_put_word(j, f, schema_number(f, record));
		break;
	case SCHEMA_TEXT:
		text = *(const char *const *)at;
		jw_string(j, text ? text : f->otherwise);
		break;
	case SCHEMA_NAME:
		jw_string_n(j, *(const char *const *)at,
			    ((const struct trace_event *)record)->name_size);
		break;
	case SCHEMA_COMMAND:
		schema_put_command(j, record);
		break;
	default:
		jw_u64(j, schema_number(f, record));
	}
}

void schema_put_json(struct json_writer *j, enum trace_item_type type, const void *record)
{
	const struct schema_field *f = schema[type].fields, *end = f + schema[type].nr;

	for (; f < end; f++) {
		bool reported = f->absent == SCHEMA_WRITTEN || schema_is_reported(f, record);

		if (!f->key || (!reported && f->absent == SCHEMA_OMITTED) ||
		    (type == TRACE_ITEM_EVENT &&
		     !schema_is_of_kind(f, ((const struct trace_event *)record)->kind)))
			continue;
		jw_key(j, f->key);
		if (reported)
			schema_put_value(j, f, record);
		else
			jw_null(j);
	}
}

/* ---- CTF ----------------------------------------------------------------- */

/* Mostly the rows are in that order: the search begins behind the last. */
const struct schema_field *schema_next_in_ctf(const struct schema_record *r,
					      const struct schema_field *f)
{
	size_t i, from = f ? (size_t)(f - r->fields) + 1 : 0;
	unsigned position = f ? f->ctf + 1u : 1;

	for (i = 0; i < r->nr; i++) {
		const struct schema_field *next = &r->fields[(from + i) % r->nr];

		if (next->ctf == position)
			return next;
	}
	return NULL;
}
