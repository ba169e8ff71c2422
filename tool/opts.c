/* SPDX-License-Identifier: MIT */
/* opts.c - parse a command's options by its table. */
#include "opts.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest_word.h"
#include "cmd.h"
#include "json_file.h"

/* ---- values ------------------------------------------------------------------ */

bool opt_invalid(const struct opt_use *use, const char *expected)
{
	message_print(use->command, "invalid value '%s' for %s: expected %s", use->value,
		      use->option, expected);
	return false;
}

bool opt_failed(const struct opt_use *use, const struct err *err)
{
	message_error(use->command, err);
	return false;
}

bool opt_number(const char *command, const char *option, const char *text, unsigned long long min,
		unsigned long long max, unsigned long long *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && *out >= min && *out <= max)
		return true;
	message_print(command, "invalid value '%s' for %s: expected an integer from %llu to %llu",
		      text, option, min, max);
	return false;
}

/* 10 bits per step of K, M, G, T. */
static unsigned opt_size_shift(const char *suffix)
{
	static const char letters[] = "KMGT";
	const char *at = *suffix ? strchr(letters, *suffix & ~0x20) : NULL;

	if (!*suffix)
		return 0;
	if (!at || (suffix[1] && strcmp(suffix + 1, "B") != 0 && strcmp(suffix + 1, "iB") != 0))
		return UINT_MAX;
	return 10 * (unsigned)(at - letters + 1);
}

static bool opt_size(const struct opt *o, const struct opt_use *use, unsigned long long *out)
{
	const char *text = use->value;
	char *end = NULL;
	unsigned shift;

	errno = 0;
	*out = strtoull(text, &end, 10);
	shift = opt_size_shift(end);
	if (text[0] >= '0' && text[0] <= '9' && !errno && shift != UINT_MAX &&
	    *out <= o->max >> shift && *out << shift >= o->min) {
		*out <<= shift;
		return true;
	}
	message_print(use->command,
		      "invalid value '%s' for %s: expected a size such as 64M, from %lluK to %lluG",
		      text, use->option, o->min >> 10, o->max >> 30);
	return false;
}

static bool opt_real(const struct opt *o, const struct opt_use *use, unsigned long long *out)
{
	char *end, expected[64];
	double real = strtod(use->value, &end);

	if (end != use->value && !*end && real >= o->least && real <= o->most) {
		real *= o->scale;
		*out = (unsigned long long)(long long)(real < 0 ? real - 0.5 : real + 0.5);
		return true;
	}
	snprintf(expected, sizeof(expected), "a number from %.12g to %.12g", o->least, o->most);
	return opt_invalid(use, expected);
}

/* The position of the value in "drop, block or block=MS". */
static bool opt_choice(const struct opt *o, const struct opt_use *use, unsigned long long *out)
{
	size_t len = strlen(use->value), n;
	const char *word = o->words;

	for (*out = o->min; *word; ++*out) {
		n = strcspn(word, ", ");
		if (n == len && !strncmp(word, use->value, n))
			return true;
		word += n + strspn(word + n, ", ");
		if (!strncmp(word, "or ", 3))
			word += 3;
	}
	return opt_invalid(use, o->words);
}

/* The fields of options are integers of any size, enums and bools. */
static void opt_store(void *field, size_t size, unsigned long long value)
{
	uint8_t u8 = (uint8_t)value;
	uint16_t u16 = (uint16_t)value;
	uint32_t u32 = (uint32_t)value;
	uint64_t u64 = value;

	memcpy(field,
	       size == 1   ? (void *)&u8
	       : size == 2 ? (void *)&u16
	       : size == 4 ? (void *)&u32
			   : (void *)&u64,
	       size);
}

static bool opt_integer(const struct opt *o, const struct opt_use *use, unsigned long long *out)
{
	switch (o->type) {
	case OPT_TYPE_NUMBER:
		if (!opt_number(use->command, use->option, use->value, o->min, o->max, out))
			return false;
		*out *= o->unit;
		return true;
	case OPT_TYPE_SIZE:
		return opt_size(o, use, out);
	case OPT_TYPE_REAL:
		return opt_real(o, use, out);
	case OPT_TYPE_CHOICE:
		return opt_choice(o, use, out);
	default:
		*out = o->min;
		return true;
	}
}

static bool opt_apply(const struct opt *o, const struct opt_use *use, void *options)
{
	char *field = (char *)options + o->offset;
	unsigned long long number;

	if (o->given)
		((bool *)options)[o->given - 1] = true;
	if (use->value && !strcmp(o->name, "json")) {
		if (!*use->value)
			return opt_invalid(use, "a name");
		json_file_set(use->value);
	}
	if (o->type == OPT_TYPE_CALL)
		return o->parse(field, use);
	if (o->type == OPT_TYPE_COUNT) {
		++*(int *)(void *)field;
		return true;
	}
	if (o->type != OPT_TYPE_VALUE && !use->value) /* an optional argument that is not there */
		return true;
	if (o->type == OPT_TYPE_NAME && !*use->value)
		return opt_invalid(use, "a name");
	if (o->type == OPT_TYPE_TEXT || o->type == OPT_TYPE_NAME) {
		memcpy(field, &use->value, sizeof(use->value));
		return true;
	}
	if (!opt_integer(o, use, &number))
		return false;
	opt_store(field, o->size, number);
	return true;
}

static const struct opt *opt_find(const struct opt *table, const char *name, size_t len)
{
	for (; table && table->name; table++) {
		if (strlen(table->name) == len && !strncmp(table->name, name, len))
			return table;
	}
	return NULL;
}

bool opts_set(const struct opt *table, const char *name, const struct opt_use *use, void *options)
{
	return opt_apply(opt_find(table, name, strlen(name)), use, options);
}

/* ---- words of the command line -------------------------------------------------- */

/* Position in the command line.  Words that were parsed precede the operands. */
struct opt_walk {
	const struct command *cmd;
	int argc;
	char **argv;
	int next;  /* first word that was not parsed */
	int words; /* operands right before next */
};

const char *opt_next_word(const struct opt_use *use)
{
	struct opt_walk *walk = use->walk;

	return walk && walk->next < walk->argc ? walk->argv[walk->next++] : NULL;
}

bool opt_has_spare_word(const struct opt_use *use)
{
	const struct opt_walk *walk = use->walk;

	return walk && walk->next + !walk->words < walk->argc;
}

enum opt_result { OPT_TAKEN, OPT_END, OPT_HELP, OPT_BAD };

static enum opt_result opt_refuse(const struct command *cmd, const char *what, const char *word)
{
	message_print(cmd->name, "%s '%s'", what, word);
	fprintf(stderr, "hint: see 'corotracer help %s'\n", cmd->name);
	return OPT_BAD;
}

/* An unknown option @word; its name are the @len bytes after the dashes, none for a letter. */
static enum opt_result opt_refuse_unknown(const struct command *cmd, const char *word, size_t len)
{
	const struct opt *o;
	struct nearest_word near;

	nearest_word_begin(&near, word + 2, len);
	for (o = cmd->opts; o && o->name; o++)
		nearest_word_offer(&near, o->name);
	if (!near.best)
		return opt_refuse(cmd, "unknown option", word);
	message_print(cmd->name, "unknown option '%s'", word);
	fprintf(stderr, "hint: did you mean '--%s'?  See 'corotracer help %s'\n", near.best,
		cmd->name);
	return OPT_BAD;
}

static const struct opt *opt_find_letter(const struct opt *o, char letter)
{
	for (; o && o->name; o++) {
		if (o->letter == letter)
			return o;
	}
	return NULL;
}

/* "-vvv" for an option that counts. */
static bool opt_is_repeated(const struct opt *o, const char *word)
{
	const char letters[2] = { o->letter, '\0' };

	return o->type == OPT_TYPE_COUNT && !word[1 + strspn(word + 1, letters)];
}

/* Parse one option: @word, and its argument, attached or in the next word. */
static enum opt_result opt_parse_word(struct opt_walk *walk, const char *word, void *options)
{
	bool is_long = word[1] == '-';
	size_t len = is_long ? strcspn(word, "=") : 2;
	const char *attached = !word[len] ? NULL : word + len + is_long;
	const struct opt *o = is_long ? opt_find(walk->cmd->opts, word + 2, len - 2)
				      : opt_find_letter(walk->cmd->opts, word[1]);
	char option[64];
	struct opt_use use = { walk->cmd->name, option, attached, walk };

	if (!o && ((is_long && len == 6 && !strncmp(word, "--help", 6)) || !strcmp(word, "-h"))) {
		command_help_print(walk->cmd);
		return OPT_HELP;
	}
	if (o && !is_long && attached && opt_is_repeated(o, word)) {
		*(int *)(void *)((char *)options + o->offset) += (int)strlen(word + 1);
		return OPT_TAKEN;
	}
	if (!o || (!is_long && attached && !o->arg))
		return opt_refuse_unknown(walk->cmd, word, is_long ? len - 2 : 0);
	if (attached && !o->arg)
		return opt_refuse(walk->cmd, "no value is allowed for", word);
	if (!attached && o->arg && o->arg[0] != '[') {
		use.value = opt_next_word(&use);
		if (!use.value)
			return opt_refuse(walk->cmd, "no value after", word);
	}
	snprintf(option, sizeof(option), "%.*s", (int)len, word);
	return opt_apply(o, &use, options) ? OPT_TAKEN : OPT_BAD;
}

/* Move the words from @from on, which were parsed, before the operands that precede them. */
static void opt_move_ahead(struct opt_walk *walk, int from)
{
	char **argv = walk->argv;
	int first = from - walk->words, k;

	for (k = from; k < walk->next; k++) {
		char *taken = argv[k];

		memmove(&argv[first + 1], &argv[first], (size_t)(k - first) * sizeof(argv[0]));
		argv[first++] = taken;
	}
}

static bool opt_is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

static enum opt_result opt_parse_next(struct opt_walk *walk, void *options)
{
	enum opt_result result = OPT_END;
	int from;

	while (!walk->cmd->starts_program && walk->next < walk->argc &&
	       !opt_is_option(walk->argv[walk->next])) {
		walk->next++;
		walk->words++;
	}
	from = walk->next;
	if (from >= walk->argc || !opt_is_option(walk->argv[from]))
		return OPT_END;
	walk->next++;
	if (strcmp(walk->argv[from], "--") != 0)
		result = opt_parse_word(walk, walk->argv[from], options);
	opt_move_ahead(walk, from);
	return result;
}

int opts_parse(const struct command *cmd, void *options, int argc, char **argv, int *first)
{
	struct opt_walk walk = { .cmd = cmd, .argc = argc, .argv = argv, .next = 1 };
	enum opt_result result;

	do
		result = opt_parse_next(&walk, options);
	while (result == OPT_TAKEN);
	*first = walk.next - walk.words;
	if (result == OPT_END)
		return OPTS_PARSED;
	return result == OPT_HELP ? EXIT_OK : EXIT_USAGE;
}

/* ---- operands ------------------------------------------------------------------ */

static int opts_hint_usage(const struct command *cmd)
{
	fprintf(stderr, "hint: usage: corotracer %s %s\n", cmd->name, cmd->args);
	return EXIT_USAGE;
}

int opts_missing(const struct command *cmd, const char *what)
{
	if (what[0] == '-')
		message_print(cmd->name, "%s is required", what);
	else
		message_print(cmd->name, "missing argument %s", what);
	return opts_hint_usage(cmd);
}

int opts_unexpected(const struct command *cmd, const char *word)
{
	message_print(cmd->name, "unexpected argument '%s'", word);
	return opts_hint_usage(cmd);
}

const char *opts_operand(const struct command *cmd, int argc, char **argv, int first)
{
	const char *what = strrchr(cmd->args, ' ');

	if (first + 1 == argc)
		return argv[first];
	if (first >= argc)
		opts_missing(cmd, what ? what + 1 : cmd->args);
	else
		opts_unexpected(cmd, argv[first + 1]);
	return NULL;
}
