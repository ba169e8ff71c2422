/* SPDX-License-Identifier: MIT */
/* ship_envelope.c - a block of a compact trace on its way to a store. */
#include "ship/ship_envelope.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

/* Of the head without its last member, and of everything behind the head. */
static uint32_t ship_envelope_crc(const uint8_t *data, size_t size)
{
	uLong crc = crc32_z(0, data, offsetof(struct ship_head, crc));

	return (uint32_t)crc32_z(crc, data + sizeof(struct ship_head),
				 size - sizeof(struct ship_head));
}

int ship_envelope_encode(struct bytes *to, const struct ship_envelope *e)
{
	struct ship_head head = {
		.version = SHIP_VERSION,
		.head_size = sizeof(head),
		.labels_size = (uint32_t)e->labels_size,
		.number = e->number,
		.part = e->part,
		.parts = e->parts,
		.block_size = (uint32_t)e->block_size,
	};
	size_t size = sizeof(head) + e->labels_size + e->block_size;
	uint8_t *at;

	if (e->labels_size > SHIP_LABELS_MAX || e->block_size > SHIP_BLOCK_MAX ||
	    e->parts > SHIP_PARTS_MAX || e->part >= e->parts)
		return -E2BIG;
	at = bytes_more(to, size);
	if (!at)
		return -ENOMEM;
	memcpy(head.magic, SHIP_MAGIC, SHIP_MAGIC_SIZE);
	memcpy(at, &head, sizeof(head));
	if (e->labels_size)
		memcpy(at + sizeof(head), e->labels, e->labels_size);
	if (e->block_size)
		memcpy(at + sizeof(head) + e->labels_size, e->block, e->block_size);
	head.crc = ship_envelope_crc(at, size);
	memcpy(at, &head, sizeof(head));
	return 0;
}

static int ship_envelope_check(const struct ship_head *head, size_t size, struct err *err)
{
	if (memcmp(head->magic, SHIP_MAGIC, SHIP_MAGIC_SIZE) != 0)
		return err_set(err, -EPROTO,
			       "cannot read the envelope: it does not begin like one");
	if (head->version != SHIP_VERSION) {
		err_set(err, -EPROTO,
			"cannot read the envelope: it has version %u, this tool knows %u",
			head->version, SHIP_VERSION);
		err_hint(err, "use a corotracer as new as the one that sent it");
		return err->code;
	}
	if (head->head_size != sizeof(*head) || head->labels_size > SHIP_LABELS_MAX ||
	    head->block_size > SHIP_BLOCK_MAX || head->parts > SHIP_PARTS_MAX ||
	    head->part >= head->parts)
		return err_set(err, -EPROTO, "cannot read the envelope: its head is damaged");
	if (size != sizeof(*head) + head->labels_size + head->block_size)
		return err_set(err, -EPROTO,
			       "cannot read the envelope: it has %zu bytes instead of %zu", size,
			       sizeof(*head) + head->labels_size + head->block_size);
	return 0;
}

int ship_envelope_decode(const void *data, size_t size, struct ship_envelope *e, struct err *err)
{
	const uint8_t *at = data;
	struct ship_head head;

	memset(e, 0, sizeof(*e));
	if (size < sizeof(head))
		return err_set(err, -EPROTO, "cannot read the envelope: it has only %zu bytes",
			       size);
	memcpy(&head, at, sizeof(head));
	if (ship_envelope_check(&head, size, err) < 0)
		return err->code;
	if (head.crc != ship_envelope_crc(at, size))
		return err_set(err, -EPROTO, "cannot read the envelope: its checksum is wrong");
	*e = (struct ship_envelope){
		.number = head.number,
		.part = head.part,
		.parts = head.parts,
		.labels = (const char *)at + sizeof(head),
		.labels_size = head.labels_size,
		.block = at + sizeof(head) + head.labels_size,
		.block_size = head.block_size,
	};
	return 0;
}
