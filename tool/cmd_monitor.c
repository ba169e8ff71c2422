/* SPDX-License-Identifier: MIT */
/*
 * cmd_monitor.c - corotracer monitor: watch the frames of a running program.
 *
 * Shows a table of rates and percentiles that is redrawn every second, or writes JSON lines, one
 * per frame, as the frames arrive.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "attach_options.h"
#include "base/monotonic.h"
#include "base/fmt.h"
#include "base/io.h"
#include "base/text.h"
#include "cmd.h"
#include "frames/spec/frames_abi.h"
#include "frames/live/attach_session.h"
#include "frames/file/frame_columns.h"
#include "frames/file/slot_shares.h"
#include "frames/file/percentiles.h"

struct monitor_options {
	struct attach_config config;
	const char *frame;
	uint64_t interval_ns;
	bool json;
};

/* State of one frame type. */
struct monitor_view {
	struct row_plan plan;
	struct spread *spreads; /* per cell with numbers */
	struct shares *shares;  /* per cell with other values */
	uint64_t frames;        /* since the last table */
	uint64_t total;
};

struct monitor {
	const struct monitor_options *request;
	struct attach attach;
	struct recording_info info;
	struct monitor_view *views; /* per type; NULL until the program has attached */
	size_t nr_views;
	int only; /* frame type; -1: all */
	char *buf;
	size_t used, size;
	uint64_t drawn_ns, lost;
	bool terminal;
	int write_error;
};

/* ---- frames -------------------------------------------------------------- */

static int monitor_find_type(const struct monitor *m, struct err *err)
{
	const struct desc *d = &m->attach.live.desc;
	size_t i;

	if (!m->request->frame)
		return -1;
	for (i = 0; i < d->nr_frames; i++) {
		if (!strcmp(d->frames[i].name, m->request->frame))
			return (int)i;
	}
	err_set(err, -ENOENT, "buffer '%s' has no frames '%s'", d->name, m->request->frame);
	return -ENOENT;
}

static int make_views(struct monitor *m, struct err *err)
{
	const struct desc *d = &m->attach.live.desc;
	size_t i, room = 0;

	m->views = calloc(d->nr_frames, sizeof(*m->views));
	for (i = 0; m->views && i < d->nr_frames; i++) {
		struct monitor_view *v = &m->views[i];

		if (row_plan_init(&v->plan, d, (unsigned)i, &m->info) < 0)
			break;
		m->nr_views++;
		if (v->plan.json_max > room)
			room = v->plan.json_max;
		if (m->request->json)
			continue;
		v->spreads = calloc(v->plan.nr_cells, sizeof(*v->spreads));
		v->shares = calloc(v->plan.nr_cells, sizeof(*v->shares));
		if (!v->spreads || !v->shares)
			break;
	}
	m->size = (256u << 10) + room + 64;
	m->buf = malloc(m->size);
	if (!m->views || i < d->nr_frames || !m->buf)
		return err_set(err, -ENOMEM, "no memory for the frames' columns");
	return 0;
}

static void release_views(struct monitor *m)
{
	size_t i, c;

	for (i = 0; i < m->nr_views; i++) {
		struct monitor_view *v = &m->views[i];

		for (c = 0; c < v->plan.nr_cells; c++) {
			if (v->spreads)
				spread_release(&v->spreads[c]);
			if (v->shares)
				shares_release(&v->shares[c]);
		}
		row_plan_release(&v->plan);
		free(v->spreads);
		free(v->shares);
	}
	free(m->views);
	free(m->buf);
}

static void write_lines(struct monitor *m)
{
	size_t at = 0;

	while (at < m->used && !m->write_error) {
		ssize_t put = io_write(STDOUT_FILENO, m->buf + at, m->used - at);

		if (put <= 0)
			m->write_error = put < 0 ? (int)put : -EIO;
		else
			at += (size_t)put;
	}
	m->used = 0;
}

static bool monitor_number_of(const struct cell *v, double *out)
{
	switch (v->kind) {
	case CELL_SIGNED:
		*out = (double)v->i;
		return true;
	case CELL_UNSIGNED:
		*out = (double)v->u;
		return true;
	case CELL_FLOAT:
		*out = (double)v->f;
		return isfinite(v->f);
	case CELL_DOUBLE:
		*out = v->d;
		return isfinite(v->d);
	default:
		return false;
	}
}

/* Enums, booleans and strings have no order: the table shows the frequency of each value. */
static bool has_shares(const struct row_cell *c)
{
	return c->field->type == DESC_STRING || c->field->type == DESC_ENUM ||
	       c->field->type == DESC_BOOL;
}

/* Timestamps only increase: only differences between them are shown. */
static bool is_interesting(const struct row_cell *c)
{
	if (!c->field)
		return false;
	if (c->start || has_shares(c))
		return true;
	return c->field->role == DESC_PLAIN && c->field->type != DESC_TIME &&
	       c->field->type != DESC_TICKS && c->field->type != DESC_COUNTER;
}

/* An enum value without a name is counted by its number. */
static int count_share(struct shares *s, const struct cell *v)
{
	char text[TEXT_SIZE];

	if (v->kind == CELL_TEXT)
		return shares_add(s, v->text, v->size);
	if (v->kind == CELL_BOOL)
		return shares_add(s, v->u ? "true" : "false", v->u ? 4 : 5);
	if (v->kind != CELL_SIGNED)
		return 0;
	snprintf(text, sizeof(text), "%lld", (long long)v->i);
	return shares_add(s, text, strlen(text));
}

static int count_values(struct monitor_view *v, const uint8_t *image)
{
	struct cell value;
	double number;
	size_t c;
	uint32_t i;
	int rc = 0;

	for (c = 0; c < v->plan.nr_cells; c++) {
		const struct row_cell *cell = &v->plan.cells[c];

		for (i = 0; is_interesting(cell) && i < cell->count; i++) {
			row_get(&v->plan, cell, i, image, 0, &value);
			if (has_shares(cell))
				rc |= count_share(&v->shares[c], &value);
			else if (monitor_number_of(&value, &number))
				rc |= spread_add(&v->spreads[c], number);
		}
	}
	return rc ? -ENOMEM : 0;
}

static void monitor_sink_frame(void *arg, uint64_t ticket, const uint8_t *image)
{
	struct monitor *m = arg;
	uint32_t type = 1;
	struct monitor_view *v;

	if (m->nr_views > 1)
		memcpy(&type, image + 4, sizeof(type));
	if (!type || type > m->nr_views || (m->only >= 0 && type != (unsigned)m->only + 1))
		return;
	v = &m->views[type - 1];
	v->frames++;
	v->total++;
	if (!m->request->json) {
		if (count_values(v, image) < 0 && !m->write_error)
			m->write_error = -ENOMEM;
		return;
	}
	if (m->used + v->plan.json_max + 64 > m->size)
		write_lines(m);
	m->used = (size_t)(row_jsonl(&v->plan, image, ticket, m->buf + m->used) - m->buf);
}

static void monitor_sink_lost(void *arg, uint64_t nr)
{
	struct monitor *m = arg;

	m->lost += nr;
}

/* ---- the table ----------------------------------------------------------- */

/* Print a value in its shortest readable form. */
static void monitor_put_value(const struct row_cell *c, double value)
{
	char text[TEXT_SIZE];

	if (c->start && (c->field->type == DESC_TIME || c->field->type == DESC_TICKS)) {
		if (value < 0)
			snprintf(text, sizeof(text), "%.0f ns", value);
		else
			text_duration(text, (uint64_t)value);
	} else if (value == floor(value) && fabs(value) < 1e9) {
		snprintf(text, sizeof(text), "%.0f", value);
	} else {
		snprintf(text, sizeof(text), "%.6g", value);
	}
	printf(" %12s", text);
}

/* One width for all tables, so that the columns align. */
static int name_width(const struct monitor *m)
{
	int width = 16;
	size_t i, c;

	for (i = 0; i < m->nr_views; i++) {
		const struct row_plan *p = &m->views[i].plan;

		for (c = 0; c < p->nr_cells; c++) {
			int len = text_width(p->cells[c].name);

			if (is_interesting(&p->cells[c]) && len > width)
				width = len < 40 ? len : 40;
		}
	}
	return width;
}

#define SHARES_SHOWN 6
#define SHARE_WIDTH  24

static void put_share(const char *text, uint64_t nr, const struct shares *s, bool first)
{
	fputs(first ? " " : ", ", stdout);
	if (*text)
		text_put_short(stdout, text, SHARE_WIDTH);
	else
		fputs("(empty)", stdout);
	printf(" %.1f %%", 100.0 * (double)nr / (double)s->nr);
}

static void draw_shares(const struct shares *s)
{
	struct share top[SHARES_SHOWN];
	size_t i, nr = shares_top(s, top, SHARES_SHOWN), different = shares_different(s);
	uint64_t rest = s->nr;
	char text[TEXT_SIZE], others[TEXT_SIZE * 2];

	for (i = 0; i < nr; i++) {
		put_share(top[i].text, top[i].nr, s, !i);
		rest -= top[i].nr;
	}
	if (!rest)
		return;
	snprintf(others, sizeof(others), "%s%s others", s->others ? "more than " : "",
		 text_count(text, different - nr));
	put_share(others, rest, s, !nr);
}

static void draw_spread(const struct row_cell *cell, const struct spread *s)
{
	monitor_put_value(cell, s->min);
	monitor_put_value(cell, spread_percentile(s, 0.5));
	monitor_put_value(cell, spread_percentile(s, 0.9));
	monitor_put_value(cell, spread_percentile(s, 0.99));
	monitor_put_value(cell, s->max);
}

/* Draw a line of the table; false if there was no value. */
static bool draw_cell(struct monitor_view *v, size_t c, int width)
{
	const struct row_cell *cell = &v->plan.cells[c];
	int left = width - text_width(cell->name);
	uint64_t nr;

	if (!is_interesting(cell))
		return false;
	nr = has_shares(cell) ? v->shares[c].nr : v->spreads[c].nr;
	if (!nr)
		return false;
	fputs("  ", stdout);
	text_put_short(stdout, cell->name, width);
	printf("%*s", left > 0 ? left : 0, "");
	if (has_shares(cell))
		draw_shares(&v->shares[c]);
	else
		draw_spread(cell, &v->spreads[c]);
	/* Some frames had no value in this cell. */
	if (nr < v->frames * cell->count)
		printf("  of %.1f %%", 100.0 * (double)nr / (double)(v->frames * cell->count));
	putchar('\n');
	return true;
}

static int draw_view(struct monitor_view *v, double seconds, int width, int room)
{
	char rate[TEXT_SIZE], total[TEXT_SIZE];
	int lines = 0;
	size_t c;

	if (room < 2)
		return 0;
	printf("%-*s %10s/s %12s in all\n", width + 2, v->plan.frame->name,
	       text_count(rate, (uint64_t)((double)v->frames / seconds + 0.5)),
	       text_count(total, v->total));
	lines++;
	for (c = 0; c < v->plan.nr_cells && lines < room; c++)
		lines += draw_cell(v, c, width);
	return lines;
}

/* Also resets cells that did not fit on the screen. */
static void reset_view(struct monitor_view *v)
{
	size_t c;

	for (c = 0; c < v->plan.nr_cells; c++) {
		spread_reset(&v->spreads[c]);
		shares_reset(&v->shares[c]);
	}
	v->frames = 0;
}

static int screen_lines(const struct monitor *m)
{
	struct winsize size;

	if (!m->terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row)
		return 1 << 20;
	return size.ws_row;
}

static void monitor_draw(struct monitor *m, double seconds)
{
	const struct attach *a = &m->attach;
	char missed[TEXT_SIZE], name[32];
	int room = screen_lines(m) - 1, width = name_width(m);
	size_t i;

	if (m->terminal)
		fputs("\033[H\033[J", stdout);
	printf("%s of process %d (%s), %u slots, %s lost%s\n", a->live.desc.name,
	       (int)a->live.target.pid, target_name(a->live.target.pid, name), a->stats.slots,
	       text_count(missed, m->lost), m->terminal ? "; Ctrl-C ends" : "");
	printf("%-*s %12s %12s %12s %12s %12s\n", width + 2, "", "least", "median", "90 %", "99 %",
	       "most");
	room -= 2;
	for (i = 0; i < m->nr_views; i++) {
		if (m->only < 0 || (size_t)m->only == i)
			room -= draw_view(&m->views[i], seconds, width, room);
		reset_view(&m->views[i]);
	}
	if (!m->terminal)
		putchar('\n');
	fflush(stdout);
}

/* ---- the sink ------------------------------------------------------------ */

static void follow_clock(struct monitor *m)
{
	size_t i;

	for (i = 0; i < m->nr_views; i++)
		m->views[i].plan.clock = *attach_clock(&m->attach);
}

static int monitor_sink_begin(void *arg, struct err *err)
{
	struct monitor *m = arg;

	(void)err;
	m->drawn_ns = clock_now_ns();
	follow_clock(m);
	return 0;
}

static int monitor_write_failed(const struct monitor *m, struct err *err)
{
	/* The reader of stdout closed it: a normal end. */
	if (m->write_error == -EPIPE)
		return err_set(err, -EPIPE, "standard output was closed");
	if (m->write_error == -ENOMEM)
		return err_set(err, -ENOMEM, "no memory for the values");
	if (m->write_error)
		return err_set(err, m->write_error, "cannot write: %s", strerror(-m->write_error));
	return 0;
}

static int monitor_sink_flush(void *arg, struct err *err)
{
	struct monitor *m = arg;
	uint64_t now = clock_now_ns(), every = m->request->interval_ns;

	if (m->request->json) {
		write_lines(m);
	} else if (now - m->drawn_ns >= every) {
		errno = 0;
		monitor_draw(m, (double)(now - m->drawn_ns) / 1e9);
		m->drawn_ns = now;
		if (fflush(stdout) != 0 || ferror(stdout))
			m->write_error = errno ? -errno : -EIO;
	}
	follow_clock(m);
	return monitor_write_failed(m, err);
}

static void monitor_sink_talk(void *arg, int level, const char *text)
{
	(void)arg;
	if (level == 0)
		message_print("monitor", "%s", text);
}

/* ---- the command --------------------------------------------------------- */

static int monitor_watch(struct monitor *m, struct err *err)
{
	int rc = make_views(m, err);

	if (!rc) {
		m->only = monitor_find_type(m, err);
		rc = m->only < -1 ? m->only : 0;
	}
	if (rc < 0)
		return rc;
	rc = attach_start(&m->attach, err);
	if (!rc) {
		if (m->terminal && !m->request->json)
			message_print("monitor", "waiting for the program's next frame");
		rc = attach_run(&m->attach, err);
	}
	attach_stop(&m->attach);
	if (m->request->json)
		write_lines(m);
	else if (m->attach.begun)
		monitor_draw(m, (double)(clock_now_ns() - m->drawn_ns + 1) / 1e9);
	if (!rc)
		rc = monitor_write_failed(m, err);
	return rc == -EPIPE ? 0 : rc;
}

static int monitor_start(struct monitor_options *r)
{
	struct monitor m = { .request = r, .only = -1 };
	struct err err = { 0 };
	char text[TEXT_SIZE];
	unsigned i;
	int rc;

	m.terminal = isatty(STDOUT_FILENO);
	if (counters_resolve(&r->config.counters, geteuid() == 0, &err) < 0) {
		message_error("monitor", &err);
		return EXIT_FAILED;
	}
	r->config.sink = (struct attach_sink){
		&m,   monitor_sink_begin, monitor_sink_frame, monitor_sink_lost,
		NULL, monitor_sink_flush, monitor_sink_talk
	};
	rc = attach_open(&m.attach, &r->config, &err);
	if (rc < 0) {
		message_error("monitor", &err);
		return EXIT_FAILED;
	}
	for (i = 0; i < r->config.counters.nr; i++)
		m.info.counters[i] = r->config.counters.names[i]; /* borrowed */
	m.info.nr_counters = i;
	rc = monitor_watch(&m, &err);
	if (rc < 0)
		message_error("monitor", &err);
	else if (m.attach.stats.lost)
		message_print("monitor", "%s frames were lost",
			      text_count(text, m.attach.stats.lost));
	release_views(&m);
	attach_release(&m.attach);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct opt options[] = {
	OPT_ROW_PID(struct monitor_options, config),
	OPT_ROW_BUFFER(struct monitor_options, config),
	{ 0, "frame", "NAME", "only frames of this type", OPT_TEXT(struct monitor_options, frame) },
	OPT_ROW_COUNTER(struct monitor_options, config, "up to three counters, as for attach"),
	{ 'i', "interval", "SECONDS", "refresh interval in seconds (default 1)",
	  OPT_REAL(struct monitor_options, interval_ns, 0.001, 1e9, 1e9) },
	OPT_ROW_DURATION(struct monitor_options, config),
	OPT_ROW_COUNT(struct monitor_options, config),
	OPT_ROW_SIZE(struct monitor_options, config, "slots of the ring"),
	OPT_ROW_AUTO_RESIZE(struct monitor_options, config),
	OPT_ROW_FORCE(struct monitor_options, config),
	{ 0, "json", NULL, "print a JSON object per frame instead of the table",
	  OPT_FLAG(struct monitor_options, json) },
	{ .name = NULL },
};

static int run_monitor(int argc, char **argv)
{
	struct monitor_options r = { .interval_ns = NS_PER_SEC };
	int first, status = opts_parse(&command_monitor, &r, argc, argv, &first);

	if (status == OPTS_PARSED && first < argc)
		status = opts_unexpected(&command_monitor, argv[first]);
	else if (status == OPTS_PARSED && !r.config.pid)
		status = opts_missing(&command_monitor, "-p PID");
	else if (status == OPTS_PARSED)
		status = monitor_start(&r);
	counters_release(&r.config.counters);
	return status;
}

const struct command command_monitor = {
	.name = "monitor",
	.instrument = "frames",
	.args = "-p PID [-b BUFFER] [OPTIONS]",
	.summary = "watch the frames of a running program: rates, percentiles, or JSON lines",
	.details = "Nothing is recorded.  A table counts all frames since the previous one; "
		   "percentiles\n"
		   "are exact to 1 %.  Enums, booleans and strings have the share of each value.\n",
	.opts = options,
	.run = run_monitor,
};
