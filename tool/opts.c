/* SPDX-License-Identifier: MIT */
/* opts.c - parse a command's options by its table; messages and help from the same table. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd.h"

/* Messages quote names of files, programs and coroutines: sanitize them for the terminal. */
static void put_lines(const char *text)
{
	const char *end;

	for (; (end = strchr(text, '\n')); text = end + 1) {
		text_put_n(stderr, text, (size_t)(end - text));
		fputc('\n', stderr);
	}
	text_put(stderr, text);
	fputc('\n', stderr);
}

void say(const char *command, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	if (command && *command)
		fprintf(stderr, "corotracer %s: ", command);
	else
		fputs("corotracer: ", stderr);
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	put_lines(text ? text : fmt);
	free(text);
}

void say_error(const char *command, const struct err *err)
{
	say(command, "%s", err->text);
	if (err->hint[0]) {
		fputs("hint: ", stderr);
		put_lines(err->hint);
	}
}

static int bad_option(const struct command *cmd, const char *what, const char *option)
{
	say(cmd->name, "%s '%s'", what, option);
	fprintf(stderr, "hint: see 'corotracer help %s'\n", cmd->name);
	return OPT_BAD;
}

static int find_long(const struct command *cmd, const char *name, size_t len)
{
	int i;

	for (i = 0; cmd->opts && cmd->opts[i].name; i++) {
		if (strlen(cmd->opts[i].name) == len && !strncmp(cmd->opts[i].name, name, len))
			return i;
	}
	return -1;
}

static int find_letter(const struct command *cmd, char letter)
{
	int i;

	for (i = 0; cmd->opts && cmd->opts[i].name; i++) {
		if (cmd->opts[i].letter == letter)
			return i;
	}
	return -1;
}

/* The argument of an option: attached, or the next word. */
static bool take_value(const struct opt *opt, const char *attached, struct opt_walk *walk, int argc,
		       char **argv, const char **value)
{
	*value = NULL;
	if (!opt->arg)
		return attached == NULL;
	if (attached || opt->arg[0] == '[') {
		*value = attached;
		return true;
	}
	if (walk->next >= argc)
		return false;
	*value = argv[walk->next++];
	return true;
}

static int next_long(const struct command *cmd, struct opt_walk *walk, int argc, char **argv,
		     const char *word, const char **value)
{
	const char *name = word + 2, *equal = strchr(name, '=');
	size_t len = equal ? (size_t)(equal - name) : strlen(name);
	int i = find_long(cmd, name, len);

	if (i < 0 && len == 4 && !strncmp(name, "help", 4)) {
		command_help_print(cmd);
		return OPT_HELP;
	}
	if (i < 0)
		return bad_option(cmd, "unknown option", word);
	if (!take_value(&cmd->opts[i], equal ? equal + 1 : NULL, walk, argc, argv, value))
		return bad_option(cmd, cmd->opts[i].arg ? "no value after" : "no value goes with",
				  word);
	return i;
}

static int next_short(const struct command *cmd, struct opt_walk *walk, int argc, char **argv,
		      const char *word, const char **value)
{
	int i = find_letter(cmd, word[1]);

	if (i < 0 && word[1] == 'h' && !word[2]) {
		command_help_print(cmd);
		return OPT_HELP;
	}
	if (i < 0)
		return bad_option(cmd, "unknown option", word);
	if (!take_value(&cmd->opts[i], word[2] ? word + 2 : NULL, walk, argc, argv, value))
		return bad_option(cmd, cmd->opts[i].arg ? "no value after" : "unknown option",
				  word);
	return i;
}

/* Move the words taken from @from on before the operands that precede them. */
static void put_before_words(struct opt_walk *walk, int from, char **argv)
{
	int first = from - walk->words, k;

	for (k = from; k < walk->next; k++) {
		char *taken = argv[k];

		memmove(&argv[first + 1], &argv[first], (size_t)(k - first) * sizeof(argv[0]));
		argv[first++] = taken;
	}
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

int opt_next(const struct command *cmd, struct opt_walk *walk, int argc, char **argv,
	     const char **value, int *first)
{
	int from, found;

	if (walk->next == 0)
		*walk = (struct opt_walk){ .next = 1 };
	for (; walk->next < argc && !is_option(argv[walk->next]); walk->next++) {
		if (cmd->starts_program)
			break;
		walk->words++;
	}
	from = walk->next;
	if (from >= argc || !is_option(argv[from])) {
		*first = from - walk->words;
		return OPT_END;
	}
	walk->next++;
	if (!strcmp(argv[from], "--"))
		found = OPT_END;
	else if (argv[from][1] == '-')
		found = next_long(cmd, walk, argc, argv, argv[from], value);
	else
		found = next_short(cmd, walk, argc, argv, argv[from], value);
	put_before_words(walk, from, argv);
	*first = walk->next - walk->words;
	return found;
}

bool opt_number(const char *command, const char *option, const char *text, unsigned long long min,
		unsigned long long max, unsigned long long *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && *out >= min && *out <= max)
		return true;
	say(command, "invalid value '%s' for %s: expected an integer from %llu to %llu", text,
	    option, min, max);
	return false;
}

/* 10 bits per step of K, M, G, T. */
static unsigned size_shift(const char *suffix)
{
	static const char letters[] = "KMGT";
	const char *at = *suffix ? strchr(letters, *suffix & ~0x20) : NULL;

	if (!*suffix)
		return 0;
	if (!at || (suffix[1] && strcmp(suffix + 1, "B") != 0 && strcmp(suffix + 1, "iB") != 0))
		return UINT_MAX;
	return 10 * (unsigned)(at - letters + 1);
}

bool opt_size(const char *command, const char *option, const char *text, unsigned long long min,
	      unsigned long long max, unsigned long long *out)
{
	char *end = NULL;
	unsigned shift;

	errno = 0;
	*out = strtoull(text, &end, 10);
	shift = size_shift(end);
	if (text[0] >= '0' && text[0] <= '9' && !errno && shift != UINT_MAX &&
	    *out <= max >> shift && *out << shift >= min) {
		*out <<= shift;
		return true;
	}
	say(command, "invalid value '%s' for %s: expected a size such as 64M, from %lluK to %lluG",
	    text, option, min >> 10, max >> 30);
	return false;
}

const char *command_word(const struct command *cmd)
{
	const char *space = strrchr(cmd->name, ' ');

	return space ? space + 1 : cmd->name;
}

void command_help_print(const struct command *cmd)
{
	const struct opt *o;
	size_t i;

	printf("usage: corotracer %s%s%s\n\n%s\n", cmd->name, *cmd->args ? " " : "", cmd->args,
	       cmd->summary);
	for (i = 0; cmd->subs && cmd->subs[i]; i++)
		printf("%s  %-9s %s\n", i ? "" : "\n", command_word(cmd->subs[i]),
		       cmd->subs[i]->summary);
	for (o = cmd->opts; o && o->name; o++) {
		char left[64];

		if (!o->help)
			continue;
		snprintf(left, sizeof(left), "%c%c%s--%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
			 o->arg && o->arg[0] != '[' ? " " : "", o->arg ? o->arg : "");
		printf("%s  %-26s %s\n", o == cmd->opts ? "\n" : "", left, o->help);
	}
	if (cmd->details)
		printf("\n%s", cmd->details);
}
