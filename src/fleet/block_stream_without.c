/* SPDX-License-Identifier: MIT */
/* block_stream_without.c - replaces block_stream.c in a build without libnats. */
#include "fleet/block_stream.h"

#include <errno.h>

struct block_stream *block_stream_open(const char *rest, struct err *err)
{
	(void)rest;
	err_set(err, -ENOSYS, "cannot read from nats: this corotracer was built without libnats");
	err_hint(err, "install libnats-dev, and build again");
	return NULL;
}

int block_stream_next(struct block_stream *s, int ms, struct stream_message *m, struct err *err)
{
	(void)s;
	(void)ms;
	(void)m;
	return err_set(err, -ENOSYS, "this corotracer was built without libnats");
}

int block_stream_ack(struct block_stream *s, uint64_t id, struct err *err)
{
	return block_stream_next(s, (int)id, NULL, err);
}

void block_stream_close(struct block_stream *s)
{
	(void)s;
}
