/* SPDX-License-Identifier: MIT */
/* otlp_send_without.c - stubs for a build without libcurl. */
#include "otlp/otlp_send.h"

#include <errno.h>

struct otlp_sender *otlp_sender_new(const char *url, struct err *err)
{
	err_set(err, -ENOTSUP, "cannot send to '%s': this corotracer was built without libcurl",
		url);
	err_hint(err, "install libcurl4-openssl-dev and build again, or write a file with -o FILE");
	return NULL;
}

void otlp_sender_free(struct otlp_sender *s)
{
	(void)s;
}

int otlp_send(struct otlp_sender *s, const void *body, size_t size, struct otlp_sent *sent,
	      struct err *err)
{
	(void)s;
	(void)body;
	(void)size;
	(void)sent;
	return err_set(err, -ENOTSUP, "this corotracer was built without libcurl");
}
