/* SPDX-License-Identifier: MIT */
/*
 * cmd_snapshot.c - corotracer snapshot: have a running flight recorder write its trace.
 *
 * What a collector answers is JSON of its own making, in a socket that only this user can
 * have made; it is read as a stranger's all the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cmd.h"
#include "ctp/control.h"
#include "ctp/find.h"

/* A collector looks up every second at least; one that does not is stopped, or stuck. */
#define STATUS_TIMEOUT_MS 10000

struct running {
	char *region;
	json_t *status; /* NULL: it did not answer */
	struct err err; /* why not */
};

struct all_running {
	struct running *at;
	size_t nr;
};

struct request {
	const char *region; /* --shm */
	const char *output;
	unsigned long long pid; /* 0: any */
	bool list, json;
};

/* ---- who is there ------------------------------------------------------------- */

static uint64_t number_of(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static json_t *ask(const char *region, const char *request, int timeout_ms, struct err *err)
{
	char *answer = NULL;
	json_t *object;

	if (control_ask(region, request, timeout_ms, &answer, err) < 0)
		return NULL;
	object = json_loads(answer, 0, NULL);
	if (!json_is_object(object)) {
		json_decref(object);
		object = NULL;
		err_set(err, -EPROTO, "the collector of '%s' answers what we do not understand",
			region);
		err_hint(err, "use the same version of corotracer for both");
	}
	free(answer);
	return object;
}

static int add(struct all_running *all, const char *region)
{
	struct running *at = reallocarray(all->at, all->nr + 1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	all->at = at;
	at = &all->at[all->nr];
	memset(at, 0, sizeof(*at));
	at->region = strdup(region);
	if (!at->region)
		return -ENOMEM;
	at->status = ask(region, "status", STATUS_TIMEOUT_MS, &at->err);
	all->nr++;
	return 0;
}

static void release(struct all_running *all)
{
	size_t i;

	for (i = 0; i < all->nr; i++) {
		free(all->at[i].region);
		json_decref(all->at[i].status);
	}
	free(all->at);
}

/* @left: regions that nobody has any more. */
static int look(const struct request *req, struct all_running *all, size_t *left, struct err *err)
{
	struct found found;
	size_t i;
	int rc = 0;

	*left = 0;
	if (req->region)
		return add(all, req->region) < 0 ? err_set(err, -ENOMEM, "no memory") : 0;
	if (find_regions(&found, err) < 0)
		return err->code;
	for (i = 0; i < found.nr && rc == 0; i++) {
		if (found.at[i].live)
			rc = add(all, found.at[i].path);
		else
			++*left;
	}
	found_release(&found);
	return rc < 0 ? err_set(err, rc, "no memory") : 0;
}

static bool traces(const struct running *r, unsigned long long pid)
{
	const json_t *pids = json_object_get(r->status, "pids");
	size_t i;

	if (number_of(r->status, "pid") == pid)
		return true;
	for (i = 0; i < json_array_size(pids); i++) {
		if ((unsigned long long)json_integer_value(json_array_get(pids, i)) == pid)
			return true;
	}
	return false;
}

/* ---- the list ------------------------------------------------------------------ */

static void print_command(FILE *out, const json_t *status)
{
	const json_t *words = json_object_get(status, "command");
	size_t i;

	if (!json_array_size(words))
		fputs("(collect)", out);
	for (i = 0; i < json_array_size(words); i++) {
		if (i)
			fputc(' ', out);
		text_put_word(out, json_string_value(json_array_get(words, i))
					   ? json_string_value(json_array_get(words, i))
					   : "");
	}
}

static const char *since(char buf[TEXT_SIZE], const json_t *status)
{
	time_t at = (time_t)(number_of(status, "since_ns") / 1000000000u);
	struct tm tm;

	if (!localtime_r(&at, &tm) || !strftime(buf, TEXT_SIZE, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(buf, TEXT_SIZE, "?");
	return buf;
}

static const char *recorder(char buf[TEXT_SIZE], const json_t *status)
{
	uint64_t size = number_of(status, "recorder_size");

	if (!size)
		snprintf(buf, TEXT_SIZE, "none");
	else if (size >= 10u << 20)
		snprintf(buf, TEXT_SIZE, "%llu MiB", (unsigned long long)(size >> 20));
	else
		snprintf(buf, TEXT_SIZE, "%llu KiB", (unsigned long long)(size >> 10));
	return buf;
}

static void print_list(FILE *out, const struct all_running *all)
{
	char a[TEXT_SIZE], b[TEXT_SIZE], c[TEXT_SIZE], d[TEXT_SIZE];
	size_t i;

	fprintf(out, "%8s  %-19s  %10s  %14s  %8s  %s\n", "PID", "SINCE", "COROUTINES", "EVENTS",
		"RECORDER", "COMMAND");
	for (i = 0; i < all->nr; i++) {
		const json_t *s = all->at[i].status;

		if (!s) {
			fprintf(out, "%8s  %s\n", "?", all->at[i].err.text);
			continue;
		}
		fprintf(out, "%8llu  %-19s  %10s  %14s  %8s  ",
			(unsigned long long)number_of(s, "pid"), since(a, s),
			text_count(b, number_of(s, "coroutines")),
			text_count(c, number_of(s, "written")), recorder(d, s));
		print_command(out, s);
		fputc('\n', out);
	}
}

/* As they answered, and where they are. */
static int print_list_json(const struct all_running *all)
{
	json_t *list = json_array();
	size_t i;
	int rc;

	for (i = 0; list && i < all->nr; i++) {
		json_t *one = all->at[i].status ? json_deep_copy(all->at[i].status) : json_object();

		json_object_set_new(one, "region", json_string(all->at[i].region));
		if (!all->at[i].status)
			json_object_set_new(one, "error", json_string(all->at[i].err.text));
		json_array_append_new(list, one);
	}
	rc = list ? json_dumpf(list, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER) : -1;
	json_decref(list);
	putchar('\n');
	return rc < 0 || fflush(stdout) != 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- which one ------------------------------------------------------------------ */

static int no_good(bool json, const struct err *err)
{
	struct json_writer w;

	if (!json) {
		say_error("snapshot", err);
		return EXIT_FAILED;
	}
	jw_init_file(&w, stdout);
	jw_object_begin(&w);
	jw_field_string(&w, "error", err->text);
	jw_field_string(&w, "hint", err->hint[0] ? err->hint : NULL);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
	return EXIT_FAILED;
}

static void nobody(const struct request *req, const struct all_running *all, size_t left,
		   struct err *err)
{
	if (req->pid && all->nr)
		err_set(err, -ESRCH, "no collector of yours has pid %llu, or traces it", req->pid);
	else
		err_set(err, -ESRCH, "no collector of yours is running");
	if (all->nr)
		err_hint(err, "'corotracer snapshot -l' lists those that are");
	else if (left)
		err_hint(err, "%zu left a region behind: see 'corotracer recover'", left);
	else
		err_hint(err,
			 "start one: corotracer run --flight-recorder 64M -- ./your_program; one "
			 "with a region of its own place is named with --shm");
}

/* The one that is meant, or NULL and why. */
static const struct running *choose(const struct request *req, const struct all_running *all,
				    size_t left, struct err *err)
{
	const struct running *chosen = NULL, *able = NULL;
	size_t i, nr = 0, nr_able = 0;

	for (i = 0; i < all->nr; i++) {
		if (req->pid && !traces(&all->at[i], req->pid))
			continue;
		chosen = &all->at[i];
		nr++;
		if (number_of(all->at[i].status, "recorder_size")) {
			able = &all->at[i];
			nr_able++;
		}
	}
	if (nr > 1 && nr_able == 1)
		return able;
	if (nr == 1)
		return chosen;
	if (!nr) {
		nobody(req, all, left, err);
		return NULL;
	}
	err_set(err, -EBUSY, "%zu collectors are running", nr);
	err_hint(err, "choose one with -p PID, its own or that of a program it traces");
	if (!req->json)
		print_list(stderr, all);
	return NULL;
}

/* ---- the snapshot ------------------------------------------------------------------ */

/* "snapshot /where/it/goes"; to be freed.  NULL and why. */
static char *request_line(const char *output, struct err *err)
{
	char *cwd = NULL, *line = NULL;
	int rc;

	if (!output)
		return strdup("snapshot");
	if (strchr(output, '\n') || strlen(output) > CONTROL_LINE_MAX / 2) {
		err_set(err, -EINVAL, "no such name can be sent to a collector");
		return NULL;
	}
	if (output[0] != '/')
		cwd = getcwd(NULL, 0);
	rc = asprintf(&line, "snapshot %s%s%s", cwd ? cwd : "", cwd ? "/" : "", output);
	free(cwd);
	return rc < 0 ? NULL : line;
}

static void print_snapshot(const struct running *r, const json_t *s)
{
	char a[TEXT_SIZE], b[TEXT_SIZE];

	fputs("snapshot of ", stdout);
	print_command(stdout, r->status);
	printf(", pid %llu -> ", (unsigned long long)number_of(s, "pid"));
	text_put(stdout, text_of(s, "trace"));
	printf("\n  %s event%s, %s older ones forgotten\n",
	       text_count(a, number_of(s, "collected")), number_of(s, "collected") == 1 ? "" : "s",
	       text_count(b, number_of(s, "forgotten")));
	printf("  %s coroutine%s there\n", text_count(a, number_of(s, "coroutines")),
	       number_of(s, "coroutines") == 1 ? " is" : "s are");
	if (number_of(s, "lost"))
		printf("  lost: %s of %s written\n", text_count(a, number_of(s, "lost")),
		       text_count(b, number_of(s, "written")));
	else
		printf("  lost: none of %s written\n", text_count(b, number_of(s, "written")));
}

static int take(const struct request *req, const struct running *r)
{
	struct err err = { 0 };
	char *line = request_line(req->output, &err);
	json_t *answer;
	bool failed;

	if (!line && !err.code)
		err_set(&err, -ENOMEM, "no memory");
	answer = line && r->status ? ask(r->region, line, -1, &err) : NULL;
	free(line);
	if (!answer)
		return no_good(req->json, err.code ? &err : &r->err);
	failed = json_object_get(answer, "error") != NULL;
	if (req->json) {
		json_dumpf(answer, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
		putchar('\n');
	} else if (failed) {
		err_set(&err, -EIO, "%s", text_of(answer, "error"));
		if (*text_of(answer, "hint"))
			err_hint(&err, "%s", text_of(answer, "hint"));
		say_error("snapshot", &err);
	} else {
		print_snapshot(r, answer);
	}
	json_decref(answer);
	return failed || fflush(stdout) != 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- the command ------------------------------------------------------------------- */

static int snapshot(const struct request *req)
{
	struct all_running all = { 0 };
	const struct running *chosen;
	struct err err = { 0 };
	size_t left;
	int status;

	if (look(req, &all, &left, &err) < 0) {
		status = no_good(req->json, &err);
	} else if (req->list && req->json) {
		status = print_list_json(&all);
	} else if (req->list && all.nr) {
		print_list(stdout, &all);
		status = fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED;
	} else {
		chosen = choose(req, &all, left, &err);
		status = chosen ? take(req, chosen) : no_good(req->json, &err);
	}
	release(&all);
	return status;
}

static const struct opt opts[] = {
	{ 'p', "pid", "PID", "of the collector, or of a program that it traces" },
	{ 'o', "output", "FILE", "write it there, not where the collector would" },
	{ 'l', "list", NULL, "say which collectors are running, and no more" },
	{ 0, "shm", "PATH", "of the collector with this region" },
	{ 0, "json", NULL, "as one JSON object; with -l, an array of them" },
	{ 0, NULL, NULL, NULL },
};

/* False after saying what is wrong with it. */
static bool set(struct request *req, const struct opt *opt, const char *value)
{
	if (opt->arg && !*value) {
		say("snapshot", "an empty name is no good for --%s", opt->name);
		return false;
	}
	if (!strcmp(opt->name, "pid"))
		return opt_number("snapshot", "-p", value, 1, INT32_MAX, &req->pid);
	if (!strcmp(opt->name, "output"))
		req->output = value;
	else if (!strcmp(opt->name, "shm"))
		req->region = value;
	else if (!strcmp(opt->name, "list"))
		req->list = true;
	else
		req->json = true;
	return true;
}

static int run_snapshot(int argc, char **argv)
{
	struct opt_walk walk = { 0 };
	struct request req = { 0 };
	const char *value;
	int o, first;

	while ((o = opt_next(&command_snapshot, &walk, argc, argv, &value, &first)) >= 0) {
		if (!set(&req, &opts[o], value))
			return EXIT_USAGE;
	}
	if (o != OPT_END)
		return o == OPT_HELP ? EXIT_OK : EXIT_USAGE;
	if (first < argc) {
		say("snapshot", "'%s' is one word too many", argv[first]);
		fputs("hint: a process is named with -p PID\n", stderr);
		return EXIT_USAGE;
	}
	return snapshot(&req);
}

const struct command command_snapshot = {
	.name = "snapshot",
	.instrument = "coroutines",
	.args = "[-p PID] [-o FILE] [--json]",
	.summary = "write what a running flight recorder has, while it goes on",
	.details = "For collectors that were started with --flight-recorder.  The program is not\n"
		   "stopped.  Each snapshot is a whole trace; the one before is kept as FILE.old.\n"
		   "SIGUSR2 to the collector does the same.\n",
	.opts = opts,
	.run = run_snapshot,
};
