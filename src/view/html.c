/* SPDX-License-Identifier: MIT */
/* html.c - write a view as one file that a browser opens from disk. */
#include "view/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "view/slice_budget.h"

/* Reserve for the sentences about omitted data, which are known last. */
#define META_SLACK 4096

/* Smaller values would save almost nothing. */
#define COROS_MIN 100
#define SKIP_MAX  8

struct html {
	struct view *v;
	struct bundle bundle;
	uint64_t room;  /* available for all sections */
	uint64_t taken; /* by everything else */
	struct view_block *lines;
	uint64_t kept; /* slices in the file */
	size_t whole;  /* blocks kept whole */
	struct html_result *result;
	const struct note_list *notes; /* NULL: none */
};

static struct view_thinned *html_left_out(struct html *h, const char *what, uint64_t kept,
					  uint64_t of)
{
	struct view_thinned *t = &h->result->thinned[h->result->nr_thinned++];

	*t = (struct view_thinned){ .what = what, .kept = kept, .of = of };
	return t;
}

/* ---- sections in every file --------------------------------------------------- */

static int html_put_plain(struct html *h, const char *name, struct err *err)
{
	struct bytes section = { 0 };
	int rc = view_section(h->v, name, &section, err);

	if (!rc)
		rc = bundle_put(&h->bundle, name, &section, err);
	bytes_release(&section);
	return rc;
}

static int html_put_coros(struct html *h, size_t max, size_t *kept, struct err *err)
{
	struct bytes section = { 0 };
	int rc = section_coros(h->v, max, &section, kept);

	if (rc < 0)
		err_set(err, rc, "no memory for section 'coros'");
	else
		rc = bundle_put(&h->bundle, "coros", &section, err);
	bytes_release(&section);
	return rc;
}

static int put_lod(struct html *h, unsigned skip, struct err *err)
{
	struct bytes section = { 0 };
	int rc = section_lod(h->v, skip, &section);

	if (rc < 0)
		err_set(err, rc, "no memory for section 'lod'");
	else
		rc = bundle_put(&h->bundle, "lod", &section, err);
	bytes_release(&section);
	return rc;
}

/* A hold takes at most 16 bytes: about a sixteenth of the space at most. */
static int put_holds(struct html *h, struct err *err)
{
	struct bytes section = { 0 };
	int rc = hold_log_write(&h->v->holds, (size_t)(h->room / 256), h->v->origin, &section);

	if (rc < 0)
		err_set(err, rc, "no memory for section 'holds'");
	else
		rc = bundle_put(&h->bundle, "holds", &section, err);
	bytes_release(&section);
	return rc;
}

static void tell_lod(struct html *h, unsigned skip)
{
	if (skip)
		snprintf(html_left_out(h, "lod", 1, UINT64_C(1) << skip)->text,
			 sizeof(h->result->thinned->text),
			 "The timeline's overview is %u times coarser than it could be.",
			 1u << skip);
}

/*
 * Reduce the levels of detail, then the coroutines, until a quarter of the space is left for
 * slices.
 */
static int put_fixed(struct html *h, struct err *err)
{
	static const char *const names[] = { "report", "series", "sites", "strings", "frames" };
	size_t max = h->v->records.max, kept = 0, i;
	uint64_t enough = h->room / 4 * 3;
	unsigned skip = 0;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (html_put_plain(h, names[i], err) < 0)
			return err->code;
	}
	if (put_holds(h, err) < 0 || html_put_coros(h, max, &kept, err) < 0 ||
	    put_lod(h, skip, err) < 0)
		return err->code;
	while (h->bundle.size > enough && (kept > COROS_MIN || skip < SKIP_MAX)) {
		if (skip < SKIP_MAX && put_lod(h, ++skip, err) < 0)
			return err->code;
		if (h->bundle.size > enough && skip > 1 && kept > COROS_MIN &&
		    html_put_coros(h, kept / 4 * 3, &kept, err) < 0)
			return err->code;
	}
	h->result->nr_thinned = view_thinned(h->v, kept, h->result->thinned);
	tell_lod(h, skip);
	return 0;
}

/* ---- slices ------------------------------------------------------------------- */

static void block_name(char name[32], size_t block)
{
	snprintf(name, 32, "slices/%zu", block);
}

/* Build and compress a block; @keep NULL: with all slices. */
static int make_block(struct html *h, size_t block, const uint8_t *keep, struct bytes *gzip,
		      struct view_block *line, struct err *err)
{
	struct bytes section = { 0 };
	int rc = section_slices(h->v, block, keep, &section, line, err);

	if (!rc)
		rc = page_gzip(&section, gzip, err);
	bytes_release(&section);
	return rc;
}

static int html_put_block(struct html *h, size_t block, struct bytes *gzip,
			  const struct view_block *line, struct err *err)
{
	char name[32];

	block_name(name, block);
	h->kept -= h->lines[block].nr;
	h->lines[block] = *line;
	h->kept += line->nr;
	return bundle_put_gzip(&h->bundle, name, gzip, err);
}

/* Replace a block by the whole block if that fits; 1 if it did. */
static int try_whole(struct html *h, size_t block, struct err *err)
{
	struct bytes gzip = { 0 };
	struct view_block line;
	char name[32];
	uint64_t cost, size = h->bundle.size;
	size_t i;
	int rc = make_block(h, block, NULL, &gzip, &line, err);

	if (rc < 0) {
		bytes_release(&gzip);
		return rc;
	}
	block_name(name, block);
	cost = bundle_cost(name, gzip.size);
	for (i = 0; i < h->bundle.nr; i++) {
		if (!strcmp(h->bundle.sections[i].name, name))
			size -= bundle_cost(name, h->bundle.sections[i].gzip.size);
	}
	if (size + cost > h->room) {
		bytes_release(&gzip);
		return 0;
	}
	rc = html_put_block(h, block, &gzip, &line, err);
	h->whole += rc == 0;
	return rc < 0 ? rc : 1;
}

/* Estimate after four blocks whether all blocks can fit. */
static bool is_hopeless(const struct html *h, uint64_t fixed, size_t blocks)
{
	uint64_t each = (h->bundle.size - fixed) / blocks;

	return blocks == 4 && fixed + each * h->v->spool.nr_blocks > h->room + h->room / 8;
}

/* Add all blocks whole; 0 as soon as one does not fit. */
static int put_all(struct html *h, struct err *err)
{
	uint64_t fixed = h->bundle.size;
	size_t block;
	int rc = 1;

	for (block = 0; rc > 0 && block < h->v->spool.nr_blocks; block++) {
		rc = try_whole(h, block, err);
		if (rc > 0 && is_hopeless(h, fixed, block + 1))
			rc = 0;
	}
	return rc;
}

static int put_marked(struct html *h, unsigned level, struct err *err)
{
	uint8_t *keep = thin_mark(h->v, level, err);
	size_t block;
	int rc = keep ? 0 : err->code;

	h->whole = 0;
	for (block = 0; !rc && block < h->v->spool.nr_blocks; block++) {
		struct bytes gzip = { 0 };
		struct view_block line;

		rc = make_block(h, block, keep, &gzip, &line, err);
		if (!rc)
			rc = html_put_block(h, block, &gzip, &line, err);
		bytes_release(&gzip);
	}
	free(keep);
	return rc;
}

/*
 * Use the most generous level that leaves two thirds of the space to whole blocks, else the last
 * level.
 */
static int put_thinned(struct html *h, unsigned *level, struct err *err)
{
	uint64_t fixed = h->bundle.size, room = h->room > fixed ? h->room - fixed : 0;

	for (*level = 0; *level < THIN_LEVELS; ++*level) {
		bool is_last = *level + 1 == THIN_LEVELS;

		if (!is_last && thin_count(h->v, *level) * 4 > room)
			continue;
		if (put_marked(h, *level, err) < 0)
			return err->code;
		if (h->bundle.size <= fixed + room / 3 || is_last)
			return 0;
	}
	return 0;
}

static int put_best(struct html *h, struct err *err)
{
	size_t *order = thin_order(h->v), i;
	int rc = 1;

	if (!order)
		return err_set(err, -ENOMEM, "no memory to choose blocks");
	for (i = 0; rc > 0 && i < h->v->spool.nr_blocks; i++)
		rc = try_whole(h, order[i], err);
	free(order);
	return rc < 0 ? rc : 0;
}

static void tell_slices(struct html *h, unsigned level)
{
	char a[TEXT_SIZE], b[TEXT_SIZE], c[TEXT_SIZE], d[TEXT_SIZE], whole[160] = "";
	const struct spool *spool = &h->v->spool;
	const char *rule = thin_rule(level);

	if (h->whole)
		snprintf(
			whole, sizeof(whole),
			"%s of %s stretches of the run whole (the end and around findings first)%s",
			text_count(c, h->whole), text_count(d, spool->nr_blocks),
			rule ? ", and elsewhere " : "");
	snprintf(html_left_out(h, "slices", h->kept, spool->nr)->text,
		 sizeof(h->result->thinned->text), "%s of %s slices are here%s%s%s.",
		 text_count(a, h->kept), text_count(b, spool->nr), h->kept ? ": " : "", whole,
		 rule ? rule : "");
}

static void drop_blocks(struct html *h)
{
	struct bundle *b = &h->bundle;

	while (b->nr && !strncmp(b->sections[b->nr - 1].name, "slices/", 7)) {
		struct bundle_section *s = &b->sections[--b->nr];

		b->size -= bundle_cost(s->name, s->gzip.size);
		bytes_release(&s->gzip);
	}
	memset(h->lines, 0, h->v->spool.nr_blocks * sizeof(*h->lines));
	h->kept = h->whole = 0;
}

static int html_put_slices(struct html *h, struct err *err)
{
	unsigned level;
	int rc = put_all(h, err);

	if (rc)
		return rc < 0 ? rc : 0;
	drop_blocks(h);
	if (put_thinned(h, &level, err) < 0 || put_best(h, err) < 0)
		return err->code;
	if (h->kept < h->v->spool.nr)
		tell_slices(h, level);
	return 0;
}

/* ---- the file ------------------------------------------------------------------ */

static int html_put_index(struct html *h, struct err *err)
{
	struct bytes section = { 0 };
	int rc = section_index(h->v, h->lines, h->v->spool.nr_blocks, &section);

	if (rc < 0)
		err_set(err, rc, "no memory for section 'index'");
	else
		rc = bundle_put(&h->bundle, "index", &section, err);
	bytes_release(&section);
	return rc;
}

static int put_meta(struct html *h, struct err *err)
{
	struct bytes section = { 0 };
	int rc = section_meta(h->v, h->result->thinned, h->result->nr_thinned, &section);

	if (rc < 0)
		err_set(err, rc, "no memory for section 'meta'");
	else
		rc = bundle_put(&h->bundle, "meta", &section, err);
	bytes_release(&section);
	return rc;
}

static int html_put_notes(struct html *h, struct err *err)
{
	struct bytes section = { 0 };
	int rc;

	if (!h->notes || !h->notes->nr)
		return 0;
	rc = note_list_write(h->notes, h->v->options.trace, h->v->origin, &section);
	if (rc < 0)
		err_set(err, rc, "no memory for section 'notes'");
	else
		rc = bundle_put(&h->bundle, "notes", &section, err);
	bytes_release(&section);
	return rc;
}

static int html_fill(struct html *h, struct err *err)
{
	if (html_put_notes(h, err) < 0)
		return err->code;
	/* Sections that are known last are reserved first, with about their final size. */
	if (put_meta(h, err) < 0 || html_put_plain(h, "index", err) < 0 || put_fixed(h, err) < 0)
		return err->code;
	if (h->bundle.size > h->room) {
		err_set(err, -EFBIG, "the page cannot be made that small");
		err_hint(err, "--max-size %" PRIu64 "M would do",
			 (h->bundle.size + h->taken) / 1048576 + 1);
		return err->code;
	}
	if (html_put_slices(h, err) < 0 || html_put_index(h, err) < 0)
		return err->code;
	return put_meta(h, err);
}

int html_write_noted(struct view *v, const struct html_page *page, const struct note_list *notes,
		     uint64_t max_size, FILE *out, struct html_result *result, struct err *err)
{
	struct html h = {
		.v = v, .result = result, .notes = notes, .taken = page->size + META_SLACK
	};
	int rc;

	*result = (struct html_result){ 0 };
	h.room = max_size > h.taken ? max_size - h.taken : 0;
	h.lines = calloc(v->spool.nr_blocks + 1, sizeof(*h.lines));
	if (!h.lines)
		return err_set(err, -ENOMEM, "no memory");
	rc = html_fill(&h, err);
	if (!rc)
		rc = page_write_bundle(page, &h.bundle, out, err);
	result->bytes = h.bundle.size + page->size - strlen(PAGE_MARK);
	bundle_release(&h.bundle);
	free(h.lines);
	return rc;
}

int html_write(struct view *v, const struct html_page *page, uint64_t max_size, FILE *out,
	       struct html_result *result, struct err *err)
{
	return html_write_noted(v, page, NULL, max_size, out, result, err);
}
