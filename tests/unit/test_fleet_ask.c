/* SPDX-License-Identifier: MIT */
/* test_fleet_ask.c - parameters of SQL files, and tables as a ClickHouse server sends them. */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "fleet/fleet_ask_sql.h"
#include "fleet/fleet_ask_table.h"

static const struct ask_param params[] = {
	{ "service", "it's \\ a\nb" },
	{ "table", "waits`all" },
	{ "limit", "20" },
	{ "less", "-5" },
	{ "word", "20 OR 1" },
	{ "real", "0.5" },
};

/* The result; "" and *@rc set if it failed. */
static const char *fill_text(const char *text, int *rc)
{
	static struct bytes out;
	struct err err = { 0 };

	bytes_clear(&out);
	*rc = ask_sql_fill(&out, "x.sql", text, params, sizeof(params) / sizeof(params[0]), &err);
	CHECK((*rc == 0) == (err.text[0] == '\0'));
	return *rc ? "" : (const char *)out.data;
}

static void values_are_quoted_by_their_type(void)
{
	int rc;

	CHECK(!strcmp(fill_text("SELECT {service:String}", &rc), "SELECT 'it\\'s \\\\ a\\nb'"));
	CHECK(!strcmp(fill_text("{table:Identifier}", &rc), "`waits\\`all`"));
	CHECK(!strcmp(fill_text("{limit:UInt32} {less:Int64} {real:Float64}", &rc), "20 -5 0.5"));
	CHECK(!strcmp(fill_text("{limit:String}{limit:UInt8}", &rc), "'20'20"));
}

static void other_values_are_refused(void)
{
	int rc;

	fill_text("{word:UInt32}", &rc);
	CHECK(rc == -EINVAL);
	fill_text("{less:UInt32}", &rc);
	CHECK(rc == -EINVAL);
	fill_text("{service:Float64}", &rc);
	CHECK(rc == -EINVAL);
	fill_text("{unknown:String}", &rc);
	CHECK(rc == -EINVAL);
	fill_text("{limit:Date}", &rc);
	CHECK(rc == -EINVAL);
}

static void comments_and_texts_stay(void)
{
	static const char *const same[] = {
		"-- {limit:UInt32}\n",
		"/* {limit:UInt32} ' */",
		"'{limit:UInt32}'",
		"'\\'{limit:UInt32}'",
		"`{limit:UInt32}`",
		"\"{limit:UInt32}\"",
		"{limit}",
		"{limit:UInt32",
		"/* without an end {x",
		"'without an end {x",
		"{ limit:UInt32 }",
		"{}{",
	};
	size_t i;
	int rc;

	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		CHECK(!strcmp(fill_text(same[i], &rc), same[i]));
	CHECK(!strcmp(fill_text("'a'{limit:UInt32}-- '\n{limit:UInt32}", &rc), "'a'20-- '\n20"));
}

static void every_file_is_found(void)
{
	struct bytes out = { 0 };
	struct err err = { 0 };
	size_t nr = 0;

	while (ask_sql_name(nr)) {
		bytes_clear(&out);
		CHECK(ask_sql_read(&out, NULL, ask_sql_name(nr), &err) == 0);
		CHECK(out.size > 100 && out.data[0] == '-' && !out.data[out.size]);
		nr++;
	}
	CHECK(nr > 10);
	CHECK(ask_sql_read(&out, NULL, "ask_nothing.sql", &err) == -ENOENT);
	CHECK(ask_sql_read(&out, "/nonexistent", ask_sql_name(0), &err) == -ENOENT);
	bytes_release(&out);
}

static int parse_text(struct ask_table *t, const char *text)
{
	struct err err = { 0 };

	return ask_table_parse(t, text, strlen(text), &err);
}

static void a_table_is_parsed(void)
{
	struct ask_table t;
	char buf[8];
	const char *list;

	CHECK(parse_text(&t, "n\ttext\tlist\nUInt64\tString\tArray(String)\n"
			     "7\ta\\tb\\\\\\n\t['x\\'y','long text']\n0\t\t[]\n") == 0);
	CHECK(t.nr_columns == 3 && t.nr_rows == 2);
	CHECK(t.columns[0].kind == ASK_COUNT && t.columns[1].kind == ASK_TEXT &&
	      t.columns[2].kind == ASK_LIST);
	CHECK(ask_table_number(&t, 0, "n") == 7 && ask_table_number(&t, 5, "n") == 0);
	CHECK(!strcmp(ask_table_cell(&t, 0, "text"), "a\tb\\\n"));
	CHECK(!ask_table_cell(&t, 0, "other") && !ask_table_cell(&t, 2, "n"));
	list = ask_table_element(ask_table_cell(&t, 0, "list"), buf, sizeof(buf));
	CHECK(list && !strcmp(buf, "x'y"));
	list = ask_table_element(list, buf, sizeof(buf));
	CHECK(list && !strcmp(buf, "long te")); /* cut to the buffer */
	CHECK(!ask_table_element(list, buf, sizeof(buf)));
	CHECK(!ask_table_element(ask_table_cell(&t, 1, "list"), buf, sizeof(buf)));
	ask_table_release(&t);
}

static void a_cut_answer_is_an_error(void)
{
	static const char whole[] = "a\tb\nUInt8\tString\n1\tx\n2\ty\n";
	struct err err = { 0 };
	struct ask_table t;
	size_t size;

	for (size = 0; size < sizeof(whole) - 1; size++) {
		/* After a whole line, only the server's length of the answer shows a cut. */
		bool is_line = size > 16 && whole[size - 1] == '\n';

		CHECK((ask_table_parse(&t, whole, size, &err) == 0) == is_line);
		ask_table_release(&t);
	}
	CHECK(parse_text(&t, "a\tb\nUInt8\n") == -EBADMSG);
	CHECK(parse_text(&t, "a\nUInt8\n1\t2\n") == -EBADMSG);
	CHECK(parse_text(&t, "") == -EBADMSG);
}

int main(void)
{
	RUN(values_are_quoted_by_their_type);
	RUN(other_values_are_refused);
	RUN(comments_and_texts_stay);
	RUN(every_file_is_found);
	RUN(a_table_is_parsed);
	RUN(a_cut_answer_is_an_error);
	return 0;
}
