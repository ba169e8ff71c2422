/* SPDX-License-Identifier: MIT */
/* kernel_saved.c - the state of descriptors as JSON, for a process that is saved to a file. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/kernel_roots.h"
#include "inspect/kernel_state.h"

#define SAVED_MAX (1u << 20) /* descriptors */

/* ---- write ------------------------------------------------------------------------ */

static bool saved_ask(void *ctx, int fd)
{
	return kernel_state_ask(ctx, fd) != NULL;
}

void kernel_state_ask_all(struct kernel_state *k)
{
	if (k->is_open)
		descriptors_each(&k->process, saved_ask, k);
}

static json_t *saved_descriptor(const struct kernel_descriptor *d)
{
	const struct descriptor_state *s = &d->state;

	return json_pack("{s:i,s:i,s:I,s:b,s:b,s:b,s:b,s:b,s:b,s:I,s:s}", "fd", s->fd, "kind",
			 (int)s->kind, "inode", (json_int_t)s->inode, "asked", s->is_asked, "read",
			 s->can_read, "write", s->can_write, "error", s->has_error, "hung_up",
			 s->has_hung_up, "listening", s->is_listening, "unread",
			 (json_int_t)s->unread, "peer", s->peer);
}

static json_t *saved_watch(const struct descriptor_watch *w)
{
	return json_pack("{s:i,s:i,s:I,s:i,s:I,s:b,s:b,s:b}", "epoll", w->epoll_fd, "fd", w->fd,
			 "inode", (json_int_t)w->inode, "events", (int)w->events, "data",
			 (json_int_t)w->data, "edge", w->is_edge, "one_shot", w->is_one_shot,
			 "disarmed", w->is_disarmed);
}

/* What the kernel keeps for the program beside its descriptors. */
static bool saved_add_roots(json_t *root, const struct kernel_state *k)
{
	struct kernel_roots *roots = calloc(1, sizeof(*roots));
	json_t *words = json_array();
	const char *doubt = k->is_open ? kernel_roots_doubt(&k->process) : NULL;
	bool is_done;
	size_t i;

	if (roots && k->is_open)
		kernel_roots_read(roots, &k->process);
	for (i = 0; roots && i < roots->nr; i++)
		json_array_append_new(words, json_integer((json_int_t)roots->words[i]));
	is_done = roots && json_object_set(root, "words", words) == 0 &&
		  json_object_set_new(root, "doubt", json_string(doubt ? doubt : "")) == 0 &&
		  json_object_set_new(root, "failed", json_boolean(k->has_failed || !k->is_open)) ==
			  0;
	json_decref(words);
	free(roots);
	return is_done;
}

char *kernel_state_save(const struct kernel_state *k, bool is_settled)
{
	json_t *root = json_object(), *known = json_array(), *watches = json_array();
	char *text = NULL;
	size_t i;

	for (i = 0; i < k->nr_known; i++) {
		/* One that is open and could not be asked must not be taken for a closed one. */
		if (k->known[i].error != -EBADF)
			json_array_append_new(known, saved_descriptor(&k->known[i]));
	}
	for (i = 0; i < k->nr_watches; i++)
		json_array_append_new(watches, saved_watch(&k->watches[i]));
	if (saved_add_roots(root, k) &&
	    json_object_set_new(root, "settled", json_boolean(is_settled)) == 0 &&
	    json_object_set(root, "descriptors", known) == 0 &&
	    json_object_set(root, "watches", watches) == 0)
		text = json_dumps(root, JSON_COMPACT);
	json_decref(known);
	json_decref(watches);
	json_decref(root);
	return text;
}

/* ---- read -------------------------------------------------------------------------- */

/* NULL if the text is not what json_unpack() expects: it comes from a file. */
static bool saved_read_descriptor(json_t *from, struct kernel_descriptor *d)
{
	struct descriptor_state *s = &d->state;
	int asked, can_read, can_write, error, hung_up, listening, kind;
	json_int_t inode, unread;
	const char *peer;

	if (json_unpack(from, "{s:i,s:i,s:I,s:b,s:b,s:b,s:b,s:b,s:b,s:I,s:s}", "fd", &s->fd, "kind",
			&kind, "inode", &inode, "asked", &asked, "read", &can_read, "write",
			&can_write, "error", &error, "hung_up", &hung_up, "listening", &listening,
			"unread", &unread, "peer", &peer) != 0 ||
	    kind < 0 || kind >= NR_DESCRIPTOR_KINDS || s->fd < 0)
		return false;
	s->kind = (enum descriptor_kind)kind;
	s->inode = (uint64_t)inode;
	s->is_asked = asked;
	s->can_read = can_read;
	s->can_write = can_write;
	s->has_error = error;
	s->has_hung_up = hung_up;
	s->is_listening = listening;
	s->unread = (uint64_t)unread;
	strncpy(s->peer, peer, sizeof(s->peer) - 1);
	return true;
}

static bool saved_read_watch(json_t *from, struct descriptor_watch *w)
{
	int events, edge, one_shot, disarmed;
	json_int_t inode, data;

	if (json_unpack(from, "{s:i,s:i,s:I,s:i,s:I,s:b,s:b,s:b}", "epoll", &w->epoll_fd, "fd",
			&w->fd, "inode", &inode, "events", &events, "data", &data, "edge", &edge,
			"one_shot", &one_shot, "disarmed", &disarmed) != 0)
		return false;
	w->inode = (uint64_t)inode;
	w->events = (uint32_t)events;
	w->data = (uint64_t)data;
	w->is_edge = edge;
	w->is_one_shot = one_shot;
	w->is_disarmed = disarmed;
	return true;
}

static int saved_read_lists(struct kernel_state *k, json_t *known, json_t *watches)
{
	size_t i, nr_known = json_array_size(known), nr_watches = json_array_size(watches);

	if (nr_known > SAVED_MAX || nr_watches > SAVED_MAX)
		return -EINVAL;
	k->known = calloc(nr_known + 1, sizeof(*k->known));
	k->watches = calloc(nr_watches + 1, sizeof(*k->watches));
	if (!k->known || !k->watches)
		return -ENOMEM;
	for (i = 0; i < nr_watches; i++)
		k->nr_watches += saved_read_watch(json_array_get(watches, i),
						  &k->watches[k->nr_watches]);
	for (i = 0; i < nr_known; i++)
		k->nr_known += saved_read_descriptor(json_array_get(known, i),
						     &k->known[k->nr_known]);
	k->room_known = nr_known + 1;
	k->room_watches = nr_watches + 1;
	return 0;
}

/* Which watch belongs to which descriptor. */
static int saved_connect(struct kernel_state *k)
{
	uint64_t at;
	size_t i;

	for (i = k->nr_watches; i-- > 0;) {
		if (u64map_put(&k->by_watch, (uint64_t)k->watches[i].fd, i + 1) < 0)
			return -ENOMEM;
	}
	for (i = 0; i < k->nr_known; i++) {
		struct kernel_descriptor *d = &k->known[i];

		if (u64map_put(&k->by_fd, (uint64_t)d->state.fd, i + 1) < 0)
			return -ENOMEM;
		if (!u64map_get(&k->by_watch, (uint64_t)d->state.fd, &at))
			continue;
		d->watch = k->watches[at - 1];
		d->is_watched = d->watch.inode == d->state.inode;
	}
	return 0;
}

static int saved_read_roots(struct kernel_state *k, json_t *words, json_t *doubt)
{
	size_t i, nr = json_array_size(words);

	if (nr > KERNEL_ROOTS_MAX)
		return -EINVAL;
	k->words = calloc(nr + 1, sizeof(*k->words));
	if (!k->words)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		k->words[k->nr_words++] = (uint64_t)json_integer_value(json_array_get(words, i));
	if (json_is_string(doubt))
		strncpy(k->doubt, json_string_value(doubt), sizeof(k->doubt) - 1);
	return 0;
}

int kernel_state_load(struct kernel_state *k, const char *text)
{
	json_t *root = json_loads(text, 0, NULL);
	int rc = -EINVAL;

	*k = (struct kernel_state){ 0 };
	if (root)
		rc = saved_read_lists(k, json_object_get(root, "descriptors"),
				      json_object_get(root, "watches"));
	if (!rc)
		rc = saved_connect(k);
	if (!rc)
		rc = saved_read_roots(k, json_object_get(root, "words"),
				      json_object_get(root, "doubt"));
	k->has_failed = json_is_true(json_object_get(root, "failed"));
	k->is_saved = !rc;
	k->is_quiet = !rc && json_is_true(json_object_get(root, "settled"));
	json_decref(root);
	return rc;
}
