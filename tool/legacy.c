/* SPDX-License-Identifier: MIT */
/*
 * legacy.c - the command line of the existing coroTracer, translated.
 *
 *	corotracer -n 256 -cmd "./app --port 80" -out trace.jsonl
 *	corotracer -deepdive -out trace.jsonl
 *	corotracer -export sqlite -in trace.jsonl        (legacy_export.c)
 *	corotracer -html -out trace.jsonl
 *
 * A flag may be written -name value, -name=value, and with two dashes. -cmd is run by `sh -c`, as
 * in the existing coroTracer; that is the only difference to `run`.
 */
#include "legacy.h"

#include <stdio.h>
#include <string.h>

#include "html_job.h"
#include "report_job.h"
#include "run_collector.h"

/* The flags for tracing, and the options of `run` that they stand for. */
static const struct {
	const char *flag;
	const char *option; /* NULL: the command itself */
} flags[] = {
	{ "n", "stations" }, { "out", "output" }, { "shm", "shm" },
	{ "sock", "sock" },  { "cmd", NULL },
};
enum { FLAG_OUT = 1 };
#define NR_FLAGS (sizeof(flags) / sizeof(flags[0]))

bool legacy_is_flag(const char *word, const char *flag, const char **attached)
{
	size_t len = strlen(flag);
	const char *name;

	if (word[0] != '-')
		return false;
	name = word + (word[1] == '-' ? 2 : 1);
	if (strncmp(name, flag, len) != 0 || (name[len] && name[len] != '='))
		return false;
	*attached = name[len] ? name + len + 1 : NULL;
	return true;
}

static int flag_find(const char *word, const char **attached)
{
	size_t i;

	for (i = 0; i < NR_FLAGS; i++) {
		if (legacy_is_flag(word, flags[i].flag, attached))
			return (int)i;
	}
	return -1;
}

/* A word that starts with a dash in place of a command. */
bool legacy_wanted(int argc, char **argv)
{
	return argc > 1 && argv[1][0] == '-';
}

int legacy_unknown(const char *word)
{
	message_print(NULL, "unknown flag '%s'", word);
	fputs("hint: corotracer -n 256 -cmd \"./app\" -out trace.jsonl, or 'corotracer help'\n",
	      stderr);
	return EXIT_USAGE;
}

/* Flags that process an existing trace: -deepdive -out trace.jsonl. */
static int legacy_deepdive(const char *trace)
{
	struct report_job job = { .trace = trace, .has_form = true };

	return report_job_run(&job);
}

static int legacy_html(const char *trace)
{
	struct html_job job = { .trace = trace };

	return html_job_run(&job);
}

static const struct afterwards {
	const char *flag;
	int (*run)(const char *trace);
} afterwards[] = {
	{ "deepdive", legacy_deepdive }, /* the report, as Markdown */
	{ "html", legacy_html },         /* the page, in the directory of the trace */
};

static const struct afterwards *afterwards_find(const char *word)
{
	size_t i;

	if (word[0] != '-')
		return NULL;
	word += word[1] == '-' ? 2 : 1;
	for (i = 0; i < sizeof(afterwards) / sizeof(afterwards[0]); i++) {
		if (!strcmp(word, afterwards[i].flag))
			return &afterwards[i];
	}
	return NULL;
}

static int run_afterwards(const struct afterwards *what, int argc, char **argv)
{
	const char *value, *trace = DEFAULT_OUTPUT;
	int i;

	for (i = 1; i < argc; i++) {
		if (afterwards_find(argv[i]) == what)
			continue;
		if (flag_find(argv[i], &value) != FLAG_OUT)
			return legacy_unknown(argv[i]);
		if (!value && i + 1 >= argc) {
			message_print(NULL, "no value after '%s'", argv[i]);
			return EXIT_USAGE;
		}
		trace = value ? value : argv[++i];
	}
	return what->run(trace);
}

/*
 * Parse the flags into @s and the command into *@cmd.  Returns -1 to continue, or the exit status.
 */
static int legacy_parse(struct session *s, int argc, char **argv, char **cmd)
{
	struct opt_use use;
	int i = 1, f;

	while (i < argc) {
		const char *value, *word = argv[i++];

		f = flag_find(word, &value);
		if (f < 0)
			return legacy_unknown(word);
		if (!value && i >= argc) {
			message_print(NULL, "no value after '%s'", word);
			return EXIT_USAGE;
		}
		if (!value)
			value = argv[i++];
		use = (struct opt_use){ .option = word, .value = value };
		if (!flags[f].option)
			*cmd = (char *)value;
		else if (!opts_set(command_run.opts, flags[f].option, &use, s))
			return EXIT_USAGE;
	}
	return -1;
}

int legacy_main(int argc, char **argv)
{
	static char shell[] = "sh", dash_c[] = "-c";
	char *words[4] = { shell, dash_c, NULL, NULL };
	struct session s;
	int status, i;

	for (i = 1; i < argc; i++) {
		const struct afterwards *what = afterwards_find(argv[i]);

		if (what)
			return run_afterwards(what, argc, argv);
		if (legacy_is_export(argv[i]))
			return legacy_export(argc, argv);
	}
	session_init(&s, NULL);
	status = legacy_parse(&s, argc, argv, &words[2]);
	if (status >= 0)
		return status;
	if (!words[2] || !*words[2]) {
		message_print(NULL, "no command to trace: -cmd is missing");
		fputs("hint: corotracer -n 256 -cmd \"./app\" -out trace.jsonl\n", stderr);
		return EXIT_USAGE;
	}
	s.config.argv = words;
	return session_run(&s);
}
