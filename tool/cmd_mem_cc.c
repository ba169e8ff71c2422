/* SPDX-License-Identifier: MIT */
/*
 * cmd_mem_cc.c - corotracer mem cc, mem c++: a compiler wrapper that builds traced programs.
 *
 * All arguments are passed to the compiler unchanged, so that the command can be used as CC and
 * CXX; the wrapper's own options come from the environment, or come first.
 * src/memory/compiler/compiler_command.c decides what to run; this file finds the compiler and the
 * libraries, and runs the commands.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "end_signal.h"
#include "mem.h"
#include "memory/compiler/compiler_command.h"

struct compiler_run {
	const struct command *cmd;
	bool cxx;
	bool show; /* print the commands without running them */
	char compiler[PATH_MAX];
	char libdir[PATH_MAX];
	char includedir[PATH_MAX];
	char tmpdir[PATH_MAX];
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
		message_print(r->cmd->name, "there is no compiler '%s'", name);
		fprintf(stderr, "hint: name one by --compiler=NAME or %s\n", variable);
		return false;
	}
	if (is_us(r->compiler)) {
		message_print(r->cmd->name, "the compiler '%s' is this command itself", name);
		fprintf(stderr, "hint: name the real one by --compiler=NAME or %s\n", variable);
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
	message_print(r->cmd->name, "there is no libcacheray.a near '%s'", chosen ? chosen : dir);
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

/* A command line near the system's limit is passed as a response file. */
static bool compiler_shorten_command(const struct compiler_run *r, const struct words *command,
				     struct words *out, char *path)
{
	size_t size = 0, i;
	const char *c;
	FILE *f;

	for (i = 0; i < command->nr; i++)
		size += strlen(command->word[i]) + 1;
	if (size < 100000) {
		words_add_all(out, command->word, command->nr);
		return !out->failed;
	}
	if (snprintf(path, PATH_MAX, "%s/args", r->tmpdir) >= PATH_MAX)
		return false;
	f = fopen(path, "we");
	if (!f)
		return false;
	for (i = 1; i < command->nr; i++) {
		for (c = command->word[i]; *c; c++)
			fprintf(f, "\\%c", *c);
		if (!*command->word[i])
			fputs("\"\"", f);
		fputc('\n', f);
	}
	words_add(out, command->word[0]);
	words_join(out, "@", path);
	return fclose(f) == 0 && !out->failed;
}

static int status_of(int status)
{
	if (WIFSIGNALED(status))
		end_by_signal(WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

static int run_one(const struct compiler_run *r, const struct words *command, bool last)
{
	struct words short_one = { 0 };
	char path[PATH_MAX] = "";
	int status, rc = EXIT_FAILED;
	pid_t pid;

	if (!compiler_shorten_command(r, command, &short_one, path)) {
		message_print(r->cmd->name, "cannot pass on the command: %s", strerror(errno));
	} else if (last && !path[0] && !r->tmpdir[0]) {
		execv(r->compiler, short_one.word);
		message_print(r->cmd->name, "cannot run '%s': %s", r->compiler, strerror(errno));
	} else if ((rc = posix_spawn(&pid, r->compiler, NULL, NULL, short_one.word, environ)) !=
		   0) {
		message_print(r->cmd->name, "cannot run '%s': %s", r->compiler, strerror(rc));
		rc = EXIT_FAILED;
	} else {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		rc = status_of(status);
	}
	if (path[0])
		unlink(path);
	words_release(&short_one);
	return rc;
}

/* Remove the intermediate objects and the temporary directory. */
static void compiler_remove_files(const struct compiler_run *r, const struct wrap_plan *plan)
{
	size_t i;

	if (!r->tmpdir[0])
		return;
	for (i = 0; i + 1 < plan->nr; i++)
		unlink(plan->commands[i].word[plan->commands[i].nr - 1]);
	rmdir(r->tmpdir);
}

static int run_plan(const struct compiler_run *r, const struct wrap_plan *plan)
{
	int rc = EXIT_OK;
	size_t i;

	for (i = 0; i < plan->remarks.nr; i++)
		message_print(r->cmd->name, "%s", plan->remarks.word[i]);
	for (i = 0; i < plan->nr && rc == EXIT_OK; i++) {
		if (r->show)
			compiler_show_command(&plan->commands[i]);
		else
			rc = run_one(r, &plan->commands[i], i + 1 == plan->nr);
	}
	compiler_remove_files(r, plan);
	return rc;
}

static bool make_tmpdir(struct compiler_run *r)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(r->tmpdir, sizeof(r->tmpdir), "%s/corotracer-cc-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (mkdtemp(r->tmpdir))
		return true;
	message_print(r->cmd->name, "cannot make '%s': %s", r->tmpdir, strerror(errno));
	return false;
}

static int compiler_run_plan(struct compiler_run *r, int argc, char **argv)
{
	struct wrap_setup setup = { .compiler = r->compiler,
				    .family = compiler_family(r->compiler),
				    .libdir = r->libdir,
				    .includedir = r->includedir[0] ? r->includedir : NULL,
				    .tmpdir = "/" };
	struct wrap_plan plan;
	struct err err = { 0 };
	int rc;

	if (wrap_make(&setup, argv, (size_t)argc, &plan, &err) < 0) {
		message_error(r->cmd->name, &err);
		return EXIT_FAILED;
	}
	if (plan.needs_tmpdir) { /* plan again, with the name of the directory */
		wrap_release(&plan);
		if (!make_tmpdir(r))
			return EXIT_FAILED;
		setup.tmpdir = r->tmpdir;
		if (wrap_make(&setup, argv, (size_t)argc, &plan, &err) < 0) {
			message_error(r->cmd->name, &err);
			return EXIT_FAILED;
		}
	}
	rc = run_plan(r, &plan);
	wrap_release(&plan);
	return rc;
}

static int compiler_start(const struct command *cmd, bool cxx, int argc, char **argv)
{
	struct compiler_run *r = calloc(1, sizeof(*r));
	const char *chosen = NULL;
	int rc = EXIT_USAGE, i;

	if (!r)
		return EXIT_FAILED;
	r->cmd = cmd;
	r->cxx = cxx;
	for (i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "--compiler=", 11))
			chosen = argv[i] + 11;
		else if (!strcmp(argv[i], "--show"))
			r->show = true;
		else
			break;
	}
	if (argc == i || !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
		command_help_print(cmd);
		rc = argc == i ? EXIT_USAGE : EXIT_OK;
	} else if (!find_compiler(r, chosen) || !find_library(r)) {
		rc = EXIT_FAILED;
	} else {
		rc = compiler_run_plan(r, argc - i, argv + i);
	}
	free(r);
	return rc;
}

/* For the help only: all other arguments are the compiler's, so these are parsed by hand. */
static const struct opt options[] = {
	{ .name = "compiler",
	  .arg = "NAME",
	  .help = "the compiler to use (first; else from the environment, or cc, c++)" },
	{ .name = "show", .help = "print the commands instead of running them (first)" },
	{ .name = NULL },
};

static const char details[] =
	"All else is the compiler's.  It stands where CC and CXX stand:\n"
	"  make CC='corotracer mem cc' CXX='corotracer mem c++'\n"
	"  CC='corotracer mem cc' cmake -B build      CC='corotracer mem cc' ./configure\n"
	"COROTRACER_CC and COROTRACER_CXX name the real compilers (gcc 12 or later, clang 14 or\n"
	"later).  Programs get our runtime instead of ThreadSanitizer's; run them with\n"
	"'corotracer mem run', or alone, with CACHERAY_OPTIONS=tracefile=FILE.\n";

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
	.args = "[OPTIONS] COMPILER ARGUMENTS ...",
	.starts_program = true,
	.summary = "compile C so that the program's memory accesses can be traced",
	.details = details,
	.opts = options,
	.run = run_cc,
};

const struct command command_mem_cxx = {
	.name = "mem c++",
	.instrument = "memory",
	.args = "[OPTIONS] COMPILER ARGUMENTS ...",
	.starts_program = true,
	.summary = "the same for C++",
	.details = details,
	.opts = options,
	.run = run_cxx,
};
