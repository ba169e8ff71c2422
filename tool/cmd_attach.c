/* SPDX-License-Identifier: MIT */
/* cmd_attach.c - corotracer attach: record a frame buffer of a running program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/printer.h"
#include "base/text.h"
#include "cmd.h"
#include "attach_options.h"
#include "frames/spec/frames_abi.h"
#include "frames/live/attach_session.h"
#include "frames_show.h"
#include "json_file.h"

struct attach_options {
	struct attach_config config;
	struct recording_info info;
	const char *file;
	char *made_name; /* from the buffer's name, if no file name is given */
	uint64_t resize;
	int verbose;
	bool list, json, quiet;
};

struct attach_session {
	const struct attach_options *request;
	struct attach attach;
	struct recording recording;
	struct recording_info info;
	bool live_line; /* stderr is a terminal: show progress */
	uint64_t shown_ns;
};

/* ---- output of frames ---------------------------------------------------- */

static void attach_wipe_line(struct attach_session *s)
{
	if (s->shown_ns)
		fputs("\r\033[K", stderr);
	s->shown_ns = 0;
}

static int attach_sink_begin(void *arg, struct err *err)
{
	struct attach_session *s = arg;

	s->info.clock = *attach_clock(&s->attach);
	return recording_begin(&s->recording, &s->attach.live.desc, &s->info, err);
}

static void attach_sink_frame(void *arg, uint64_t ticket, const uint8_t *image)
{
	struct attach_session *s = arg;

	recording_frame(&s->recording, ticket, image);
}

static void attach_sink_lost(void *arg, uint64_t nr)
{
	struct attach_session *s = arg;

	recording_mark(&s->recording, RECORDING_LOSS, nr, 0, 0, 0);
}

static void attach_sink_resized(void *arg, uint32_t from, uint32_t to)
{
	struct attach_session *s = arg;

	recording_mark(&s->recording, RECORDING_RESIZE, from, to, 0, 0);
}

static void attach_show_line(struct attach_session *s)
{
	uint64_t now = clock_now_ns();
	char frames[TEXT_SIZE], missed[TEXT_SIZE];

	if (!s->live_line || now - s->shown_ns < NS_PER_SEC / 4)
		return;
	s->shown_ns = now;
	fprintf(stderr, "\r\033[K%s frames, %s lost, %u slots (Ctrl-C ends)",
		text_count(frames, s->attach.stats.recorded),
		text_count(missed, s->attach.ring.missed), s->attach.stats.slots);
	fflush(stderr);
}

static int attach_sink_flush(void *arg, struct err *err)
{
	struct attach_session *s = arg;

	attach_show_line(s);
	return recording_flush(&s->recording, err);
}

static void attach_sink_talk(void *arg, int level, const char *text)
{
	struct attach_session *s = arg;

	if (level > s->request->verbose || (level == 0 && s->request->quiet))
		return;
	attach_wipe_line(s);
	message_print("attach", "%s", text);
}

/* ---- summary ------------------------------------------------------------- */

static const char *attach_end_name(enum attach_end end)
{
	static const char *const words[] = {
		[ATTACH_ASKED] = "asked",      [ATTACH_DURATION] = "duration",
		[ATTACH_COUNT] = "count",      [ATTACH_EXITED] = "program ended",
		[ATTACH_TAKEN] = "taken over", [ATTACH_FAILED] = "failed",
		[ATTACH_EXEC] = "exec",
	};

	return words[end];
}

/* Counters that the program could not open in any thread: their columns are empty. */
static void attach_print_unmeasured(struct printer *p, const struct attach *a)
{
	const struct counters *c = &a->config.counters;
	unsigned i;

	print_list(p, "unmeasured");
	for (i = 0; p->is_json && i < c->nr; i++) {
		if (a->stats.unmeasured >> i & 1)
			jw_string(&p->json, c->names[i]);
	}
	print_list_end(p);
}

static void attach_print_losses(struct printer *p, const struct attach_session *s)
{
	const struct attach_stats *st = &s->attach.stats;
	char nr[TEXT_SIZE], share[TEXT_SIZE];

	if (!st->lost)
		return;
	print_text(p, "  lost        %s%s", text_count(nr, st->lost),
		   text_share(share, st->lost, st->issued));
	if (st->dropped)
		print_text(p, ", %s of them given up by the program", text_count(nr, st->dropped));
	print_text(p, "\n");
	if (st->lost > st->dropped)
		print_text(p, "hint: a larger ring loses less: --size, %s\n",
			   s->attach.live.desc.resize
				   ? "or --auto-resize"
				   : "or 'option buffer resize on' and --auto-resize");
	else if (!s->attach.live.desc.multithread)
		print_text(p, "hint: if several threads save, its spec needs 'option runtime "
			      "multithread true'\n");
}

static void attach_print_program(struct printer *p, const struct attach_session *s)
{
	const struct attach_stats *st = &s->attach.stats;
	char took[TEXT_SIZE];

	print_text(p, "\n  program     process %d, ", (int)s->attach.live.target.pid);
	if (st->stops)
		print_text(p, "stopped %u times for %s in all", st->stops,
			   text_duration(took, st->stopped_ns));
	else
		print_text(p, "never stopped");
	print_text(p, "%s\n",
		   st->end == ATTACH_EXITED ? "; it has ended"
		   : st->end == ATTACH_EXEC ? "; it executes another program now"
					    : "");
}

static void attach_print_summary(const struct attach_session *s)
{
	const struct attach_stats *st = &s->attach.stats;
	const char *buffer = s->attach.live.desc.name;
	char took[TEXT_SIZE];
	struct printer p;

	printer_begin(&p, json_file_stream(stderr), s->request->json);
	print_string(&p, "buffer", buffer);
	print_integer(&p, "pid", NULL, s->attach.live.target.pid);
	print_string(&p, "file", s->request->file);
	print_string(&p, "end", attach_end_name(st->end));
	print_flag(&p, "attached", NULL, st->attached);
	print_flag(&p, "mapped", NULL, st->mapped);
	print_count(&p, "issued", NULL, st->issued);
	print_text(&p, "%s: ", s->request->file);
	print_count(&p, "recorded", "%s frames", st->recorded);
	print_text(&p, " of '%s' in %s, %s lost\n", buffer, text_duration(took, st->ran_ns),
		   st->lost ? "some" : "none");
	print_count(&p, "lost", NULL, st->lost);
	print_count(&p, "dropped", NULL, st->dropped);
	print_count(&p, "slots", "  ring        %s slots", st->slots);
	print_count(&p, "first_slots", NULL, st->first_slots);
	print_count(&p, "resizes", NULL, st->resizes);
	print_count(&p, "fullest", ", at most %s waiting", st->fullest);
	if (st->resizes)
		print_text(&p, ", resized %u times", st->resizes);
	print_count(&p, "polls", NULL, st->polls);
	print_count(&p, "threads", NULL, st->threads);
	print_count(&p, "ran_ns", NULL, st->ran_ns);
	print_count(&p, "stopped_ns", NULL, st->stopped_ns);
	print_count(&p, "stops", NULL, st->stops);
	print_flag(&p, "parked", NULL, st->parked);
	attach_print_unmeasured(&p, &s->attach);
	attach_print_program(&p, s);
	attach_print_losses(&p, s);
	printer_end(&p);
}

/* Warnings about counters and other irregularities of the program. */
static void attach_warn(const struct attach_session *s)
{
	const struct attach *a = &s->attach;
	const struct counters *c = &a->config.counters;
	unsigned i;

	if (!a->stats.attached && a->stats.end != ATTACH_FAILED)
		message_print("attach", "the program saved no frame while attached");
	if (a->stats.parked)
		message_print("attach",
			      "the program is of the existing tool: it keeps the ring, since "
			      "detaching could crash it");
	for (i = 0; i < c->nr && !a->live.desc.extended; i++) {
		if (a->stats.unmeasured >> i & 1)
			message_print(
				"attach", "counter '%s' was not measured: %s", c->names[i],
				a->adopted ? "the program keeps the counters that it opened for an "
					     "earlier collector"
					   : "the program could not open it");
	}
	if (!a->stats.counters_failed || !c->nr)
		return;
	message_print("attach", "the program could not open counter '%s': %s",
		      a->stats.counter_slot < c->nr ? c->names[a->stats.counter_slot] : "?",
		      a->stats.counter_error > 0 ? strerror(a->stats.counter_error)
						 : "no reason given");
	fputs("hint: readings that are missing for this reason are empty, not 0\n", stderr);
}

/* ---- recording ----------------------------------------------------------- */

static int attach_fill_info(struct attach_session *s, struct err *err)
{
	struct recording_info *info = &s->info;
	char name[32], date[64];
	time_t now = time(NULL);
	struct tm tm;
	unsigned i;

	*info = s->request->info;
	localtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S%z", &tm);
	info->date = strdup(date);
	info->comment = strdup(s->request->info.comment ? s->request->info.comment : "");
	info->program = strdup(target_name(s->request->config.pid, name));
	info->pid = s->request->config.pid;
	info->start_monotonic_ns = clock_now_ns();
	info->start_realtime_ns = monotonic_clock_ns(CLOCK_REALTIME);
	for (i = 0; i < s->request->config.counters.nr; i++)
		info->counters[i] = strdup(s->request->config.counters.names[i]);
	info->nr_counters = i;
	for (i = 0; i < info->nr_counters; i++) {
		if (!info->counters[i])
			return err_set(err, -ENOMEM, "no memory for the header");
	}
	if (!info->date || !info->comment || !info->program)
		return err_set(err, -ENOMEM, "no memory for the header");
	return 0;
}

/* Write the last mark, and the header with the final values. */
static int attach_finish_file(struct attach_session *s, struct err *err)
{
	const struct attach_stats *st = &s->attach.stats;
	int rc = 0;

	if (!s->attach.begun)
		rc = attach_sink_begin(s, err);
	if (!rc) {
		s->info.clock = *attach_clock(&s->attach);
		recording_mark(&s->recording, RECORDING_END, st->issued, st->recorded, st->lost,
			       st->dropped);
	}
	return recording_close(&s->recording, &s->info, err) < 0 ? err->code : rc;
}

static int attach_record(struct attach_session *s, struct err *err)
{
	struct err closing = { 0 };
	int rc = attach_start(&s->attach, err);

	if (!rc) {
		s->live_line = !s->request->verbose && !s->request->quiet && isatty(STDERR_FILENO);
		if (s->live_line) {
			fputs("waiting for the program's next frame (Ctrl-C ends)", stderr);
			s->shown_ns = 1;
		}
		rc = attach_run(&s->attach, err);
	} else {
		s->attach.stats.end = ATTACH_FAILED;
	}
	s->live_line = false;
	attach_wipe_line(s);
	attach_stop(&s->attach);
	if (rc < 0 && !s->attach.begun) {
		recording_abandon(&s->recording);
		return rc;
	}
	if (attach_finish_file(s, &closing) < 0 && !rc) {
		*err = closing;
		rc = closing.code;
	}
	return rc;
}

static int attach_open_and_record(struct attach_options *r)
{
	struct attach_session s = { .request = r };
	struct attach_config config = r->config;
	struct err err = { 0 };
	int rc;

	config.sink = (struct attach_sink){ &s,
					    attach_sink_begin,
					    attach_sink_frame,
					    attach_sink_lost,
					    attach_sink_resized,
					    attach_sink_flush,
					    attach_sink_talk };
	rc = attach_open(&s.attach, &config, &err);
	if (rc < 0) {
		message_error("attach", &err);
		return EXIT_FAILED;
	}
	if (r->verbose >= 3)
		show_layout(stderr, &s.attach.live.desc);
	if (!r->file && asprintf(&r->made_name, "%s.ppt", s.attach.live.desc.name) >= 0)
		r->file = r->made_name;
	rc = r->file ? recording_create(&s.recording, r->file, &err)
		     : err_set(&err, -ENOMEM, "no memory for a file name");
	if (!rc) {
		rc = attach_fill_info(&s, &err);
		if (rc < 0)
			recording_abandon(&s.recording);
		else
			rc = attach_record(&s, &err);
		if (rc < 0)
			message_error("attach", &err);
		else
			attach_warn(&s);
		if (r->json ? !rc || s.attach.begun : !rc && (!r->quiet || s.attach.stats.lost))
			attach_print_summary(&s);
	} else {
		message_error("attach", &err);
	}
	recording_info_release(&s.info);
	attach_release(&s.attach);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- the command line ---------------------------------------------------- */

static bool attach_read_comment(char **comment, const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;
	ssize_t got;
	int code;

	if (!file) {
		message_print("attach", "cannot open '%s': %s", path, strerror(errno));
		return false;
	}
	got = getdelim(&text, &size, '\0', file);
	code = ferror(file) ? errno : 0;
	fclose(file);
	if (code) {
		message_print("attach", "cannot read '%s': %s", path, strerror(code));
		free(text);
		return false;
	}
	if (got < 0) {
		free(text);
		text = strdup("");
	}
	*comment = text;
	return true;
}

bool attach_add_counters(void *counters, const struct opt_use *use)
{
	struct err err = { 0 };

	return counters_add(counters, use->value, &err) == 0 || opt_failed(use, &err);
}

/* Only the first of -d and -D counts. */
static bool attach_parse_comment(void *field, const struct opt_use *use)
{
	char **comment = field;

	if (!*comment)
		*comment = strdup(use->value);
	return true;
}

static bool attach_parse_comment_file(void *field, const struct opt_use *use)
{
	char **comment = field;

	return *comment || attach_read_comment(comment, use->value);
}

static const struct opt options[] = {
	OPT_ROW_PID(struct attach_options, config),
	OPT_ROW_BUFFER(struct attach_options, config),
	{ 'o', "output-file", "FILE", "recording (default NAME.ppt); - is standard output",
	  OPT_TEXT(struct attach_options, file) },
	{ 'l', "list-buffers", NULL, "list the buffers of the process and exit",
	  OPT_FLAG(struct attach_options, list) },
	OPT_ROW_COUNTER(struct attach_options, config,
			"up to three counters by libpfm4 name, or 'list'"),
	{ 'd', "desc", "TEXT", "comment to store in the recording",
	  OPT_CALL(struct attach_options, info.comment, attach_parse_comment) },
	{ 'D', "descfile", "FILE", "read the comment from a file",
	  OPT_CALL(struct attach_options, info.comment, attach_parse_comment_file) },
	{ 't', "time-offset", "HOURS", "hours that decode adds to all times",
	  OPT_REAL(struct attach_options, info.delta_s, -876000, 876000, 3600) },
	OPT_ROW_SIZE(struct attach_options, config,
		     "slots of the ring, rounded up to a power of two"),
	{ 0, "resize", "N", "resize the ring of the attached collector to N slots",
	  OPT_NUMBER(struct attach_options, resize, PPT_SLOTS_MIN, PPT_SLOTS_MAX) },
	OPT_ROW_AUTO_RESIZE(struct attach_options, config),
	OPT_ROW_DURATION(struct attach_options, config),
	OPT_ROW_COUNT(struct attach_options, config),
	OPT_ROW_FORCE(struct attach_options, config),
	{ 0, "json", "[=FILE]", "print the summary as one JSON object on stderr",
	  OPT_FLAG(struct attach_options, json) },
	{ 'q', "quiet", NULL, "print a summary only if something was lost",
	  OPT_FLAG(struct attach_options, quiet) },
	{ 'v', "verbose", NULL, "verbose; -vv: every poll; -vvv: buffer layout",
	  OPT_COUNT(struct attach_options, verbose) },
	{ .name = NULL },
};

static int attach_request_resize(const struct attach_options *r)
{
	struct err err = { 0 };

	if (attach_ask_resize(r->config.pid, r->config.buffer, (uint32_t)r->resize, &err) == 0)
		return EXIT_OK;
	message_error("attach", &err);
	return EXIT_FAILED;
}

static int attach_list_counters(void)
{
	struct err err = { 0 };

	if (counters_list(stdout, &err) == 0)
		return EXIT_OK;
	message_error("attach", &err);
	return EXIT_FAILED;
}

static int attach_start_request(struct attach_options *r)
{
	struct err err = { 0 };

	if (r->config.counters.nr == 1 && !strcmp(r->config.counters.names[0], "list"))
		return attach_list_counters();
	if (!r->config.pid)
		return opts_missing(&command_attach, "-p PID");
	if (r->list)
		return show_buffers("attach", r->config.pid, r->json);
	if (r->resize)
		return attach_request_resize(r);
	if (counters_resolve(&r->config.counters, geteuid() == 0, &err) < 0) {
		message_error("attach", &err);
		return EXIT_FAILED;
	}
	if (r->config.counters.warning[0])
		message_print("attach", "%s", r->config.counters.warning);
	if (r->file && !strcmp(r->file, "-") && isatty(STDOUT_FILENO)) {
		message_print("attach", "refusing to write a binary recording to a terminal");
		fputs("hint: -o FILE, or 'corotracer monitor' to watch\n", stderr);
		return EXIT_FAILED;
	}
	return attach_open_and_record(r);
}

static int run_attach(int argc, char **argv)
{
	struct attach_options r = { 0 };
	int first, status = opts_parse(&command_attach, &r, argc, argv, &first);

	if (status == OPTS_PARSED)
		status = first < argc ? opts_unexpected(&command_attach, argv[first])
				      : attach_start_request(&r);
	counters_release(&r.config.counters);
	free(r.info.comment);
	free(r.made_name);
	return status;
}

const struct command command_attach = {
	.name = "attach",
	.instrument = "frames",
	.args = "-p PID [-b BUFFER] [-o FILE] [OPTIONS]",
	.summary = "record the frames of a running program, until Ctrl-C",
	.details = "The program is not stopped.  SIGUSR1 doubles a resizable ring.\n",
	.opts = options,
	.run = run_attach,
};
