/* SPDX-License-Identifier: MIT */
/*
 * fuzz_type_rules.c - the parser of description files against hostile text.
 *
 * Every rule has a pattern, conditions and paths are complete, an error names a line of the text
 * and adds nothing, and a rule is found by its own pattern.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/type_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

static uint64_t nr_rules, nr_lines, nr_errors;

static void check_rule(const struct type_rules *rules, const struct type_rule *rule)
{
	size_t i;

	MUST(rule->pattern && *rule->pattern && rule->nr_lines <= RULE_LINES_MAX);
	MUST(type_rules_find(rules, rule->role, rule->pattern) != NULL);
	for (i = 0; i < rule->nr_lines; i++) {
		const struct rule_line *line = &rule->lines[i];

		MUST(line->path && *line->path);
		MUST(!line->next || (line->key == RULE_QUEUE && *line->next));
		MUST(line->to == RULE_ANY || line->key == RULE_DESCRIPTOR);
		MUST(line->test == RULE_NOT_ZERO || line->key == RULE_WHILE ||
		     line->key == RULE_HELD);
		rule_line_holds(line, line->number);
		nr_lines++;
	}
	nr_rules++;
}

/* "cannot read 'a': line 3: ..." */
static void check_error(const struct err *err, const char *text, size_t size)
{
	const char *at = strstr(err->text, "'a': line ");
	unsigned long line = at ? strtoul(at + 10, NULL, 10) : 0, nr = 1;
	size_t i;

	MUST(err->code == -EINVAL && at && err->hint[0]);
	for (i = 0; i < size; i++)
		nr += text[i] == '\n';
	MUST(line >= 1 && line <= nr);
	nr_errors++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char first[] = "await a::b\n\tkind lock\n";
	struct type_rules *rules = type_rules_new();
	struct err err = { 0 };
	char *text = malloc(size ? size : 1);
	size_t i;

	MUST(rules && text);
	if (size)
		memcpy(text, data, size);
	MUST(type_rules_parse(rules, "first", first, sizeof(first) - 1, &err) == 0);
	if (type_rules_parse(rules, "a", text, size, &err) < 0) {
		MUST(type_rules_count(rules) == 1);
		check_error(&err, text, size);
	}
	for (i = 0; i < type_rules_count(rules); i++)
		check_rule(rules, type_rules_get(rules, i));
	MUST(!strcmp(type_rules_find(rules, RULE_AWAIT, "a::b")->kind, "lock"));
	type_rules_have_name(rules, RULE_GUARD, "b", 1);
	free(text);
	type_rules_free(rules);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

#include "own_input.h"

static const char seed_text[] = "# a library\n"
				"await lib::*::Acquire*\n"
				"\tkind lock\n"
				"\tobject lock->state.m_mutex # the lock\n"
				"\twhile node.state != 0x10\n"
				"\tdescriptor self_->socket_ read\n"
				"\tdeadline entry.deadline ms\n"
				"guard lib::Guard\n"
				"\tobject .\n"
				"\twhile owns\n"
				"resource lib::Lock\n"
				"\theld permits < 2\n"
				"\tholder owner\n"
				"\tqueue first next next\n"
				"operation lib::op\n"
				"\ttask handle\n"
				"through lib::Box\n"
				"\tto ptr\n";

static const char *const words[] = { "await ", "\n",   "\t", "#",    "->",      ".",    "*",
				     "kind ",  "next", "==", "read", "object ", "\n\t", "{#0}" };
static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

static size_t roll(size_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % below);
}

/* Change a byte, insert a word, or remove a piece.  Returns the new size. */
static size_t mutate(char *buf, size_t size, size_t max)
{
	const char *word = words[roll(sizeof(words) / sizeof(words[0]))];
	size_t at = roll(size + 1), len = strlen(word);

	switch (roll(3)) {
	case 0:
		if (at < size)
			buf[at] = (char)roll(256);
		return size;
	case 1:
		len = roll(32) + 1;
		if (at + len > size)
			return at;
		memmove(buf + at, buf + at + len, size - at - len);
		return size - len;
	default:
		if (size + len > max)
			return size;
		memmove(buf + at + len, buf + at, size - at);
		memcpy(buf + at, word, len);
		return size + len;
	}
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	char buf[2048];

	for (i = 0; i < rounds; i++) {
		size_t size = sizeof(seed_text) - 1, changes = roll(6);

		memcpy(buf, seed_text, size);
		while (changes--)
			size = mutate(buf, size, sizeof(buf));
		own_input((const uint8_t *)buf, size);
	}
	printf("%lu inputs: %llu rules with %llu lines, %llu errors\n", rounds,
	       (unsigned long long)nr_rules, (unsigned long long)nr_lines,
	       (unsigned long long)nr_errors);
	if (rounds >= 1000)
		MUST(nr_rules > rounds * 2 && nr_lines > rounds && nr_errors > rounds / 4);
	return 0;
}

#endif
