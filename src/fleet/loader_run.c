/* SPDX-License-Identifier: MIT */
/* loader_run.c - what the loader knows about one run, and the file that it is saved in. */
#include "fleet/loader_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/output_file.h"
#include "ship/ship_whole.h"
#include "trace/compact_block.h"

#define RUN_STATE_MAGIC   UINT64_C(0x3154534e55525443) /* "CTRUNST1" */
#define RUN_STATE_MAX     (UINT64_C(1) << 32)
#define RUN_STATE_VERSION 1u

/* The file: this head, pairs of site number and hash, the open waits twice. */
struct run_state_head {
	uint64_t magic;
	uint32_t version;
	uint32_t crc; /* of everything behind it, the rest of this head included */
	struct ship_labels labels;
	struct loader_counts counts;
	uint64_t next, next_whole;
	int64_t last_ts, clock_offset;
	uint64_t is_complete;
	uint64_t nr_sites, pairs_size, whole_size;
};

#define RUN_STATE_CRC_FROM offsetof(struct run_state_head, labels)

struct loader_run *loader_run_new(const struct ship_labels *labels)
{
	struct loader_run *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->labels = *labels;
	r->is_in_doubt = true;
	r->next_whole = SHIP_WHOLE_FIRST;
	wait_pairs_init(&r->pairs);
	wait_pairs_init(&r->whole);
	return r;
}

void loader_run_free(struct loader_run *r)
{
	if (!r)
		return;
	u64map_release(&r->sites);
	wait_pairs_release(&r->pairs);
	wait_pairs_release(&r->whole);
	free(r);
}

static int run_state_path(const struct loader_run *r, const char *dir, char *path, size_t size,
			  struct err *err)
{
	if ((size_t)snprintf(path, size, "%s/%s.state", dir, r->labels.run) >= size)
		return err_set(err, -ENAMETOOLONG, "the name of the state directory is too long");
	return 0;
}

/* ---- save ------------------------------------------------------------------------ */

static int run_state_encode(const struct loader_run *r, struct bytes *out)
{
	struct run_state_head head;
	uint64_t pair[2];
	size_t pos = 0, at;

	memset(&head, 0, sizeof(head));
	head.magic = RUN_STATE_MAGIC;
	head.version = RUN_STATE_VERSION;
	head.labels = r->labels;
	head.counts = r->counts;
	head.next = r->next;
	head.next_whole = r->next_whole;
	head.last_ts = r->last_ts;
	head.clock_offset = r->clock_offset;
	head.is_complete = r->is_complete;
	head.nr_sites = u64map_count(&r->sites);
	bytes_add(out, &head, sizeof(head));
	while (u64map_next(&r->sites, &pos, &pair[0], &pair[1]))
		bytes_add(out, pair, sizeof(pair));
	at = out->size;
	if (wait_pairs_save(&r->pairs, out) < 0)
		return -ENOMEM;
	head.pairs_size = out->size - at;
	at = out->size;
	if (wait_pairs_save(&r->whole, out) < 0 || out->error)
		return -ENOMEM;
	head.whole_size = out->size - at;
	memcpy(out->data, &head, sizeof(head));
	head.crc = compact_crc(out->data + RUN_STATE_CRC_FROM, out->size - RUN_STATE_CRC_FROM);
	memcpy(out->data, &head, sizeof(head));
	return 0;
}

int loader_run_save(const struct loader_run *r, const char *dir, struct err *err)
{
	struct bytes state = { 0 };
	struct outfile file;
	char path[4096];
	int rc = run_state_path(r, dir, path, sizeof(path), err);

	if (rc == 0 && run_state_encode(r, &state) < 0)
		rc = err_set(err, -ENOMEM, "no memory for the state of a run");
	if (rc == 0)
		rc = outfile_open(&file, path, err);
	if (rc == 0) {
		outfile_put(&file, state.data, state.size);
		rc = outfile_commit(&file, err);
		outfile_close(&file);
	}
	bytes_release(&state);
	return rc;
}

/* ---- load ------------------------------------------------------------------------ */

static int run_state_damaged(const char *path, struct err *err)
{
	err_set(err, -EPROTO, "cannot use '%s': it is not a state of the loader, or is damaged",
		path);
	err_hint(err, "remove it: the loader then asks the store for what it has");
	return err->code;
}

/* The sizes of all parts must be those of the file. */
static bool run_state_is_valid(const struct bytes *state, const struct run_state_head *head,
			       const char *run)
{
	size_t rest = state->size - sizeof(*head);

	return head->magic == RUN_STATE_MAGIC && head->version == RUN_STATE_VERSION &&
	       head->crc == compact_crc(state->data + RUN_STATE_CRC_FROM,
					state->size - RUN_STATE_CRC_FROM) &&
	       !memcmp(head->labels.run, run, SHIP_RUN_SIZE) && head->nr_sites <= rest / 16 &&
	       head->pairs_size <= rest && head->whole_size <= rest &&
	       head->nr_sites * 16 + head->pairs_size + head->whole_size == rest;
}

static int run_state_decode(struct loader_run *r, const struct bytes *state, const char *path,
			    struct err *err)
{
	struct run_state_head head;
	const unsigned char *at;
	uint64_t pair[2], i;
	int rc = 0;

	if (state->size < sizeof(head))
		return run_state_damaged(path, err);
	memcpy(&head, state->data, sizeof(head));
	if (!run_state_is_valid(state, &head, r->labels.run))
		return run_state_damaged(path, err);
	at = state->data + sizeof(head);
	for (i = 0; i < head.nr_sites && rc == 0; i++, at += sizeof(pair)) {
		memcpy(pair, at, sizeof(pair));
		rc = u64map_put(&r->sites, pair[0], pair[1]);
	}
	rc = rc < 0 ? rc : wait_pairs_load(&r->pairs, at, head.pairs_size);
	at += head.pairs_size;
	rc = rc < 0 ? rc : wait_pairs_load(&r->whole, at, head.whole_size);
	if (rc < 0)
		return rc == -ENOMEM ? err_set(err, rc, "no memory for the state of a run")
				     : run_state_damaged(path, err);
	r->labels = head.labels;
	r->counts = head.counts;
	r->next = head.next;
	r->next_whole = head.next_whole;
	r->last_ts = head.last_ts;
	r->clock_offset = head.clock_offset;
	r->is_complete = head.is_complete != 0;
	return 1;
}

static int run_state_read(int fd, struct bytes *state, const char *path, struct err *err)
{
	struct stat st;
	int rc = fstat(fd, &st) < 0 ? -errno : 0;

	if (rc == 0 && (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > RUN_STATE_MAX))
		return run_state_damaged(path, err);
	if (rc == 0 && !bytes_more(state, (size_t)st.st_size))
		rc = st.st_size ? -ENOMEM : 0;
	if (rc == 0)
		rc = compact_read_at(fd, state->data, state->size, 0);
	return rc < 0 ? err_set(err, rc, "cannot read '%s': %s", path, strerror(-rc)) : 0;
}

int loader_run_load(struct loader_run *r, const char *dir, struct err *err)
{
	struct bytes state = { 0 };
	char path[4096];
	int fd, rc = run_state_path(r, dir, path, sizeof(path), err);

	if (rc < 0)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(err, "cannot open '%s'", path);
	rc = run_state_read(fd, &state, path, err);
	close(fd);
	if (rc == 0)
		rc = run_state_decode(r, &state, path, err);
	bytes_release(&state);
	return rc;
}
