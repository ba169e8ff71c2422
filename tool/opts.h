/* SPDX-License-Identifier: MIT */
/*
 * opts.h - the options of a command as one typed table.
 *
 *	struct info_options {
 *		bool json;
 *		uint32_t top;
 *	};
 *
 *	static const struct opt options[] = {
 *		{ 0, "json", NULL, "print one JSON object", OPT_FLAG(struct info_options, json) },
 *		{ 'n', "top", "N", "rows (10)", OPT_NUMBER(struct info_options, top, 0, 100) },
 *		{ .name = NULL },
 *	};
 *
 *	struct info_options o = { .top = 10 };
 *	int first, status = opts_parse(&command_info, &o, argc, argv, &first);
 *
 *	if (status != OPTS_PARSED)
 *		return status;
 *
 * Each row has the names, the argument, the help text, the type and the field to store the value
 * in.  Help, completion, parsing and error messages come from this table.
 */
#ifndef TOOL_OPTS_H
#define TOOL_OPTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct command;

enum opt_type {
	OPT_TYPE_VALUE,  /* no argument: store @min */
	OPT_TYPE_COUNT,  /* no argument: add 1 */
	OPT_TYPE_TEXT,   /* const char * */
	OPT_TYPE_NAME,   /* const char *, not empty */
	OPT_TYPE_NUMBER, /* integer from @min to @max, stored times @unit */
	OPT_TYPE_SIZE,   /* as a number, with a suffix: 4096, 64K, 1G */
	OPT_TYPE_REAL,   /* decimal number from @least to @most, stored times @scale, rounded */
	OPT_TYPE_CHOICE, /* one of @words: store @min plus its position */
	OPT_TYPE_CALL,   /* parsed by @parse */
};

/* One occurrence of an option on the command line, for an option with its own parser. */
struct opt_use {
	const char *command; /* for messages */
	const char *option;  /* as written: "-n", "--top" */
	const char *value;
	struct opt_walk *walk; /* for opt_next_word(); NULL: not from a command line */
};

/* One option of a command; a table of options ends with a row without a name. */
struct opt { /* NOLINT(clang-analyzer-optin.performance.Padding): rows begin with the names */
	char letter;          /* 'o', or 0: only the long form */
	const char *name;     /* "output" */
	const char *arg;      /* "FILE", "[=FILE]" if optional, or NULL for a flag */
	const char *help;     /* one line, lower case, no full stop; NULL: an alias, not listed */
	bool is_rare;         /* the help has only its name; the manual explains it */
	bool takes_detectors; /* names of detectors, for completion */
	enum opt_type type;
	size_t offset, size; /* field that gets the value, in the command's options */
	size_t given;        /* 1 + offset of a bool that is set when the option occurs; 0: none */
	unsigned long long min, max, unit;
	double least, most, scale;
	const char *words; /* "csv, jsonl or sqlite" */
	/* @field is the field at @offset.  False after an error message. */
	bool (*parse)(void *field, const struct opt_use *use);
};

/* Types of a row: OPT_...(struct with the command's options, field, ...). */
#define OPT_AT(options, field) \
	.offset = offsetof(options, field), .size = sizeof(((options *)NULL)->field)
#define OPT_VALUE(options, field, value) \
	.type = OPT_TYPE_VALUE, OPT_AT(options, field), .min = (value)
#define OPT_FLAG(options, field)                OPT_VALUE(options, field, true)
#define OPT_COUNT(options, field)               .type = OPT_TYPE_COUNT, OPT_AT(options, field)
#define OPT_TEXT(options, field)                .type = OPT_TYPE_TEXT, OPT_AT(options, field)
#define OPT_NAME(options, field)                .type = OPT_TYPE_NAME, OPT_AT(options, field)
#define OPT_NUMBER(options, field, least, most) OPT_UNITS(options, field, least, most, 1)
#define OPT_UNITS(options, field, least, most, in_one)                                  \
	.type = OPT_TYPE_NUMBER, OPT_AT(options, field), .min = (least), .max = (most), \
	.unit = (in_one)
#define OPT_SIZE(options, field, least, most) \
	.type = OPT_TYPE_SIZE, OPT_AT(options, field), .min = (least), .max = (most)
#define OPT_REAL(options, field, from, to, in_one)                                    \
	.type = OPT_TYPE_REAL, OPT_AT(options, field), .least = (from), .most = (to), \
	.scale = (in_one)
#define OPT_CHOICE(options, field, list, first) \
	.type = OPT_TYPE_CHOICE, OPT_AT(options, field), .words = (list), .min = (first)
#define OPT_CALL(options, field, function) \
	.type = OPT_TYPE_CALL, OPT_AT(options, field), .parse = (function)
/* In addition to one of the above. */
#define OPT_GIVEN(options, field) .given = (offsetof(options, field) + 1)

/*
 * Parse the options of @cmd into @options.  Returns OPTS_PARSED, with the index in argv of the
 * first operand in *@first, or the exit status after an error message or the help.  Options may
 * follow operands: argv is reordered.  Options end at "--", and at the first operand if
 * cmd->starts_program.
 */
enum { OPTS_PARSED = -1 };
int opts_parse(const struct command *cmd, void *options, int argc, char **argv, int *first);

/*
 * Set the option @name of @table, for command lines of another form.  False after an error message.
 */
bool opts_set(const struct opt *table, const char *name, const struct opt_use *use, void *options);

/* The only operand, named by the last word of cmd->args.  NULL after an error message. */
const char *opts_operand(const struct command *cmd, int argc, char **argv, int first);

/* Report the operand @word, which is one too many.  Returns EXIT_USAGE. */
int opts_unexpected(const struct command *cmd, const char *word);

/* Report that @what, an operand or an option of cmd->args, is missing.  Returns EXIT_USAGE. */
int opts_missing(const struct command *cmd, const char *what);

/* ---- for the parsers of single options ------------------------------------ */

/* Print "invalid value 'x' for -n: expected ..." and return false. */
bool opt_invalid(const struct opt_use *use, const char *expected);

/* Print the error and return false. */
bool opt_failed(const struct opt_use *use, const struct err *err);

/* Parse @text, a part of the value of @option, as an integer.  False after an error message. */
bool opt_number(const char *command, const char *option, const char *text, unsigned long long min,
		unsigned long long max, unsigned long long *out);

/* The next word of the command line, which becomes part of the option; NULL: there is none. */
const char *opt_next_word(const struct opt_use *use);

/* True if the next word is not the last one, which would be the only operand. */
bool opt_has_spare_word(const struct opt_use *use);

#endif
