/* SPDX-License-Identifier: MIT */
/* ctf_facts.c - facts about a run as records of a CTF stream. */
#include "trace/ctf_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The type of the items whose fact is @id; -1: there is none. */
static int ctf_fact_type(unsigned id)
{
	int i;

	for (i = 0; i < NR_TRACE_ITEM_TYPES; i++) {
		if (schema[i].ctf == (int)id)
			return i;
	}
	return -1;
}

const struct schema_record *ctf_fact_record(unsigned id)
{
	int type = ctf_fact_type(id);

	return type < 0 ? NULL : &schema[type];
}

/* ---- write --------------------------------------------------------------- */

/* Bytes of every value of a type; of a text, the NUL; of a command, the count. */
static size_t fixed_size(const struct schema_field *f)
{
	switch ((enum schema_type)f->type) {
	case SCHEMA_U64:
	case SCHEMA_ID:
	case SCHEMA_ADDR:
		return 8;
	case SCHEMA_U32:
	case SCHEMA_INT:
	case SCHEMA_COMMAND:
		return 4;
	default:
		return 1;
	}
}

static const char *ctf_fact_text(const struct schema_field *f, const void *record)
{
	const char *text = *(const char *const *)((const char *)record + f->offset);

	return text ? text : "";
}

static size_t member_size(const struct schema_field *f, const void *record)
{
	const struct sidecar_run *run = record;
	size_t size = fixed_size(f), i;

	if (f->type == SCHEMA_TEXT)
		size += strlen(ctf_fact_text(f, record));
	for (i = 0; f->type == SCHEMA_COMMAND && i < run->nr_command; i++)
		size += strlen(run->command[i]) + 1;
	return size;
}

size_t ctf_fact_size(const struct trace_item *item)
{
	const struct schema_record *r = &schema[item->type];
	const struct schema_field *f = NULL;
	size_t size = 0;

	while ((f = schema_next_in_ctf(r, f)))
		size += member_size(f, schema_const_record_of(item));
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
	const struct schema_record *r = &schema[item->type];
	const void *record = schema_const_record_of(item);
	const struct schema_field *f = NULL;

	while ((f = schema_next_in_ctf(r, f))) {
		uint64_t value = schema_number(f, record);

		if (f->type == SCHEMA_TEXT)
			p = ctf_fact_put_text(p, ctf_fact_text(f, record));
		else if (f->type == SCHEMA_COMMAND)
			p = ctf_fact_put_command(p, record);
		else /* little-endian: the first bytes of the value */
			p = (uint8_t *)memcpy(p, &value, fixed_size(f)) + fixed_size(f);
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

/* A missing text is an empty one. */
static bool ctf_fact_take_text(struct payload *p, const struct schema_field *f, void *record)
{
	const char *text = take_text(p);
	bool is_missing = text && !*text && !(f->otherwise && !*f->otherwise);

	*(const char **)((char *)record + f->offset) = is_missing ? NULL : text;
	return text != NULL;
}

static bool ctf_fact_take_number(struct payload *p, const struct schema_field *f, void *record)
{
	uint64_t value = 0;

	if (!ctf_fact_take(p, &value, fixed_size(f)))
		return false;
	if (f->type == SCHEMA_INT)
		*(int *)((char *)record + f->offset) = (int)(uint32_t)value;
	else if (f->type == SCHEMA_BOOL)
		schema_set_number(f, record, value != 0); /* any other byte is not a valid bool */
	else if (f->type != SCHEMA_STATE || schema_word(f, value))
		schema_set_number(f, record, value); /* always fits */
	return true;
}

static bool take_member(struct payload *p, const struct schema_field *f, void *record,
			const char ***words)
{
	if (f->type == SCHEMA_TEXT)
		return ctf_fact_take_text(p, f, record);
	if (f->type == SCHEMA_COMMAND)
		return take_command(p, record, words);
	return ctf_fact_take_number(p, f, record);
}

int ctf_fact_decode(const uint8_t *p, size_t size, unsigned id, struct trace_item *item,
		    const char ***words)
{
	struct payload payload = { .at = p, .end = p + size };
	const struct schema_field *f = NULL;
	int type = ctf_fact_type(id);

	if (type < 0)
		return 0;
	trace_item_init(item, (enum trace_item_type)type);
	while (payload.at < payload.end && (f = schema_next_in_ctf(&schema[type], f))) {
		if (!take_member(&payload, f, schema_record_of(item), words))
			return payload.no_memory ? -ENOMEM : 0;
	}
	return 1;
}
