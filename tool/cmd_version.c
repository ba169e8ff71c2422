/* SPDX-License-Identifier: MIT */
/* cmd_version.c - corotracer version: the version, and the libraries it was built with. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <jansson.h>
#include <zlib.h>

#include <corotracer/ctp.h>
#include <corotracer/version.h>

#include "base/json_writer.h"
#include "cmd.h"
#include "export/sink.h"
#include "json_file.h"
#include "page/page.h"
#include "collect/kernel_calls.h"
#include "serve/server.h"
#include "top/top.h"

struct version_options {
	bool json;
};

static const struct opt opts[] = {
	{ 0, "json", "[=FILE]", "print one JSON object", OPT_FLAG(struct version_options, json) },
	{ .name = NULL },
};

static void version_json_kernel(struct json_writer *w, const char *release)
{
	size_t i;

	jw_key(w, "kernel");
	jw_object_begin(w);
	jw_field_string(w, "release", release);
	jw_key(w, "missing");
	jw_array_begin(w);
	for (i = 0; kernel_calls[i].name; i++) {
		if (!kernel_calls[i].exists())
			jw_string(w, kernel_calls[i].name);
	}
	jw_array_end(w);
	jw_object_end(w);
}

/* What this kernel does not have, each with the version that has it first. */
static void version_text_kernel(const char *release)
{
	bool any = false;
	size_t i;

	for (i = 0; kernel_calls[i].name; i++) {
		if (kernel_calls[i].exists())
			continue;
		if (!any)
			printf("kernel %s, without", release);
		printf("%s %s (Linux %s)", any ? "," : "", kernel_calls[i].name,
		       kernel_calls[i].since);
		any = true;
	}
	if (any)
		puts(": see 'Older kernels' in docs/containers.md");
}

/* Calls @each with every library that the build left out: "NAME (what it is for)". */
static void version_each_without(void (*each)(struct json_writer *w, const char *text, int size),
				 struct json_writer *w)
{
	const char *at = COROTRACER_WITHOUT;
	size_t size;

	for (; *at; at += size + (at[size] != '\0')) {
		size = strcspn(at, "\n");
		each(w, at, (int)size);
	}
}

static void version_json_library(struct json_writer *w, const char *text, int size)
{
	char line[160];

	snprintf(line, sizeof(line), "%.*s", size, text);
	line[strcspn(line, " ")] = '\0';
	jw_string(w, line);
}

static void version_text_library(struct json_writer *w, const char *text, int size)
{
	(void)w;
	printf("built without %.*s\n", size, text);
}

static int version_print_json(const char *arch, const char *release)
{
	struct json_writer w;
	struct html_page page;
	struct err err;
	size_t i;

	jw_init_file(&w, json_file_stream(stdout));
	jw_object_begin(&w);
	jw_field_string(&w, "version", COROTRACER_VERSION);
	jw_field_u64(&w, "ctp", CTP_VERSION);
	jw_field_u64(&w, "ctp_extension", CTP_EXT_VERSION);
	jw_field_string(&w, "arch", arch);
	version_json_kernel(&w, release);
	jw_key(&w, "libraries");
	jw_object_begin(&w);
	jw_field_string(&w, "jansson", JANSSON_VERSION);
	jw_field_string(&w, "ncurses", top_library());
	jw_field_string(&w, "libmicrohttpd", server_library());
	jw_field_string(&w, "zlib", ZLIB_VERSION);
	jw_object_end(&w);
	jw_key(&w, "without");
	jw_array_begin(&w);
	version_each_without(version_json_library, &w);
	jw_array_end(&w);
	jw_field_bool(&w, "page", page_embedded("index", &page, &err) == 0);
	jw_key(&w, "exports");
	jw_array_begin(&w);
	for (i = 0; sinks[i]; i++) {
		if (sinks[i]->open)
			jw_string(&w, sinks[i]->name);
	}
	jw_array_end(&w);
	jw_object_end(&w);
	jw_newline(&w);
	return jw_release(&w) ? EXIT_FAILED : EXIT_OK;
}

static int run_version(int argc, char **argv)
{
	struct version_options o = { 0 };
	int first, status = opts_parse(&command_version, &o, argc, argv, &first);
	struct utsname uts;

	if (status != OPTS_PARSED)
		return status;
	uname(&uts);
	if (o.json)
		return version_print_json(uts.machine, uts.release);
	printf("corotracer %s (cTP %u, %s)\n", COROTRACER_VERSION, CTP_VERSION, uts.machine);
	version_each_without(version_text_library, NULL);
	version_text_kernel(uts.release);
	return EXIT_OK;
}

const struct command command_version = {
	.name = "version",
	.instrument = "about the tool",
	.args = "[--json]",
	.summary = "print the version and what it was built with",
	.opts = opts,
	.run = run_version,
};
