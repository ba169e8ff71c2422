/* SPDX-License-Identifier: MIT */
/* fleet_ask_table.c - the result of a question: a table as ClickHouse sends it. */
#include "fleet/fleet_ask_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ask_table_release(struct ask_table *t)
{
	free(t->memory);
	free(t->columns);
	free(t->cells);
	*t = (struct ask_table){ 0 };
}

static char ask_table_unescape(char c)
{
	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case '0':
		return ' '; /* a zero byte would end the text */
	default:
		return c;
	}
}

static void ask_table_unescape_text(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text == '\\' && text[1])
			*to++ = ask_table_unescape(*++text);
		else
			*to++ = *text;
	}
	*to = '\0';
}

static enum ask_kind ask_table_kind(const char *type)
{
	if (!strncmp(type, "Array(", 6))
		return ASK_LIST;
	if (!strncmp(type, "UInt", 4))
		return ASK_COUNT;
	if (!strncmp(type, "Int", 3))
		return ASK_INTEGER;
	return !strncmp(type, "Float", 5) ? ASK_REAL : ASK_TEXT;
}

/* Cut the next line off *@rest; NULL: there is none. */
static char *ask_table_line(char **rest)
{
	char *line = *rest, *end = line ? strchr(line, '\n') : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	*rest = end + 1;
	return line;
}

static size_t ask_table_count_fields(const char *line)
{
	size_t nr = 1;

	for (; *line; line++)
		nr += *line == '\t';
	return nr;
}

static int ask_table_parse_head(struct ask_table *t, char **rest)
{
	char *names = ask_table_line(rest), *types = ask_table_line(rest);
	size_t i;

	if (!names || !types || ask_table_count_fields(names) != ask_table_count_fields(types))
		return -EBADMSG;
	t->nr_columns = ask_table_count_fields(names);
	t->columns = calloc(t->nr_columns, sizeof(*t->columns));
	if (!t->columns)
		return -ENOMEM;
	for (i = 0; i < t->nr_columns; i++) {
		char *name = strsep(&names, "\t"), *type = strsep(&types, "\t");

		ask_table_unescape_text(name);
		ask_table_unescape_text(type);
		t->columns[i] = (struct ask_column){ name, type, ask_table_kind(type) };
	}
	return 0;
}

static int ask_table_reserve(struct ask_table *t)
{
	size_t room = t->room ? t->room * 2 : 64;
	const char **cells;

	if (t->nr_rows < t->room)
		return 0;
	cells = reallocarray(t->cells, room * t->nr_columns, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	t->cells = cells;
	t->room = room;
	return 0;
}

static int ask_table_parse_row(struct ask_table *t, char *line)
{
	const char **row;
	size_t i;

	if (ask_table_count_fields(line) != t->nr_columns)
		return -EBADMSG;
	if (ask_table_reserve(t) < 0)
		return -ENOMEM;
	row = &t->cells[t->nr_rows++ * t->nr_columns];
	for (i = 0; i < t->nr_columns; i++) {
		char *cell = strsep(&line, "\t");

		if (t->columns[i].kind != ASK_LIST)
			ask_table_unescape_text(cell);
		row[i] = cell;
	}
	return 0;
}

int ask_table_parse(struct ask_table *t, const char *text, size_t size, struct err *err)
{
	char *rest, *line;
	int rc = -ENOMEM;

	*t = (struct ask_table){ .memory = malloc(size + 1) };
	if (t->memory) {
		memcpy(t->memory, text, size);
		t->memory[size] = '\0';
		rest = t->memory;
		rc = ask_table_parse_head(t, &rest);
		while (!rc && (line = ask_table_line(&rest)) != NULL)
			rc = ask_table_parse_row(t, line);
		if (!rc && *rest)
			rc = -EBADMSG; /* the last line has no end: the answer was cut */
	}
	if (!rc)
		return 0;
	ask_table_release(t);
	return err_set(err, rc,
		       rc == -ENOMEM ? "no memory for the answer"
				     : "cannot read the answer of ClickHouse: it is cut short");
}

const char *ask_table_cell(const struct ask_table *t, size_t row, const char *name)
{
	size_t i;

	for (i = 0; i < t->nr_columns; i++) {
		if (!strcmp(t->columns[i].name, name))
			return row < t->nr_rows ? t->cells[row * t->nr_columns + i] : NULL;
	}
	return NULL;
}

unsigned long long ask_table_number(const struct ask_table *t, size_t row, const char *name)
{
	const char *cell = ask_table_cell(t, row, name);

	return cell ? strtoull(cell, NULL, 10) : 0;
}

const char *ask_table_element(const char *list, char *buf, size_t size)
{
	bool is_quoted;
	size_t used = 0;

	while (*list == '[' || *list == ',')
		list++;
	if (*list == ']' || !*list)
		return NULL;
	is_quoted = *list == '\'';
	list += is_quoted;
	while (*list && (is_quoted ? *list != '\'' : *list != ',' && *list != ']')) {
		char c = *list++;

		if (c == '\\' && *list)
			c = ask_table_unescape(*list++);
		if (used + 1 < size)
			buf[used++] = c;
	}
	buf[used] = '\0';
	return list + (is_quoted && *list == '\'');
}
