/* SPDX-License-Identifier: MIT */
/* ship_labels.c - whose block an envelope has. */
#include "ship/ship_labels.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/json_parse.h"

struct ship_label_text {
	const char *key;
	size_t offset, size;
};

struct ship_label_number {
	const char *key;
	size_t offset;
};

#define SHIP_TEXT(name)                                                \
	{                                                              \
#name, offsetof(struct ship_labels, name),             \
			sizeof(((const struct ship_labels *)0)->name), \
	}
#define SHIP_NUMBER(name)                                 \
	{                                                 \
#name, offsetof(struct ship_labels, name) \
	}
#define SHIP_FINAL_NUMBER(name)                          \
	{                                                \
#name, offsetof(struct ship_final, name) \
	}

static const struct ship_label_text ship_texts[] = {
	SHIP_TEXT(service), SHIP_TEXT(build),  SHIP_TEXT(version),
	SHIP_TEXT(host),    SHIP_TEXT(region), SHIP_TEXT(run),
};

static const struct ship_label_number ship_numbers[] = {
	SHIP_NUMBER(sample),
	SHIP_NUMBER(start_ts),
	SHIP_NUMBER(start_realtime),
};

static const struct ship_label_number ship_final_numbers[] = {
	SHIP_FINAL_NUMBER(written),
	SHIP_FINAL_NUMBER(collected),
	SHIP_FINAL_NUMBER(lost),
	SHIP_FINAL_NUMBER(others_written),
	SHIP_FINAL_NUMBER(others_collected),
	SHIP_FINAL_NUMBER(others_lost),
	SHIP_FINAL_NUMBER(blocks),
	SHIP_FINAL_NUMBER(given_up_blocks),
	SHIP_FINAL_NUMBER(given_up_transitions),
	SHIP_FINAL_NUMBER(given_up_others),
	SHIP_FINAL_NUMBER(left_out_transitions),
	SHIP_FINAL_NUMBER(left_out_others),
	SHIP_FINAL_NUMBER(whole_blocks),
};

#define SHIP_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- write ----------------------------------------------------------------------- */

static void ship_write_numbers(struct json_writer *w, const struct ship_label_number *table,
			       size_t nr, const void *from)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		uint64_t value;

		memcpy(&value, (const char *)from + table[i].offset, sizeof(value));
		jw_field_u64(w, table[i].key, value);
	}
}

void ship_labels_write(struct json_writer *w, const struct ship_labels *labels)
{
	size_t i;

	jw_object_begin(w);
	for (i = 0; i < SHIP_COUNT(ship_texts); i++)
		jw_field_string(w, ship_texts[i].key, (const char *)labels + ship_texts[i].offset);
	ship_write_numbers(w, ship_numbers, SHIP_COUNT(ship_numbers), labels);
	if (labels->has_final) {
		jw_key(w, "final");
		jw_object_begin(w);
		ship_write_numbers(w, ship_final_numbers, SHIP_COUNT(ship_final_numbers),
				   &labels->final);
		jw_field_bool(w, "ended", labels->final.ended);
		jw_object_end(w);
	}
	jw_object_end(w);
}

/* ---- read ------------------------------------------------------------------------ */

static int ship_parse_texts(const json_t *object, struct ship_labels *labels, struct err *err)
{
	size_t i;

	for (i = 0; i < SHIP_COUNT(ship_texts); i++) {
		const struct ship_label_text *t = &ship_texts[i];
		const json_t *value = json_object_get(object, t->key);

		if (!value)
			continue;
		if (!json_is_string(value) || json_string_length(value) >= t->size)
			return err_set(
				err, -EPROTO,
				"cannot read the labels: '%s' is not a text of up to %zu bytes",
				t->key, t->size - 1);
		memcpy((char *)labels + t->offset, json_string_value(value),
		       json_string_length(value));
	}
	return 0;
}

static int ship_parse_numbers(const json_t *object, const struct ship_label_number *table,
			      size_t nr, void *to, struct err *err)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		const json_t *value = json_object_get(object, table[i].key);
		uint64_t number;

		if (!value)
			continue;
		if (!json_is_integer(value) || json_integer_value(value) < 0)
			return err_set(err, -EPROTO, "cannot read the labels: '%s' is not a count",
				       table[i].key);
		number = (uint64_t)json_integer_value(value);
		memcpy((char *)to + table[i].offset, &number, sizeof(number));
	}
	return 0;
}

static int ship_parse_final(const json_t *object, struct ship_labels *labels, struct err *err)
{
	const json_t *final = json_object_get(object, "final");

	if (!final)
		return 0;
	if (!json_is_object(final))
		return err_set(err, -EPROTO, "cannot read the labels: 'final' is not an object");
	labels->has_final = true;
	labels->final.ended = json_is_true(json_object_get(final, "ended"));
	return ship_parse_numbers(final, ship_final_numbers, SHIP_COUNT(ship_final_numbers),
				  &labels->final, err);
}

int ship_labels_parse(const char *text, size_t size, struct ship_labels *labels, struct err *err)
{
	json_t *object;
	int rc;

	memset(labels, 0, sizeof(*labels));
	labels->sample = 1;
	object = json_parse(text, size, JSON_REJECT_DUPLICATES, NULL, &rc);
	if (!object && rc == -ENOMEM)
		return err_set(err, rc, "no memory to read the labels");
	if (!json_is_object(object)) {
		json_decref(object);
		return err_set(err, -EPROTO, "cannot read the labels: they are not a JSON object");
	}
	rc = ship_parse_texts(object, labels, err);
	if (rc == 0)
		rc = ship_parse_numbers(object, ship_numbers, SHIP_COUNT(ship_numbers), labels,
					err);
	if (rc == 0)
		rc = ship_parse_final(object, labels, err);
	if (rc == 0 && (!ship_run_is_valid(labels->run) || !labels->host[0] || !labels->sample))
		rc = err_set(err, -EPROTO, "cannot read the labels: no valid run, host or sample");
	json_decref(object);
	return rc;
}

/* ---- the run --------------------------------------------------------------------- */

bool ship_run_is_valid(const char *run)
{
	return strspn(run, "0123456789abcdef") == SHIP_RUN_SIZE - 1 && !run[SHIP_RUN_SIZE - 1];
}

int ship_run_new(char run[SHIP_RUN_SIZE], struct err *err)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t random[(SHIP_RUN_SIZE - 1) / 2];
	size_t i;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return err_errno(err, "cannot get random bytes");
	for (i = 0; i < sizeof(random); i++) {
		run[2 * i] = digits[random[i] >> 4];
		run[2 * i + 1] = digits[random[i] & 15];
	}
	run[SHIP_RUN_SIZE - 1] = 0;
	return 0;
}
