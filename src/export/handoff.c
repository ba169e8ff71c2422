/* SPDX-License-Identifier: MIT */
/* handoff.c - pass buffers from the thread that creates rows to the thread that loads them. */
#include "export/handoff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"

int handoff_init(struct handoff *h)
{
	size_t i;

	memset(h, 0, sizeof(*h));
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	for (i = 0; i < HANDOFF_BUFFERS; i++) {
		h->data[i] = malloc(HANDOFF_SIZE + FMT_SLACK);
		if (!h->data[i])
			return -ENOMEM;
	}
	return 0;
}

void handoff_release(struct handoff *h)
{
	size_t i;

	for (i = 0; i < HANDOFF_BUFFERS; i++)
		free(h->data[i]);
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->lock);
}

char *handoff_buffer(struct handoff *h)
{
	char *data = NULL;

	pthread_mutex_lock(&h->lock);
	while (h->given - h->taken == HANDOFF_BUFFERS && !h->is_refused)
		pthread_cond_wait(&h->changed, &h->lock);
	if (!h->is_refused)
		data = h->data[h->given % HANDOFF_BUFFERS];
	pthread_mutex_unlock(&h->lock);
	return data;
}

void handoff_give(struct handoff *h, size_t used)
{
	pthread_mutex_lock(&h->lock);
	h->used[h->given % HANDOFF_BUFFERS] = used;
	h->given++;
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

void handoff_end(struct handoff *h, bool give_up)
{
	pthread_mutex_lock(&h->lock);
	h->is_over = true;
	h->is_given_up = give_up;
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

int handoff_take(struct handoff *h, char *data, size_t size)
{
	size_t which, left;
	bool has_some, is_given_up;

	pthread_mutex_lock(&h->lock);
	while (h->given == h->taken && !h->is_over)
		pthread_cond_wait(&h->changed, &h->lock);
	has_some = h->given != h->taken;
	is_given_up = h->is_given_up;
	which = h->taken % HANDOFF_BUFFERS;
	pthread_mutex_unlock(&h->lock);
	if (is_given_up)
		return -1;
	if (!has_some)
		return 0;
	/* The consumer owns the buffer until it increments `taken`. */
	left = h->used[which] - h->at;
	if (size > left)
		size = left;
	memcpy(data, h->data[which] + h->at, size);
	h->at += size;
	if (h->at == h->used[which]) {
		pthread_mutex_lock(&h->lock);
		h->taken++;
		h->at = 0;
		pthread_cond_signal(&h->changed);
		pthread_mutex_unlock(&h->lock);
	}
	return (int)size;
}

void handoff_refuse(struct handoff *h)
{
	pthread_mutex_lock(&h->lock);
	h->is_refused = true;
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
}
