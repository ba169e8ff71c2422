/* SPDX-License-Identifier: MIT */
/* test_copy_rows.c - the bytes that PostgreSQL and MySQL read: every type of column, and its
 * limits. */
#include <math.h>

#include "base/fmt.h"
#include "check.h"
#include "export/copy_rows.h"

static const struct column columns[] = {
	{ "id", COLUMN_ID, false },     { "count", COLUMN_U64, true },
	{ "addr", COLUMN_ADDR, true },  { "is_on", COLUMN_BOOL, true },
	{ "text", COLUMN_TEXT, true },  { "delta", COLUMN_I64, true },
	{ "share", COLUMN_REAL, true },
};

#define NR_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static const struct table whole_table = { .columns = columns, .nr_columns = NR_COLUMNS };

static struct cell text_cell(const char *text, size_t size)
{
	struct cell c = { .kind = CELL_TEXT };

	c.text = text;
	c.size = size;
	return c;
}

/* The hexadecimal digits of @size bytes; valid until the next call. */
static const char *hex_of(const void *data, size_t size)
{
	static char text[1024];
	const unsigned char *at = data;
	size_t i;

	CHECK(2 * size < sizeof(text));
	for (i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", at[i]);
	text[2 * size] = '\0';
	return text;
}

static const char *binary_of(enum column_type type, struct cell c)
{
	const struct column column = { "c", type, true };
	const struct table t = { .columns = &column, .nr_columns = 1 };
	struct bytes b = { 0 };
	const char *text;

	CHECK(copy_row_binary(&b, &t, &c));
	text = hex_of(b.data, b.size);
	bytes_release(&b);
	CHECK(!strncmp(text, "0001", 4)); /* one column */
	return text + 4;
}

static const char *text_of(enum dialect dialect, struct cell c)
{
	static char text[256];
	const struct column column = { "c", COLUMN_TEXT, true };
	const struct table t = { .columns = &column, .nr_columns = 1 };
	struct bytes b = { 0 };

	CHECK(copy_row_text(&b, dialect, &t, &c));
	CHECK(b.size < sizeof(text));
	memcpy(text, b.data, b.size);
	text[b.size] = '\0';
	bytes_release(&b);
	return text;
}

static void an_event_is_a_row_in_both_formats(void)
{
	struct trace_event ev;
	char row[COPY_EVENT_MAX + FMT_SLACK], *end;

	trace_event_init(&ev);
	ev.probe_id = UINT64_MAX;
	ev.tid = 70000;
	ev.addr = 0xabc;
	ev.seq = 2;
	ev.is_active = true;
	ev.ts = 0;
	end = copy_event_text(row, &ev);
	*end = '\0';
	CHECK_STR(row, "18446744073709551615\t70000\t0x0000000000000abc\t2\t1\t0\n");
	end = copy_event_binary(row, &ev);
	CHECK_STR(hex_of(row, (size_t)(end - row)),
		  "0006"
		  "00000012"
		  "0005000400000000"
		  "07341a5802e103bb064f" /* 1844 6744 0737 0955 1615 */
		  "0000000c"
		  "0002000100000000"
		  "00070000"
		  "00000012"
		  "307830303030303030303030303030616263"
		  "0000000a"
		  "0001000000000000"
		  "0002"
		  "00000001"
		  "01"
		  "00000008"
		  "0000000000000000");
	ev.is_active = false;
	ev.probe_id = ev.tid = ev.seq = ev.ts = UINT64_MAX;
	end = copy_event_text(row, &ev);
	CHECK(end - row <= COPY_EVENT_MAX && end[-1] == '\n' && end[-23] == '0');
	CHECK(copy_event_binary(row, &ev) - row <= COPY_EVENT_MAX);
}

static void numbers_have_digits_of_base_10000(void)
{
	CHECK_STR(binary_of(COLUMN_ID, cell_u64(0)), "00000008"
						     "0000000000000000");
	CHECK_STR(binary_of(COLUMN_U64, cell_u64(9999)), "0000000a"
							 "0001000000000000"
							 "270f");
	CHECK_STR(binary_of(COLUMN_U64, cell_u64(10000)), "0000000c"
							  "0002000100000000"
							  "00010000");
}

static void each_type_has_its_bytes(void)
{
	CHECK_STR(binary_of(COLUMN_I64, (struct cell){ .kind = CELL_SIGNED, .i = -2 }),
		  "00000008"
		  "fffffffffffffffe");
	CHECK_STR(binary_of(COLUMN_REAL, (struct cell){ .kind = CELL_DOUBLE, .d = -1.5 }),
		  "00000008"
		  "bff8000000000000");
	CHECK_STR(binary_of(COLUMN_BOOL, (struct cell){ .kind = CELL_BOOL, .u = 2 }), "00000001"
										      "01");
	CHECK_STR(binary_of(COLUMN_BOOL, (struct cell){ .kind = CELL_BOOL, .u = 0 }), "00000001"
										      "00");
	CHECK_STR(binary_of(COLUMN_TEXT, text_cell("a\tb", 3)), "00000003"
								"610962");
	CHECK_STR(binary_of(COLUMN_TEXT, text_cell("", 0)), "00000000");
	CHECK_STR(binary_of(COLUMN_TEXT, cell_u64(42)), "00000002"
							"3432");
	CHECK_STR(binary_of(COLUMN_TEXT, (struct cell){ .kind = CELL_NULL }), "ffffffff");
	CHECK_STR(binary_of(COLUMN_REAL, (struct cell){ .kind = CELL_NULL }), "ffffffff");
	CHECK_EQ(memcmp(copy_binary_head, "PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", 19), 0);
	CHECK_EQ(memcmp(copy_binary_tail, "\xff\xff", 2), 0);
}

static void lines_are_escaped(void)
{
	struct cell inf = { .kind = CELL_DOUBLE, .d = INFINITY };

	CHECK_STR(text_of(DIALECT_POSTGRESQL, text_cell("a\\b\tc\nd\re'", 10)),
		  "a\\\\b\\tc\\nd\\re'\n");
	CHECK_STR(text_of(DIALECT_MYSQL, text_cell("", 0)), "\n");
	CHECK_STR(text_of(DIALECT_MYSQL, (struct cell){ .kind = CELL_NULL }), "\\N\n");
	CHECK_STR(text_of(DIALECT_MYSQL, (struct cell){ .kind = CELL_BOOL, .u = 7 }), "1\n");
	CHECK_STR(text_of(DIALECT_MYSQL, (struct cell){ .kind = CELL_BOOL, .u = 0 }), "0\n");
	CHECK_STR(text_of(DIALECT_MYSQL, (struct cell){ .kind = CELL_SIGNED, .i = -3 }), "-3\n");
	CHECK_STR(text_of(DIALECT_MYSQL, (struct cell){ .kind = CELL_DOUBLE, .d = 0.5 }), "0.5\n");
	CHECK_STR(text_of(DIALECT_MYSQL, inf), "\\N\n");
	CHECK(strcmp(text_of(DIALECT_POSTGRESQL, inf), "\\N\n") != 0);
}

static void a_row_has_its_columns_in_order(void)
{
	const struct cell cells[NR_COLUMNS] = {
		cell_u64(1),          cell_u64(2),
		text_cell("0x3", 3),  { .kind = CELL_BOOL, .u = 1 },
		text_cell("t", 1),    { .kind = CELL_SIGNED, .i = -5 },
		{ .kind = CELL_NULL }
	};
	struct bytes b = { 0 };

	CHECK(copy_row_text(&b, DIALECT_POSTGRESQL, &whole_table, cells));
	CHECK_EQ(b.size, 18);
	CHECK(!memcmp(b.data, "1\t2\t0x3\t1\tt\t-5\t\\N\n", 18));
	bytes_release(&b);
}

int main(void)
{
	RUN(an_event_is_a_row_in_both_formats);
	RUN(numbers_have_digits_of_base_10000);
	RUN(each_type_has_its_bytes);
	RUN(lines_are_escaped);
	RUN(a_row_has_its_columns_in_order);
	return 0;
}
