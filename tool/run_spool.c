/* SPDX-License-Identifier: MIT */
/* run_spool.c - choose the trace that is shipped: the user's file, or a spool of its own. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "cmd.h"
#include "run_shipper.h"

/* mkdir -p, for this user only. */
static int spool_make_folder(char *path, struct err *err)
{
	char *at = path;

	do {
		at = strchr(at + 1, '/');
		if (at)
			*at = 0;
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return err_errno(err, "cannot make directory '%s'", path);
		if (at)
			*at = '/';
	} while (at);
	return 0;
}

/* $XDG_STATE_HOME/corotracer/spool, or below ~/.local/state. */
static int spool_folder(const struct shipping *s, char *path, size_t size, struct err *err)
{
	const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	int nr;

	if (s->options.spool)
		nr = snprintf(path, size, "%s", s->options.spool);
	else if (state && state[0] == '/')
		nr = snprintf(path, size, "%s/corotracer/spool", state);
	else if (home && home[0] == '/')
		nr = snprintf(path, size, "%s/.local/state/corotracer/spool", home);
	else {
		err_set(err, -ENOENT, "cannot find a directory for the spool: HOME is not set");
		err_hint(err, "name one with --spool DIR");
		return err->code;
	}
	if ((size_t)nr >= size)
		return err_set(err, -ENAMETOOLONG, "the path of the spool is too long");
	if (spool_make_folder(path, err) < 0)
		err_hint(err, "name another directory with --spool DIR");
	return err->code;
}

/* A name that no other run has: SERVICE-SECONDS-PID.ct. */
static bool spool_choose(struct shipping *s, const char *program)
{
	char name[SHIP_LABEL_SIZE], folder[PATH_MAX];
	struct err err = { 0 };

	ship_plain_name(s->labels.service[0] ? s->labels.service : path_base(program), name, 64);
	if (spool_folder(s, folder, sizeof(folder), &err) == 0 &&
	    (size_t)snprintf(s->spool, sizeof(s->spool), "%s/%s-%lld-%d.ct", folder, name,
			     (long long)time(NULL), (int)getpid()) >= sizeof(s->spool))
		err_set(&err, -ENAMETOOLONG, "the path of the spool is too long");
	if (!err.code)
		return true;
	message_error(s->command, &err);
	return false;
}

static int spool_refuse(const struct shipping *s, const char *why, const char *hint)
{
	message_print(s->command, "%s", why);
	fprintf(stderr, "hint: %s\n", hint);
	return EXIT_USAGE;
}

static int shipping_choose_trace(struct shipping *s, const char **output, enum trace_format *format,
				 bool has_output, const char *program)
{
	enum trace_format is = *format == TRACE_FORMAT_AUTO ? trace_format_of(*output) : *format;

	if (has_output && (is != TRACE_FORMAT_CT || !strcmp(*output, "-")))
		return spool_refuse(s, "--ship needs a trace in the compact format, in a file",
				    !strcmp(s->command, "serve")
					    ? "'corotracer export ct -i TRACE -o FILE.ct' makes one"
					    : "name it with -o FILE.ct, or leave out -o: then only "
					      "the spool is written");
	if (has_output && s->options.spool)
		return spool_refuse(s, "--spool cannot be used with -o: that file is the spool",
				    "leave out one of them");
	if (!has_output && s->is_flight)
		return spool_refuse(s, "--ship of a flight recorder needs a name for snapshots",
				    "name it with -o FILE.ct");
	if (!has_output) {
		if (!spool_choose(s, program))
			return EXIT_FAILED;
		*output = s->spool;
		*format = TRACE_FORMAT_CT;
		s->is_spool = true;
	}
	s->trace = *output;
	return -1;
}

int shipping_prepare(struct shipping *s, const char **output, enum trace_format *format,
		     bool has_output, const char *program)
{
	struct ship_options *o = &s->options;
	int status = EXIT_USAGE;

	s->path_fd = s->result_fd = -1;
	if (!o->url)
		return -1;
	if (!o->has_wait)
		o->wait_ns = SHIP_WAIT_DEFAULT_NS;
	if (!o->spool_size)
		o->spool_size = SHIP_SPOOL_SIZE;
	if (!ship_options_labels(s->command, o, &s->labels))
		return EXIT_USAGE;
	status = shipping_choose_trace(s, output, format, has_output, program);
	if (status >= 0)
		return status;
	s->transport = ship_options_receiver(s->command, o, &status);
	if (!s->transport)
		return status;
	snprintf(s->receiver, sizeof(s->receiver), "%s", s->transport->name);
	return -1;
}
