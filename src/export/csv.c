/* SPDX-License-Identifier: MIT */
/* csv.c - the events as comma-separated values, header and columns as the existing tool has them.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "export/outfile.h"
#include "export/sink.h"

static const char header[] = "probe_id,tid,addr,seq,is_active,ts\n";

static struct outfile *file_of(struct sink_job *job)
{
	return job->state;
}

static int csv_open(struct sink_job *job, struct err *err)
{
	struct outfile *f = calloc(1, sizeof(*f));

	if (!f)
		return err_set(err, -ENOMEM, "no memory for an output file");
	if (outfile_open(f, job->output, err) < 0) {
		free(f);
		return err->code;
	}
	job->state = f;
	outfile_put(f, header, sizeof(header) - 1);
	return 0;
}

/* The longest line is far shorter than OUTFILE_ROOM. */
static char *put_event(char *p, const struct trace_event *ev)
{
	p = fmt_u64(p, ev->probe_id);
	*p++ = ',';
	p = fmt_u64(p, ev->tid);
	memcpy(p, ",0x", 3);
	p = fmt_hex16(p + 3, ev->addr);
	*p++ = ',';
	p = fmt_u64(p, ev->seq);
	memcpy(p, ev->is_active ? ",true,\0" : ",false,", 7);
	p = fmt_u64(p + 7 - ev->is_active, ev->ts);
	*p++ = '\n';
	return p;
}

static int csv_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct outfile *f = file_of(job);

	if (item->type != TRACE_ITEM_EVENT || !trace_is_transition(&item->event))
		return 0;
	f->at = put_event(outfile_room(f), &item->event);
	job->rows++;
	return f->error ? outfile_commit(f, err) : 0; /* which says what failed */
}

static int csv_commit(struct sink_job *job, struct err *err)
{
	struct outfile *f = file_of(job);
	int rc = outfile_commit(f, err);

	job->bytes = f->bytes;
	return rc;
}

static void csv_close(struct sink_job *job)
{
	outfile_close(file_of(job));
	free(job->state);
}

static void csv_drop(struct sink_job *job)
{
	outfile_drop(file_of(job));
}

const struct sink sink_csv = {
	.name = "csv",
	.alias = "dataframe",
	.about = "comma-separated values, for pandas, polars, DuckDB and R",
	.suffix = ".csv",
	.to_stdout = true,
	.open = csv_open,
	.item = csv_item,
	.commit = csv_commit,
	.close = csv_close,
	.drop = csv_drop,
};
