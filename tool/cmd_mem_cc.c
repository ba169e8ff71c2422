/* SPDX-License-Identifier: MIT */
/*
 * cmd_mem_cc.c - corotracer mem cc, mem c++: a compiler wrapper that builds traced programs.
 *
 * All arguments are passed to the compiler unchanged, so that the command can be used as CC and
 * CXX; the wrapper's own options come from the environment, or come first.
 * src/memory/compiler/compiler_command.c decides what to run; this file finds the compiler and the
 * libraries, and runs the command.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "mem.h"
#include "memory/compiler/compiler_command.h"

struct compiler_run {
	const struct command *cmd;
	bool cxx;
	bool show; /* print the command without running it */
	struct words only;
	char compiler[PATH_MAX];
	char libdir[PATH_MAX];
	char includedir[PATH_MAX];
};

static bool file_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

/* Find @name in PATH, as a shell does; the result is in @out. */
static bool in_path(const char *name, char *out, size_t size)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/')) {
		snprintf(out, size, "%s", name);
		return access(name, X_OK) == 0;
	}
	for (path = path ? path : "/usr/bin:/bin"; *path;) {
		int n = (int)strcspn(path, ":");

		if (snprintf(out, size, "%.*s/%s", n, path, name) < (int)size &&
		    access(out, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

/* The path of this executable: the libraries are found relative to it. */
static bool own_path(char *out)
{
	ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);

	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool is_us(const char *path)
{
	char mine[PATH_MAX], theirs[PATH_MAX];

	return own_path(mine) && realpath(path, theirs) && !strcmp(mine, theirs);
}

static bool find_compiler(struct compiler_run *r, const char *chosen)
{
	const char *variable = r->cxx ? "COROTRACER_CXX" : "COROTRACER_CC";
	const char *name = chosen ? chosen : getenv(variable);

	if (!name || !*name)
		name = r->cxx ? "c++" : "cc";
	if (!in_path(name, r->compiler, sizeof(r->compiler))) {
		message_print(r->cmd->name, "cannot find the compiler '%s'", name);
		fprintf(stderr, "hint: name one by --compiler NAME or %s\n", variable);
		return false;
	}
	if (is_us(r->compiler)) {
		message_print(r->cmd->name, "the compiler '%s' is this command itself", name);
		fprintf(stderr, "hint: name the real one by --compiler NAME or %s\n", variable);
		return false;
	}
	return true;
}

/* If the library exists in @libdir, use it, with the headers in @include. */
static bool library_in(struct compiler_run *r, const char *libdir, const char *include)
{
	char *path, *real;

	if (asprintf(&path, "%s/libcacheray.a", libdir) < 0)
		return false;
	real = file_exists(path) ? realpath(libdir, NULL) : NULL;
	free(path);
	if (!real)
		return false;
	snprintf(r->libdir, sizeof(r->libdir), "%s", real);
	free(real);
	real = realpath(include, NULL);
	snprintf(r->includedir, sizeof(r->includedir), "%s", real ? real : "");
	free(real);
	return true;
}

/* Search relative to the tool, in the build tree and as installed. */
static bool find_library(struct compiler_run *r)
{
	static const char *const places[][2] = { { "lib", "include" },
						 { "../" COROTRACER_LIBDIR, "../include" },
						 { "../lib", "../include" } };
	const char *chosen = getenv("COROTRACER_LIBDIR");
	char dir[PATH_MAX], *slash;
	size_t i;

	if (!own_path(dir) || !(slash = strrchr(dir, '/')))
		return false;
	*slash = '\0';
	if (chosen && library_in(r, chosen, ""))
		return true;
	for (i = 0; !chosen && i < 3; i++) {
		char lib[PATH_MAX + 64], include[PATH_MAX + 64];

		snprintf(lib, sizeof(lib), "%s/%s", dir, places[i][0]);
		snprintf(include, sizeof(include), "%s/%s", dir, places[i][1]);
		if (library_in(r, lib, include))
			return true;
	}
	message_print(r->cmd->name, "cannot find libcacheray.a near '%s'", chosen ? chosen : dir);
	fputs("hint: name its directory by COROTRACER_LIBDIR\n", stderr);
	return false;
}

/* gcc and clang need different options: find out which one it is. */
static enum wrap_family compiler_family(const char *compiler)
{
	char real[PATH_MAX], line[256] = "", *name, command[PATH_MAX + 32];
	FILE *f;

	name = realpath(compiler, real) ? strrchr(real, '/') + 1 : real;
	if (strstr(name, "clang"))
		return WRAP_CLANG;
	if (strstr(name, "gcc") || strstr(name, "g++"))
		return WRAP_GCC;
	/* A script or a link with another name: ask for its version. */
	if (strchr(compiler, '\''))
		return WRAP_GCC;
	snprintf(command, sizeof(command), "'%s' --version 2>/dev/null", compiler);
	f = popen(command, "r"); /* NOLINT(cert-env33-c): quoted above */
	if (f) {
		if (!fgets(line, sizeof(line), f))
			line[0] = '\0';
		pclose(f);
	}
	return strstr(line, "clang") ? WRAP_CLANG : WRAP_GCC;
}

static void compiler_show_command(const struct words *command)
{
	size_t i;

	for (i = 0; i < command->nr; i++) {
		if (i)
			putchar(' ');
		text_put_word(stdout, command->word[i]);
	}
	putchar('\n');
}

/* Does not return if the compiler starts. */
static int compiler_run_plan(const struct compiler_run *r, const struct wrap_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->remarks.nr; i++)
		message_print(r->cmd->name, "%s", plan->remarks.word[i]);
	if (r->show) {
		compiler_show_command(&plan->command);
		return EXIT_OK;
	}
	execv(r->compiler, plan->command.word);
	message_print(r->cmd->name, "cannot run '%s': %s", r->compiler, strerror(errno));
	return EXIT_FAILED;
}

static int compiler_make_plan(const struct compiler_run *r, int argc, char **argv)
{
	struct wrap_setup setup = { .compiler = r->compiler,
				    .family = compiler_family(r->compiler),
				    .libdir = r->libdir,
				    .includedir = r->includedir[0] ? r->includedir : NULL,
				    .only = r->only.word,
				    .nr_only = r->only.nr };
	struct wrap_plan plan;
	struct err err = { 0 };
	int rc;

	if (wrap_make(&setup, argv, (size_t)argc, &plan, &err) < 0) {
		message_error(r->cmd->name, &err);
		return EXIT_FAILED;
	}
	rc = compiler_run_plan(r, &plan);
	wrap_release(&plan);
	return rc;
}

/* The value of @name=VALUE or @name VALUE at argv[*@i], or NULL; @i moves to the value's word. */
static const char *compiler_option_value(const char *name, int argc, char **argv, int *i)
{
	size_t length = strlen(name);

	if (strncmp(argv[*i], name, length) != 0)
		return NULL;
	if (argv[*i][length] == '=')
		return argv[*i] + length + 1;
	return !argv[*i][length] && *i + 1 < argc ? argv[++*i] : NULL;
}

/* True if @word is an option of this command that has a value. */
static bool compiler_wants_value(const char *word)
{
	return !strcmp(word, "--compiler") || !strcmp(word, "--only");
}

/* Returns the index of the first argument of the compiler, or of an option without its value. */
static int compiler_parse_options(struct compiler_run *r, int argc, char **argv,
				  const char **chosen)
{
	const char *value;
	int i;

	for (i = 1; i < argc; i++) {
		if ((value = compiler_option_value("--compiler", argc, argv, &i)))
			*chosen = value;
		else if ((value = compiler_option_value("--only", argc, argv, &i)))
			words_add(&r->only, value);
		else if (!strcmp(argv[i], "--show"))
			r->show = true;
		else
			break;
	}
	return i;
}

static int compiler_start(const struct command *cmd, bool cxx, int argc, char **argv)
{
	struct compiler_run *r = calloc(1, sizeof(*r));
	const char *chosen = NULL;
	int rc = EXIT_USAGE, i;

	if (!r) {
		message_print(cmd->name, "no memory to run the compiler");
		return EXIT_FAILED;
	}
	r->cmd = cmd;
	r->cxx = cxx;
	i = compiler_parse_options(r, argc, argv, &chosen);
	if (i < argc && compiler_wants_value(argv[i])) {
		message_print(cmd->name, "no value after '%s'", argv[i]);
		fprintf(stderr, "hint: see 'corotracer help %s'\n", cmd->name);
	} else if (argc == i || !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
		command_help_print(cmd);
		rc = argc == i ? EXIT_USAGE : EXIT_OK;
	} else if (!find_compiler(r, chosen) || !find_library(r)) {
		rc = EXIT_FAILED;
	} else {
		rc = compiler_make_plan(r, argc - i, argv + i);
	}
	words_release(&r->only);
	free(r);
	return rc;
}

/* For the help only: all other arguments are the compiler's, so these are parsed by hand. */
static const struct opt options[] = {
	{ .name = "compiler",
	  .arg = "NAME",
	  .help = "compiler to use; must come first (default cc or c++)" },
	{ .name = "only",
	  .arg = "GLOB",
	  .help = "instrument these sources only; may be repeated; must come first" },
	{ .name = "show", .help = "print the command only; must come first" },
	{ .name = NULL },
};

static const char details[] =
	"All other arguments are the compiler's.  Use it in place of CC and CXX:\n"
	"  make CC='corotracer mem cc' CXX='corotracer mem c++'\n"
	"  CC='corotracer mem cc' cmake -B build      CC='corotracer mem cc' ./configure\n"
	"COROTRACER_CC and COROTRACER_CXX name the real compilers (gcc 12 or later, clang 14 or\n"
	"later).  Programs are linked with corotracer's runtime, not ThreadSanitizer's; run\n"
	"them with 'corotracer mem run', or alone with CACHERAY_OPTIONS=tracefile=FILE.\n";

static int run_cc(int argc, char **argv)
{
	return compiler_start(&command_mem_cc, false, argc, argv);
}

static int run_cxx(int argc, char **argv)
{
	return compiler_start(&command_mem_cxx, true, argc, argv);
}

const struct command command_mem_cc = {
	.name = "mem cc",
	.instrument = "memory",
	.args = "[OPTIONS] COMPILER-ARGUMENT ...",
	.starts_program = true,
	.summary = "compile C so that the program's memory accesses can be traced",
	.details = details,
	.opts = options,
	.run = run_cc,
};

const struct command command_mem_cxx = {
	.name = "mem c++",
	.instrument = "memory",
	.args = "[OPTIONS] COMPILER-ARGUMENT ...",
	.starts_program = true,
	.summary = "the same for C++",
	.details = details,
	.opts = options,
	.run = run_cxx,
};
