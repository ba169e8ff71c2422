/* SPDX-License-Identifier: MIT */
/* running_list.c - print the running collectors, for the user to choose one. */
#include "running_list.h"

#include <errno.h>
#include <time.h>

#include "base/text.h"

void running_print_command(FILE *out, const json_t *status)
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

static const char *running_since_text(char buf[TEXT_SIZE], const json_t *status)
{
	time_t at = (time_t)(running_number(status, "since_ns") / 1000000000u);
	struct tm tm;

	if (!localtime_r(&at, &tm) || !strftime(buf, TEXT_SIZE, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(buf, TEXT_SIZE, "?");
	return buf;
}

static const char *running_recorder_text(char buf[TEXT_SIZE], const json_t *status)
{
	uint64_t size = running_number(status, "recorder_size");

	if (!size)
		snprintf(buf, TEXT_SIZE, "none");
	else if (size >= 10u << 20)
		snprintf(buf, TEXT_SIZE, "%llu MiB", (unsigned long long)(size >> 20));
	else
		snprintf(buf, TEXT_SIZE, "%llu KiB", (unsigned long long)(size >> 10));
	return buf;
}

void running_print(FILE *out, const struct all_running *all)
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
			(unsigned long long)running_number(s, "pid"), running_since_text(a, s),
			text_count(b, running_number(s, "coroutines")),
			text_count(c, running_number(s, "written")), running_recorder_text(d, s));
		running_print_command(out, s);
		fputc('\n', out);
	}
}

void running_nobody(const struct all_running *all, unsigned long long pid, size_t left,
		    struct err *err)
{
	if (pid && all->nr)
		err_set(err, -ESRCH, "no collector of yours has pid %llu, or traces it", pid);
	else
		err_set(err, -ESRCH, "no collector of yours is running");
	if (all->nr)
		err_hint(err, "'corotracer snapshot -l' lists those that are");
	else if (left)
		err_hint(err, "%zu left a region behind: see 'corotracer recover'", left);
}
