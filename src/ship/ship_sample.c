/* SPDX-License-Identifier: MIT */
/* ship_sample.c - send one of N coroutines. */
#include "ship/ship_sample.h"

#include <errno.h>
#include <string.h>

#include "trace/compact_pack.h"

/* splitmix64 */
static uint64_t ship_sample_hash(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

bool ship_sample_has(uint64_t probe_id, uint64_t rate)
{
	return rate <= 1 || ship_sample_hash(probe_id) % rate == 0;
}

void ship_sampler_release(struct ship_sampler *s)
{
	compact_unpacker_release(&s->unpacker);
	compact_packer_release(&s->packer);
	compact_decoder_free(s->decoder);
	compact_encoder_free(s->encoder);
	memset(s, 0, sizeof(*s));
}

static int ship_sampler_begin(struct ship_sampler *s)
{
	if (!s->decoder)
		s->decoder = compact_decoder_new();
	if (!s->encoder)
		s->encoder = compact_encoder_new();
	if (!s->decoder || !s->encoder)
		return -ENOMEM;
	compact_encoder_reset(s->encoder);
	return 0;
}

/* 1; 0: the block is damaged; -ENOMEM. */
static int ship_sampler_copy(struct ship_sampler *s, bool has_gaps, ship_wanted_fn wanted,
			     const void *ctx)
{
	struct trace_event ev;
	const char *gap;
	size_t size;

	for (;;) {
		switch (compact_decode_next(s->decoder, &ev, &gap, &size)) {
		case COMPACT_DECODED_EVENT:
			if (!wanted(ctx, ev.probe_id))
				break;
			if (compact_encoder_is_full(s->encoder))
				return -ENOMEM;
			compact_encode_event(s->encoder, &ev);
			break;
		case COMPACT_DECODED_GAP:
			if (has_gaps && !compact_encoder_is_full(s->encoder))
				/* Its newline follows it in the column. */
				compact_encode_gap(s->encoder, s->decoder->model.ts, gap, size + 1);
			break;
		case COMPACT_DECODED_UNKNOWN:
			break;
		case COMPACT_DECODED_DAMAGED:
			return 0;
		case COMPACT_DECODED_NO_MEMORY:
			return -ENOMEM;
		case COMPACT_DECODED_END:
			return 1;
		}
	}
}

int ship_sampler_filter(struct ship_sampler *s, int fd, struct ship_block *block, uint64_t number,
			bool has_gaps, ship_wanted_fn wanted, const void *ctx)
{
	struct compact_block_head head = {
		.type = COMPACT_EVENTS,
		.number = number,
		.transitions_before = block->head.transitions_before,
		.others_before = block->head.others_before,
	};
	int rc = ship_sampler_begin(s);

	if (rc == 0)
		rc = compact_block_load(&s->unpacker, fd, block->offset, &block->head);
	if (rc > 0)
		rc = compact_decoder_begin(s->decoder, &block->head, s->unpacker.parts);
	if (rc > 0)
		rc = ship_sampler_copy(s, has_gaps, wanted, ctx);
	if (rc <= 0)
		return rc;
	rc = compact_pack_events(&s->packer, s->encoder, &head);
	if (rc < 0)
		return rc;
	block->head = head;
	block->data = s->packer.out.data;
	block->size = s->packer.out.size;
	return 1;
}
