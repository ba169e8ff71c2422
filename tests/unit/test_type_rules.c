/* SPDX-License-Identifier: MIT */
/*
 * test_type_rules.c - what description files say, and which line of a wrong one is refused.
 */
#include "symbols/type_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static struct err err;

static struct type_rules *rules_of(const char *text)
{
	struct type_rules *rules = type_rules_new();

	CHECK(rules != NULL);
	err = (struct err){ 0 };
	if (type_rules_parse(rules, "own.types", text, strlen(text), &err) != 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(err.code, 0);
	return rules;
}

/* ---- what is read --------------------------------------------------------------- */

static void a_rule_has_a_role_a_type_and_a_kind(void)
{
	static const struct {
		const char *word;
		enum rule_role role;
	} roles[] = { { "await", RULE_AWAIT },
		      { "operation", RULE_OPERATION },
		      { "guard", RULE_GUARD },
		      { "resource", RULE_RESOURCE },
		      { "through", RULE_THROUGH } };
	static const char *const kinds[] = { "lock",   "channel",    "semaphore", "event",
					     "notify", "barrier",    "timer",     "task",
					     "child",  "descriptor", "yield" };
	char text[128];
	size_t i;

	for (i = 0; i < 5; i++) {
		struct type_rules *rules;

		snprintf(text, sizeof(text), "%s a::B", roles[i].word);
		rules = rules_of(text);
		CHECK_EQ(type_rules_count(rules), 1);
		CHECK_EQ(type_rules_get(rules, 0)->role, roles[i].role);
		CHECK_STR(type_rules_get(rules, 0)->pattern, "a::B");
		CHECK(type_rules_get(rules, 0)->kind == NULL);
		CHECK_EQ(type_rules_get(rules, 0)->nr_lines, 0);
		type_rules_free(rules);
	}
	for (i = 0; i < 11; i++) {
		struct type_rules *rules;

		snprintf(text, sizeof(text), "%s a\n\tkind %s\n", i % 2 ? "await" : "operation",
			 kinds[i]);
		rules = rules_of(text);
		CHECK_STR(type_rules_get(rules, 0)->kind, kinds[i]);
		type_rules_free(rules);
	}
}

/* A line below a type, and what it means. */
static void each_line_has_a_key_a_path_and_a_rest(void)
{
	static const struct {
		const char *role, *line;
		struct rule_line wanted;
	} lines[] = {
		{ "await", "object m_mutex", { RULE_OBJECT, "m_mutex", NULL, 0, 0, 0 } },
		{ "guard", "object a.b->c", { RULE_OBJECT, "a.b->c", NULL, 0, 0, 0 } },
		{ "operation", "object .", { RULE_OBJECT, ".", NULL, 0, 0, 0 } },
		{ "await",
		  "object {env#0}.$x_Z9",
		  { RULE_OBJECT, "{env#0}.$x_Z9", NULL, 0, 0, 0 } },
		{ "await", "descriptor fd", { RULE_DESCRIPTOR, "fd", NULL, 0, 0, RULE_ANY } },
		{ "await", "descriptor fd read", { RULE_DESCRIPTOR, "fd", NULL, 0, 0, RULE_READ } },
		{ "await",
		  "descriptor fd write",
		  { RULE_DESCRIPTOR, "fd", NULL, 0, 0, RULE_WRITE } },
		{ "await", "deadline at", { RULE_DEADLINE, "at", NULL, 0, 1, 0 } },
		{ "await", "deadline at ns", { RULE_DEADLINE, "at", NULL, 0, 1, 0 } },
		{ "await", "deadline at us", { RULE_DEADLINE, "at", NULL, 0, 1000, 0 } },
		{ "through", "deadline at ms", { RULE_DEADLINE, "at", NULL, 0, 1000000, 0 } },
		{ "operation", "deadline at s", { RULE_DEADLINE, "at", NULL, 0, 1000000000, 0 } },
		{ "await", "task raw", { RULE_TASK, "raw", NULL, 0, 0, 0 } },
		{ "await", "while x", { RULE_WHILE, "x", NULL, RULE_NOT_ZERO, 0, 0 } },
		{ "guard", "while x == 7", { RULE_WHILE, "x", NULL, RULE_EQUAL, 7, 0 } },
		{ "resource", "held x != 0x1f", { RULE_HELD, "x", NULL, RULE_NOT_EQUAL, 31, 0 } },
		{ "resource", "held x < 2", { RULE_HELD, "x", NULL, RULE_LESS, 2, 0 } },
		{ "resource", "held x > 0", { RULE_HELD, "x", NULL, RULE_GREATER, 0, 0 } },
		{ "resource", "held x & 3", { RULE_HELD, "x", NULL, RULE_HAS_BITS, 3, 0 } },
		{ "resource", "holder owner", { RULE_HOLDER, "owner", NULL, 0, 0, 0 } },
		{ "resource", "queue first", { RULE_QUEUE, "first", NULL, 0, 0, 0 } },
		{ "resource", "queue first next m.n", { RULE_QUEUE, "first", "m.n", 0, 0, 0 } },
		{ "through", "to .", { RULE_TO, ".", NULL, 0, 0, 0 } },
	};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const struct rule_line *wanted = &lines[i].wanted, *line;
		struct type_rules *rules;
		char text[128];

		snprintf(text, sizeof(text), "%s T\n %s\n", lines[i].role, lines[i].line);
		rules = rules_of(text);
		CHECK_EQ(type_rules_get(rules, 0)->nr_lines, 1);
		line = type_rules_get(rules, 0)->lines;
		CHECK_EQ(line->key, wanted->key);
		CHECK_STR(line->path, wanted->path);
		CHECK_STR(line->next ? line->next : "", wanted->next ? wanted->next : "");
		CHECK_EQ(line->test, wanted->test);
		CHECK_EQ(line->number, wanted->number);
		CHECK_EQ(line->to, wanted->to);
		type_rules_free(rules);
	}
}

static void comments_and_empty_lines_are_left_out(void)
{
	struct type_rules *rules = rules_of("# a comment\n\n \t \r\nawait  a \t# b\r\n"
					    "\tkind lock # the kind\n\t\n# end\n\tobject x\n"
					    "guard b");

	CHECK_EQ(type_rules_count(rules), 2);
	CHECK_STR(type_rules_get(rules, 0)->pattern, "a");
	CHECK_STR(type_rules_get(rules, 0)->kind, "lock");
	CHECK_EQ(type_rules_get(rules, 0)->nr_lines, 1);
	CHECK_STR(type_rules_get(rules, 1)->pattern, "b");
	CHECK_EQ(type_rules_get(rules, 1)->role, RULE_GUARD);
	type_rules_free(rules);
}

/* ---- what is refused ------------------------------------------------------------- */

static void check_refused(const char *text, size_t size, const char *message, const char *hint)
{
	struct type_rules *rules = rules_of("await kept\n\tobject x\n");

	err = (struct err){ 0 };
	CHECK_EQ(type_rules_parse(rules, "own.types", text, size, &err), -EINVAL);
	CHECK_STR(err.text, message);
	CHECK(strstr(err.hint, hint) != NULL);
	/* Nothing of it is added. */
	CHECK_EQ(type_rules_count(rules), 1);
	CHECK_STR(type_rules_get(rules, 0)->pattern, "kept");
	type_rules_free(rules);
}

static void a_wrong_line_is_named_and_nothing_is_added(void)
{
	static const char paths[] = "a.b, or a->b", rest[] = "descriptor: read or write",
			  condition[] = "MEMBER == NUMBER", words[] = "resource: holder, held";
	static const struct {
		const char *text, *what, *hint;
	} wrong[] = {
		{ "await a\nawiat b", "line 2: unknown word 'awiat'", "or is indented" },
		{ "await", "line 1: expected one type after 'await'", "without <>" },
		{ "await a b", "line 1: expected one type after 'await'", "without <>" },
		{ "await a\nguard", "line 2: expected one type after 'guard'", "without <>" },
		{ " object x", "line 1: no type before 'object'", "begin with: await TYPE" },
		{ "\tobject x", "line 1: no type before 'object'", "begin with: await TYPE" },
		{ "guard a\n\tkind lock", "line 2: unexpected word 'kind'", "await or operation" },
		{ "resource a\n\tkind lock", "line 2: unexpected word 'kind'", "await or" },
		{ "await a\n\tkind look", "line 2: unknown kind 'look'", "descriptor or yield" },
		{ "await a\n\tkind", "line 2: unknown kind ''", "lock, channel" },
		{ "await a\n\tkind lock lock", "line 2: unknown kind 'lock'", "lock, channel" },
		{ "await a\n\tobjects x", "line 2: unknown word 'objects'", words },
		{ "await a\n\tholder x", "line 2: unexpected word 'holder'", words },
		{ "guard a\n\ttask x", "line 2: unexpected word 'task'", words },
		{ "resource a\n\twhile x", "line 2: unexpected word 'while'", words },
		{ "through a\n\tobject x", "line 2: unexpected word 'object'", words },
		{ "guard a\n\tto x", "line 2: unexpected word 'to'", words },
		{ "guard a\n\tdeadline x", "line 2: unexpected word 'deadline'", words },
		{ "await a\n\theld x", "line 2: unexpected word 'held'", words },
		{ "await a\n\tqueue x", "line 2: unexpected word 'queue'", words },
		{ "await a\n\tobject", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject a..b", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject a.", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject a-b", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject a>b", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject a->", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject .a", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject a+b", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject a@", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject a[", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject a`", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject a|", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject a/", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject a:", "line 2: expected members after 'object'", paths },
		{ "await a\n\tobject x y", "line 2: unexpected word 'y'", rest },
		{ "await a\n\tdescriptor x reads", "line 2: unexpected word 'reads'", rest },
		{ "await a\n\tdescriptor x read y", "line 2: unexpected word 'read'", rest },
		{ "await a\n\tdeadline x min", "line 2: unexpected word 'min'", rest },
		{ "await a\n\tdeadline x ms y", "line 2: unexpected word 'ms'", rest },
		{ "await a\n\ttask x ms", "line 2: unexpected word 'ms'", rest },
		{ "await a\n\ttask x read", "line 2: unexpected word 'read'", rest },
		{ "resource a\n\tqueue x next", "line 2: unexpected word 'next'", rest },
		{ "resource a\n\tqueue x last y", "line 2: unexpected word 'last'", rest },
		{ "resource a\n\tqueue x next y..z", "line 2: unexpected word 'next'", rest },
		{ "resource a\n\tholder x next y", "line 2: unexpected word 'next'", rest },
		{ "resource a\n\theld x = 1", "line 2: invalid condition after 'x'", condition },
		{ "resource a\n\theld x ==", "line 2: invalid condition after 'x'", condition },
		{ "resource a\n\theld x == 1 2", "line 2: invalid condition after 'x'", condition },
		{ "resource a\n\theld x == y", "line 2: invalid number 'y'", "1 or 0x1f" },
		{ "resource a\n\theld x == 1y", "line 2: invalid number '1y'", "1 or 0x1f" },
		{ "resource a\n\theld x == -1", "line 2: invalid number '-1'", "1 or 0x1f" },
		{ "resource a\n\theld x == 18446744073709551616",
		  "line 2: invalid number '18446744073709551616'", "1 or 0x1f" },
		{ "await a b c d e", "line 1: expected one type after 'await'", "without" },
		{ "await a b c d e f", "line 1: too long, or not text", "6 words" },
		{ "await a\x01", "line 1: too long, or not text", "1000 bytes" },
		{ "await a\x1f", "line 1: too long, or not text", "1000 bytes" },
		{ "# \x1b[31m", "line 1: too long, or not text", "1000 bytes" },
	};
	char message[160];
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(message, sizeof(message), "cannot read 'own.types': %s", wrong[i].what);
		check_refused(wrong[i].text, strlen(wrong[i].text), message, wrong[i].hint);
	}
	check_refused("await \0a", 8, "cannot read 'own.types': line 1: too long, or not text",
		      "1000 bytes");
}

static void a_line_has_at_most_1000_bytes(void)
{
	char text[1101];

	memset(text, 'a', sizeof(text));
	memcpy(text, "await ", 6);
	check_refused(text, 1001, "cannot read 'own.types': line 1: too long, or not text", "1000");
	text[1000] = '\0';
	type_rules_free(rules_of(text));
}

static void a_type_has_at_most_32_lines(void)
{
	static const char line[] = "\n\tobject x";
	char text[512] = "await a";
	struct type_rules *rules;
	int i;

	for (i = 0; i < RULE_LINES_MAX; i++)
		strcat(text, line);
	rules = rules_of(text);
	CHECK_EQ(type_rules_get(rules, 0)->nr_lines, 32);
	type_rules_free(rules);
	strcat(text, line);
	check_refused(text, strlen(text),
		      "cannot read 'own.types': line 34: too many lines for one type",
		      "at most 32");
}

static void there_are_at_most_10000_rules(void)
{
	struct type_rules *rules = type_rules_new();
	size_t i;

	CHECK(rules != NULL);
	err = (struct err){ 0 };
	for (i = 0; i < 10000; i++)
		CHECK_EQ(type_rules_parse(rules, "x", "await a", 7, &err), 0);
	CHECK_EQ(type_rules_parse(rules, "x", "await a", 7, &err), -ENOMEM);
	CHECK_STR(err.text, "no memory for 'x'");
	CHECK_EQ(type_rules_count(rules), 10000);
	type_rules_free(rules);
}

/* ---- files ------------------------------------------------------------------------ */

static char folder[64];

static void file_write(const char *name, const char *text, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
	if (size)
		CHECK_EQ(ftruncate(fd, (off_t)size), 0);
	close(fd);
}

static int add(struct type_rules *rules, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	err = (struct err){ 0 };
	return type_rules_add(rules, path, &err);
}

static void files_of_a_directory_are_read_by_name(void)
{
	static const char *const names[] = { "b.types", "a.types", ".hidden.types",
					     "c.type",  ".types",  "d.types~" };
	struct type_rules *rules = type_rules_new();
	char path[128], text[64];
	size_t i;

	for (i = 0; i < 6; i++) {
		snprintf(text, sizeof(text), "await from_%zu\n", i);
		file_write(names[i], text, 0);
	}
	CHECK_EQ(add(rules, "."), 0);
	CHECK_EQ(type_rules_count(rules), 2);
	CHECK_STR(type_rules_get(rules, 0)->pattern, "from_1");
	CHECK_STR(type_rules_get(rules, 1)->pattern, "from_0");
	CHECK_EQ(add(rules, "d.types~"), 0); /* by its own name, any file */
	CHECK_EQ(type_rules_count(rules), 3);
	/* A wrong file ends it; those before it stay. */
	file_write("b.types", "wrong", 0);
	CHECK_EQ(add(rules, "."), -EINVAL);
	CHECK(strstr(err.text, "/b.types': line 1: unknown word 'wrong'") != NULL);
	CHECK_EQ(type_rules_count(rules), 4);
	for (i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	type_rules_free(rules);
}

static void a_file_has_at_most_1_mib(void)
{
	struct type_rules *rules = type_rules_new();
	char *text = malloc((1 << 20) + 2), path[128];

	CHECK(rules && text);
	memset(text, '\n', (1 << 20) + 1);
	text[1 << 20] = '\0';
	memcpy(text, "await a", 7);
	file_write("large", text, 0);
	CHECK_EQ(add(rules, "large"), 0);
	CHECK_EQ(type_rules_count(rules), 1);
	file_write("large", text, (1 << 20) + 1);
	CHECK_EQ(add(rules, "large"), -EFBIG);
	CHECK(strstr(err.text, "/large': larger than 1 MiB") != NULL);
	CHECK_EQ(add(rules, "missing"), -ENOENT);
	CHECK(strstr(err.text, "/missing'") != NULL);
	CHECK_EQ(type_rules_count(rules), 1);
	snprintf(path, sizeof(path), "%s/large", folder);
	unlink(path);
	free(text);
	type_rules_free(rules);
}

/* ---- lookups ----------------------------------------------------------------------- */

static void a_star_stands_for_any_text(void)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{ "a::b", "a::b", true },
		{ "a::b", "a::bc", false },
		{ "a::b", "a::", false },
		{ "*", "", true },
		{ "*", "a::b", true },
		{ "a::*", "a::", true },
		{ "a::*", "a::b::c", true },
		{ "a::*", "b::a::c", false },
		{ "*::c", "a::b::c", true },
		{ "*::c", "a::b::cd", false },
		{ "a*b*c", "a1b2b3c", true },
		{ "a*b*c", "a1b2b3", false },
		{ "a*b*c", "abc", true },
		{ "a**c", "abc", true },
		{ "a**", "a", true },
		{ "", "", true },
		{ "", "a", false },
		{ "*ab", "aab", true },
		{ "*aab", "aaab", true },
		{ "a*", "b", false },
		{ "x::*Guard", "x::Guards", false },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct type_rules *rules;
		char text[64];

		if (!*cases[i].pattern)
			continue;
		snprintf(text, sizeof(text), "guard %s\n", cases[i].pattern);
		rules = rules_of(text);
		CHECK_EQ(type_rules_find(rules, RULE_GUARD, cases[i].text) != NULL,
			 cases[i].matches);
		CHECK(type_rules_find(rules, RULE_AWAIT, cases[i].text) == NULL);
		type_rules_free(rules);
	}
}

static void of_two_rules_the_first_counts(void)
{
	struct type_rules *rules = rules_of("guard a::b\nawait a::b\n kind lock\nawait a::*\n");

	CHECK_STR(type_rules_find(rules, RULE_AWAIT, "a::b")->kind, "lock");
	CHECK(type_rules_find(rules, RULE_AWAIT, "a::c")->kind == NULL);
	CHECK_EQ(type_rules_find(rules, RULE_GUARD, "a::b")->role, RULE_GUARD);
	CHECK(type_rules_find(rules, RULE_GUARD, "a::c") == NULL);
	type_rules_free(rules);
}

static void the_last_part_of_a_name_says_if_a_rule_may_match(void)
{
	struct type_rules *rules = rules_of("guard a::Lock*Guard\nguard b::*\nawait Plain\n");

	CHECK(type_rules_have_name(rules, RULE_GUARD, "LockGuard", 9));
	CHECK(type_rules_have_name(rules, RULE_GUARD, "LockReadGuard<int>", 13));
	CHECK(!type_rules_have_name(rules, RULE_GUARD, "LockReadGuard<int>", 18));
	CHECK(!type_rules_have_name(rules, RULE_AWAIT, "LockGuard", 9));
	CHECK(!type_rules_have_name(rules, RULE_GUARD, "anything", 8)); /* b::* does not count */
	CHECK(type_rules_have_name(rules, RULE_AWAIT, "Plain", 5));
	CHECK(!type_rules_have_name(rules, RULE_AWAIT, "Plain", 4));
	type_rules_free(rules);
}

static void a_condition_compares_with_its_number(void)
{
	static const struct {
		enum rule_test test;
		uint64_t number;
		bool below, equal, above;
	} cases[] = {
		{ RULE_EQUAL, 6, false, true, false },   { RULE_NOT_EQUAL, 6, true, false, true },
		{ RULE_LESS, 6, true, false, false },    { RULE_GREATER, 6, false, false, true },
		{ RULE_HAS_BITS, 3, true, true, true },  { RULE_HAS_BITS, 8, false, false, false },
		{ RULE_HAS_BITS, 2, false, true, true },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rule_line line = { .test = cases[i].test, .number = cases[i].number };

		CHECK_EQ(rule_line_holds(&line, 5), cases[i].below);
		CHECK_EQ(rule_line_holds(&line, 6), cases[i].equal);
		CHECK_EQ(rule_line_holds(&line, 7), cases[i].above);
	}
	CHECK(!rule_line_holds(&(struct rule_line){ .test = RULE_NOT_ZERO }, 0));
	CHECK(rule_line_holds(&(struct rule_line){ .test = RULE_NOT_ZERO }, 1));
}

int main(void)
{
	snprintf(folder, sizeof(folder), "/tmp/corotracer-rules-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	RUN(a_rule_has_a_role_a_type_and_a_kind);
	RUN(each_line_has_a_key_a_path_and_a_rest);
	RUN(comments_and_empty_lines_are_left_out);
	RUN(a_wrong_line_is_named_and_nothing_is_added);
	RUN(a_line_has_at_most_1000_bytes);
	RUN(a_type_has_at_most_32_lines);
	RUN(there_are_at_most_10000_rules);
	RUN(files_of_a_directory_are_read_by_name);
	RUN(a_file_has_at_most_1_mib);
	RUN(a_star_stands_for_any_text);
	RUN(of_two_rules_the_first_counts);
	RUN(the_last_part_of_a_name_says_if_a_rule_may_match);
	RUN(a_condition_compares_with_its_number);
	CHECK_EQ(rmdir(folder), 0);
	return 0;
}
