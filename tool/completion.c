/* SPDX-License-Identifier: MIT */
/*
 * completion.c - complete a command line, for the scripts of bash, zsh and fish.
 *
 * The scripts are short: they pass the words so far to `corotracer --complete`, the last one being
 * the one that the user is typing, and offer what it prints.  Commands, options and values come
 * from the tables that also parse them.
 *
 * Output: a line per candidate, "WORD<tab>DESCRIPTION"; the last line is a colon and what else
 * fits: ":none", ":files", ":dirs", or ":program N", the command line of another program, which
 * begins with word N.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/detector.h"
#include "cmd.h"
#include "completion_scripts.h"
#include "export/sink.h"

struct completion {
	const char *typed; /* the word that is being typed */
	const char *rest;  /* "files", "dirs", "program", "none" */
};

/* What is typed of a value may follow an option in the same word, or a comma: "--check=leak,de". */
static void completion_offer(const struct completion *c, size_t prefix, const char *word,
			     const char *description)
{
	if (!strncmp(word, c->typed + prefix, strlen(c->typed + prefix)))
		printf("%.*s%s\t%s\n", (int)prefix, c->typed, word, description);
}

static void completion_offer_commands(const struct completion *c, const struct command *const *list)
{
	for (; *list; list++)
		completion_offer(c, 0, command_word(*list), (*list)->summary);
}

/* ---- values ------------------------------------------------------------------ */

/* "csv, jsonl or sqlite" */
static void completion_offer_words(const struct completion *c, size_t prefix, const char *words)
{
	char word[64];
	size_t n;

	while (*words) {
		n = strcspn(words, ", ");
		if (n && n < sizeof(word) && strncmp(words, "or", n) != 0) {
			memcpy(word, words, n);
			word[n] = 0;
			completion_offer(c, prefix, word, "");
		}
		words += n;
		words += strspn(words, ", ");
	}
}

/* The name of a process into @name.  False: it is gone. */
static bool completion_read_name(int proc, const char *pid, char *name, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.32s/comm", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, name, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	name[n] = 0;
	for (char *p = name; *p; p++) {
		if (!isprint((unsigned char)*p))
			*p = *p == '\n' ? 0 : '?';
	}
	return true;
}

/* The user's processes; root's are all. */
static void completion_offer_pids(const struct completion *c, size_t prefix)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char name[64];
	struct stat st;

	if (!proc)
		return;
	while ((entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    fstatat(dirfd(proc), entry->d_name, &st, 0) || strlen(entry->d_name) > 20)
			continue;
		if ((geteuid() == 0 || st.st_uid == geteuid()) &&
		    completion_read_name(dirfd(proc), entry->d_name, name, sizeof(name)))
			completion_offer(c, prefix, entry->d_name, name);
	}
	closedir(proc);
}

static void completion_offer_detectors(const struct completion *c, size_t prefix)
{
	size_t i;

	completion_offer(c, prefix, "all", "every detector");
	for (i = 0; detectors[i]; i++)
		completion_offer(c, prefix, detectors[i]->name, detectors[i]->title);
}

static bool completion_is_file(const char *arg)
{
	static const char *const names[] = { "FILE", "TRACE", "PATH", "SPEC", "ELF" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strstr(arg, names[i]))
			return true;
	}
	return false;
}

/* Values of the option, behind the first @prefix bytes of what is typed. */
static void completion_offer_values(struct completion *c, const struct opt *o, size_t prefix)
{
	const char *comma = strrchr(c->typed + prefix, ',');

	if (o->type == OPT_TYPE_CHOICE) {
		completion_offer_words(c, prefix, o->words);
	} else if (o->takes_detectors) {
		completion_offer_detectors(c, comma ? (size_t)(comma + 1 - c->typed) : prefix);
	} else if (!strcmp(o->arg, "PID")) {
		completion_offer_pids(c, prefix);
	} else if (strstr(o->arg, "DIR")) {
		c->rest = "dirs";
	} else if (completion_is_file(o->arg)) {
		c->rest = "files";
	}
}

/* ---- options and operands ----------------------------------------------------- */

/* "--output", "--output=x", "-o" or "-ox" as an option of @cmd; NULL: it is none. */
static const struct opt *completion_find_option(const struct command *cmd, const char *word)
{
	const struct opt *o;
	size_t n;

	if (word[0] != '-' || !word[1])
		return NULL;
	for (o = cmd->opts; o && o->name; o++) {
		n = strlen(o->name);
		if (word[1] != '-' ? o->letter == word[1]
				   : !strncmp(word + 2, o->name, n) &&
					     (!word[2 + n] || word[2 + n] == '='))
			return o;
	}
	return NULL;
}

/* True if the value of @o is the word after @word. */
static bool completion_takes_next(const struct opt *o, const char *word)
{
	if (!o || !o->arg || o->arg[0] == '[')
		return false;
	return word[1] == '-' ? !strchr(word, '=') : !word[2];
}

static void completion_offer_options(const struct completion *c, const struct command *cmd)
{
	const struct opt *o;
	char word[80];

	for (o = cmd->opts; o && o->name; o++) {
		if (!o->help)
			continue;
		snprintf(word, sizeof(word), "--%s", o->name);
		completion_offer(c, 0, word, o->help);
		if (o->letter) {
			snprintf(word, sizeof(word), "-%c", o->letter);
			completion_offer(c, 0, word, o->help);
		}
	}
	completion_offer(c, 0, "--help", "what the command does, and its options");
}

static void completion_offer_operands(struct completion *c, const struct command *cmd,
				      size_t before)
{
	size_t i;

	if (cmd == &command_help) {
		completion_offer_commands(c, commands);
	} else if (cmd == &command_export && !before) {
		for (i = 0; sinks[i]; i++)
			completion_offer(c, 0, sinks[i]->name, "");
		completion_offer(c, 0, "otlp", "spans of OpenTelemetry");
		completion_offer(c, 0, "schema", "the SQL of the tables");
	} else if (*cmd->args) {
		c->rest = cmd->starts_program ? "program" : "files";
	}
}

/*
 * @words after the command's name, the last one being typed.  Returns 1 + the number of the word
 * that begins the command line of another program; 0: there is none.
 */
static int completion_offer_in(struct completion *c, const struct command *cmd, int nr,
			       char **words)
{
	const struct opt *o = NULL;
	size_t operands = 0;
	const char *equals;
	int i;

	for (i = 0; i < nr - 1; i++) {
		if (!strcmp(words[i], "--"))
			return i + 2;
		o = completion_find_option(cmd, words[i]);
		if (completion_takes_next(o, words[i])) {
			if (++i == nr - 1)
				break;
		} else if (words[i][0] != '-') {
			if (cmd->starts_program)
				return i + 1;
			operands++;
		}
		o = NULL;
	}
	equals = strchr(c->typed, '=');
	if (o) {
		completion_offer_values(c, o, 0);
	} else if (equals && (o = completion_find_option(cmd, c->typed)) && o->arg) {
		completion_offer_values(c, o, (size_t)(equals + 1 - c->typed));
	} else if (c->typed[0] == '-') {
		completion_offer_options(c, cmd);
	} else {
		completion_offer_operands(c, cmd, operands);
	}
	return 0;
}

int completion_complete(int nr, char **words)
{
	struct completion c = { .typed = nr > 0 ? words[nr - 1] : "", .rest = "none" };
	const struct command *cmd = nr > 1 ? command_find(words[0]) : NULL;
	int at = 1, program;

	if (cmd && cmd->subs && nr > 2) {
		cmd = command_find_sub(cmd, words[1]);
		at = 2;
	} else if (cmd && cmd->subs) {
		completion_offer_commands(&c, cmd->subs);
		completion_offer(&c, 0, "--help", cmd->summary);
		cmd = NULL;
	}
	if (nr <= 1) {
		completion_offer_commands(&c, commands);
	} else if (cmd) {
		program = completion_offer_in(&c, cmd, nr - at, words + at);
		if (program || !strcmp(c.rest, "program")) {
			printf(":program %d\n", (program ? program : nr - at) + at - 1);
			return EXIT_OK;
		}
	}
	printf(":%s\n", c.rest);
	return EXIT_OK;
}

int completion_print_script(const char *shell)
{
	if (!shell || !strcmp(shell, "bash")) {
		fwrite(completion_corotracer_bash, 1, completion_corotracer_bash_size, stdout);
	} else if (!strcmp(shell, "zsh")) {
		fwrite(completion_corotracer_zsh, 1, completion_corotracer_zsh_size, stdout);
	} else if (!strcmp(shell, "fish")) {
		fwrite(completion_corotracer_fish, 1, completion_corotracer_fish_size, stdout);
	} else {
		message_print(NULL, "no completion for the shell '%s'", shell);
		fputs("hint: corotracer --completion bash, zsh or fish\n", stderr);
		return EXIT_USAGE;
	}
	return EXIT_OK;
}
