/* SPDX-License-Identifier: MIT */
/* query_output.c - the result of a query as a table, CSV or JSON. */
#include "json_file.h"
#include "query_output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"

/* Number of rows that are looked at before the first one is printed. */
#define TABLE_ROWS_FIRST 500

/* A column of text stays this wide on a narrow terminal. */
#define TABLE_COLUMN_MIN 16

#define CELL_TEXT_SIZE   64

/* ---- cells of a table ------------------------------------------------------------ */

/* 12345, 12345.5, 0.333, 1.23e-07. */
static void query_real_text(char buf[CELL_TEXT_SIZE], double d)
{
	double size = fabs(d);
	char *end;

	if (!isfinite(d) || (size != 0 && size < 0.001) || size >= 1e15) {
		snprintf(buf, CELL_TEXT_SIZE, "%.6g", d);
		return;
	}
	snprintf(buf, CELL_TEXT_SIZE, "%.3f", d);
	for (end = buf + strlen(buf); end[-1] == '0'; end--)
		end[-1] = '\0';
	if (end[-1] == '.')
		end[-1] = '\0';
}

/* The text of a cell, terminated: in @buf, or in p->line. */
static const char *query_cell_shown(struct query_print *p, const struct cell *c,
				    char buf[CELL_TEXT_SIZE])
{
	size_t i;

	buf[0] = '\0';
	switch (c->kind) {
	case CELL_SIGNED:
		snprintf(buf, CELL_TEXT_SIZE, "%lld", (long long)c->i);
		break;
	case CELL_DOUBLE:
		query_real_text(buf, c->d);
		break;
	case CELL_TEXT:
		bytes_clear(&p->line);
		for (i = 0; i < c->size; i++) {
			/* A NUL as text_put() writes other control characters. */
			if (c->text[i])
				bytes_add(&p->line, &c->text[i], 1);
			else
				bytes_add(&p->line, "\\x00", 4);
		}
		bytes_add(&p->line, "", 1);
		return p->line.error ? "" : (const char *)p->line.data;
	default:
		break;
	}
	return buf;
}

/* ---- table ----------------------------------------------------------------------- */

static int query_terminal_width(void)
{
	struct winsize size;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return 0;
}

static int query_table_total(const struct query_print *p)
{
	int total = -2;
	size_t i;

	for (i = 0; i < p->nr_columns; i++)
		total += p->widths[i] + 2;
	return total;
}

/* Makes the widest column of text narrower until the table fits; numbers are never cut. */
static void query_table_fit(struct query_print *p, int terminal)
{
	while (terminal && query_table_total(p) > terminal) {
		size_t i, widest = p->nr_columns;

		for (i = 0; i < p->nr_columns; i++) {
			if (!p->is_number[i] && p->widths[i] > TABLE_COLUMN_MIN &&
			    (widest == p->nr_columns || p->widths[i] > p->widths[widest]))
				widest = i;
		}
		if (widest == p->nr_columns)
			return;
		p->widths[widest]--;
	}
}

static void query_table_measure(struct query_print *p)
{
	char buf[CELL_TEXT_SIZE];
	size_t row, i;

	for (i = 0; i < p->nr_columns; i++) {
		p->widths[i] = text_width(p->names[i]);
		p->is_number[i] = false;
	}
	for (row = 0; row < p->first.nr; row++) {
		row_store_get(&p->first, row, p->cells, p->nr_columns);
		for (i = 0; i < p->nr_columns; i++) {
			int width = text_width(query_cell_shown(p, &p->cells[i], buf));

			if (width > p->widths[i])
				p->widths[i] = width;
			if (p->cells[i].kind == CELL_TEXT)
				p->has_text[i] = true;
			else if (p->cells[i].kind != CELL_NULL)
				p->is_number[i] = true;
		}
	}
	for (i = 0; i < p->nr_columns; i++)
		p->is_number[i] &= !p->has_text[i];
	p->terminal_width = query_terminal_width();
	query_table_fit(p, p->terminal_width);
}

/* The last column is not filled with blanks. */
static void query_table_put(const struct query_print *p, size_t column, const char *text)
{
	int width = p->widths[column], used = text_width(text);
	bool is_last = column + 1 == p->nr_columns;

	if (p->is_number[column])
		printf("%*s", used < width ? width - used : 0, "");
	if (p->is_number[column] || used <= width || !p->terminal_width)
		text_put(stdout, text);
	else
		text_put_short(stdout, text, width);
	if (!is_last && !p->is_number[column])
		printf("%*s", used < width ? width - used : 0, "");
	fputs(is_last ? "\n" : "  ", stdout);
}

static void query_table_put_row(struct query_print *p, const struct cell *cells)
{
	char buf[CELL_TEXT_SIZE];
	size_t i;

	for (i = 0; i < p->nr_columns; i++)
		query_table_put(p, i, query_cell_shown(p, &cells[i], buf));
}

/* ---- records: for a table that is wider than the terminal ---------------------------- */

static void query_record_put(struct query_print *p, const struct cell *cells)
{
	char buf[CELL_TEXT_SIZE];
	size_t i;
	int n, width = 0;

	for (i = 0; i < p->nr_columns; i++)
		width = text_width(p->names[i]) > width ? text_width(p->names[i]) : width;
	n = printf("-- row %zu ", ++p->nr_records);
	for (; n < p->terminal_width; n++)
		putchar('-');
	putchar('\n');
	for (i = 0; i < p->nr_columns; i++) {
		if (cells[i].kind == CELL_NULL)
			continue;
		text_put(stdout, p->names[i]);
		printf("%*s", width - text_width(p->names[i]) + 2, "");
		text_put(stdout, query_cell_shown(p, &cells[i], buf));
		putchar('\n');
	}
}

/* The widths are known: prints the head and the rows so far. */
static void query_table_start(struct query_print *p)
{
	size_t i;
	int n;

	query_table_measure(p);
	p->has_widths = true;
	p->is_record = p->terminal_width && query_table_total(p) > p->terminal_width;
	if (p->is_record) {
		for (i = 0; i < p->first.nr; i++) {
			row_store_get(&p->first, i, p->cells, p->nr_columns);
			query_record_put(p, p->cells);
		}
		row_store_clear(&p->first);
		return;
	}
	for (i = 0; i < p->nr_columns; i++)
		query_table_put(p, i, p->names[i]);
	for (i = 0; i < p->nr_columns; i++) {
		for (n = 0; n < p->widths[i]; n++)
			putchar('-');
		fputs(i + 1 < p->nr_columns ? "  " : "\n", stdout);
	}
	for (i = 0; i < p->first.nr; i++) {
		row_store_get(&p->first, i, p->cells, p->nr_columns);
		query_table_put_row(p, p->cells);
	}
	row_store_clear(&p->first);
}

static bool query_table_row(struct query_print *p, const struct cell *cells)
{
	if (p->is_record)
		query_record_put(p, cells);
	else if (p->has_widths)
		query_table_put_row(p, cells);
	if (p->has_widths)
		return true;
	if (!row_store_add(&p->first, cells, p->nr_columns))
		return false;
	if (p->first.nr == TABLE_ROWS_FIRST)
		query_table_start(p);
	return true;
}

/* ---- CSV and JSON ------------------------------------------------------------------ */

static bool query_csv_row(struct query_print *p, const struct cell *cells)
{
	size_t i;

	bytes_clear(&p->line);
	for (i = 0; i < p->nr_columns; i++) {
		char *at = bytes_room(&p->line, cell_format_max(&cells[i]) + 2), *end;

		if (!at)
			return false;
		end = cell_format(at, &cells[i], CELL_CSV, !p->exact_text);
		*end++ = i + 1 < p->nr_columns ? ',' : '\n';
		p->line.size += (size_t)(end - at);
	}
	fwrite(p->line.data, 1, p->line.size, stdout);
	return true;
}

static void query_json_row(struct query_print *p, const struct cell *cells)
{
	size_t i;

	jw_object_begin(&p->json);
	for (i = 0; i < p->nr_columns; i++) {
		jw_key(&p->json, p->names[i]);
		switch (cells[i].kind) {
		case CELL_SIGNED:
			jw_i64(&p->json, cells[i].i);
			break;
		case CELL_DOUBLE:
			jw_double(&p->json, cells[i].d);
			break;
		case CELL_TEXT:
			jw_string_n(&p->json, cells[i].text, cells[i].size);
			break;
		default:
			jw_null(&p->json);
		}
	}
	jw_object_end(&p->json);
}

static void query_json_begin(struct query_print *p)
{
	size_t i;

	jw_init_file(&p->json, json_file_stream(stdout));
	jw_object_begin(&p->json);
	jw_key(&p->json, "columns");
	jw_array_begin(&p->json);
	for (i = 0; i < p->nr_columns; i++)
		jw_string(&p->json, p->names[i]);
	jw_array_end(&p->json);
	jw_key(&p->json, "rows");
	jw_array_begin(&p->json);
}

static bool query_csv_begin(struct query_print *p)
{
	size_t i;

	for (i = 0; i < p->nr_columns; i++)
		p->cells[i] = cell_text(p->names[i], strlen(p->names[i]));
	return query_csv_row(p, p->cells);
}

/* ---- any form ---------------------------------------------------------------------- */

/* Names are unique: a second "x" becomes "x_2", as a key of JSON must. */
static char *query_print_name(const struct query_print *p, size_t nr, const char *name)
{
	char *made = strdup(name ? name : "");
	unsigned number = 1;
	size_t i = 0;

	while (made && i < nr) {
		if (strcmp(p->names[i++], made) != 0)
			continue;
		free(made);
		if (asprintf(&made, "%s_%u", name, ++number) < 0)
			return NULL;
		i = 0;
	}
	return made;
}

static int query_print_columns(void *to, const char *const *names, size_t nr, struct err *err)
{
	struct query_print *p = to;
	bool good;

	p->names = reallocarray(NULL, nr + 1, sizeof(*p->names));
	p->cells = calloc(nr + 1, sizeof(*p->cells));
	p->widths = calloc(nr + 1, sizeof(*p->widths));
	p->is_number = calloc(nr + 1, sizeof(*p->is_number));
	p->has_text = calloc(nr + 1, sizeof(*p->has_text));
	good = p->names && p->cells && p->widths && p->is_number && p->has_text;
	while (good && p->nr_columns < nr) {
		char *name = query_print_name(p, p->nr_columns, names[p->nr_columns]);

		good = name != NULL;
		if (good)
			p->names[p->nr_columns++] = name;
	}
	if (good && p->form == QUERY_JSON)
		query_json_begin(p);
	if (good && p->form == QUERY_CSV)
		good = query_csv_begin(p);
	return good ? 0 : err_set(err, -ENOMEM, "no memory for the columns");
}

static int query_print_row(void *to, const struct cell *cells, size_t nr, struct err *err)
{
	struct query_print *p = to;
	bool good = true;

	(void)nr;
	p->nr_rows++;
	if (p->form == QUERY_JSON)
		query_json_row(p, cells);
	else
		good = p->form == QUERY_CSV ? query_csv_row(p, cells) : query_table_row(p, cells);
	if (!good || p->line.error)
		return err_set(err, -ENOMEM, "no memory for a row");
	if (!ferror(stdout))
		return 0;
	return err_set(err, -EIO, "cannot write to standard output: %s", strerror(errno));
}

struct query_output query_print_begin(struct query_print *p)
{
	return (struct query_output){ .to = p,
				      .begin = query_print_columns,
				      .row = query_print_row };
}

void query_print_rows_end(struct query_print *p)
{
	if (p->form == QUERY_JSON && p->names)
		jw_array_end(&p->json);
	else if (p->form == QUERY_TABLE && p->names && !p->has_widths)
		query_table_start(p);
}

int query_print_end(struct query_print *p)
{
	size_t i;
	int rc = 0;

	if (p->form == QUERY_JSON && p->names) {
		jw_object_end(&p->json);
		jw_newline(&p->json);
		rc = jw_release(&p->json);
	}
	if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		rc = errno ? -errno : -EIO;
	for (i = 0; p->names && i < p->nr_columns; i++)
		free(p->names[i]);
	free(p->names);
	free(p->cells);
	free(p->widths);
	free(p->is_number);
	free(p->has_text);
	bytes_release(&p->line);
	row_store_release(&p->first);
	return rc;
}
