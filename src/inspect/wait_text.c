/* SPDX-License-Identifier: MIT */
/* wait_text.c - say what the coroutines of a group wait for. */
#include "inspect/wait_text.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "inspect/described_text.h"
#include "inspect/tokio_groups.h"

#define DESCRIPTORS_SHOWN 5   /* in text */
#define DESCRIPTORS_JSON  100 /* in JSON */

static const struct kernel_descriptor *descriptor_known(struct inspection *in, int fd)
{
	return kernel_state_ask(&in->kernel, fd);
}

/* "socket 127.0.0.1:80, 5 unread". */
static void print_descriptor_state(struct printer *p, const struct kernel_descriptor *d)
{
	const struct descriptor_state *state = &d->state;

	print_text(p, ": %s", descriptor_kind_name(state->kind));
	if (state->is_listening)
		print_text(p, ", listening");
	if (state->peer[0]) {
		print_text(p, ", peer ");
		print_safe(p, state->peer, 0);
	}
	if (state->has_hung_up)
		print_text(p, ", the peer has closed it");
	if (state->unread)
		print_text(p, ", %llu %s", (unsigned long long)state->unread,
			   state->kind == DESCRIPTOR_TIMERFD   ? "expirations not read"
			   : state->kind == DESCRIPTOR_EVENTFD ? "in its counter"
							       : "bytes unread");
	if (!d->is_watched)
		print_text(p, ", in no epoll set");
	else if (d->watch.is_disarmed)
		print_text(p, ", one-shot and disarmed in epoll set %d", d->watch.epoll_fd);
	else
		print_text(p, ", %s%sin epoll set %d", d->watch.is_edge ? "edge-triggered " : "",
			   d->watch.is_one_shot ? "one-shot " : "", d->watch.epoll_fd);
}

void print_descriptor(struct inspection *in, struct printer *p, int fd, bool is_certain)
{
	const struct kernel_descriptor *d = descriptor_known(in, fd);

	print_object(p, NULL);
	print_integer(p, "descriptor", "descriptor %s", fd);
	print_flag(p, "in_awaiter", NULL, is_certain);
	if (d && d->error == -EBADF) {
		print_text(p, ": closed");
		print_string(p, "state", "closed");
	} else if (d && !d->error) {
		print_descriptor_state(p, d);
		print_string(p, "state", "open");
		print_string(p, "type", descriptor_kind_name(d->state.kind));
		print_string(p, "peer", d->state.peer[0] ? d->state.peer : NULL);
		print_flag(p, "readable", NULL, d->state.can_read);
		print_flag(p, "writable", NULL, d->state.can_write);
		print_number(p, "unread", NULL, d->state.unread);
		print_flag(p, "watched", NULL, d->is_watched);
		print_flag(p, "disarmed", NULL, d->is_watched && d->watch.is_disarmed);
		print_flag(p, "edge_triggered", NULL, d->is_watched && d->watch.is_edge);
	} else {
		print_string(p, "state", NULL);
	}
	print_object_end(p);
}

static size_t group_count_descriptors(const struct inspection *in, const struct inspect_group *g)
{
	size_t i, nr = 0;

	for (i = 0; i < g->count; i++)
		nr += in->waits[in->members[g->first + i]].fd >= 0;
	return nr;
}

static void print_descriptors(struct inspection *in, struct printer *p,
			      const struct inspect_group *g, size_t nr)
{
	size_t i, shown = 0, most = p->is_json ? DESCRIPTORS_JSON : DESCRIPTORS_SHOWN;
	bool is_certain = true;

	print_object(p, "waits_for");
	print_string(p, "kind", "descriptor");
	print_list(p, "descriptors");
	for (i = 0; i < g->count && shown < most; i++) {
		const struct frame_wait *wait = &in->waits[in->members[g->first + i]];

		if (wait->fd < 0)
			continue;
		is_certain = is_certain && wait->is_in_awaiter;
		print_text(p, shown        ? "              "
			      : is_certain ? "   waits for: "
					   : "   holds: ");
		print_descriptor(in, p, wait->fd, wait->is_in_awaiter);
		print_text(p, "\n");
		shown++;
	}
	print_list_end(p);
	if (shown < nr)
		print_text(p, "              and %zu more\n", nr - shown);
	print_object_end(p);
}

void print_waits_for(struct inspection *in, struct printer *p, const struct inspect_group *g)
{
	struct inspect_place place = inspection_place(in, g->stack);
	size_t nr = g->is_tokio ? 0 : group_count_descriptors(in, g);

	if (g->is_tokio && !place.is_initial) {
		print_tokio_wait(in, p, g);
	} else if (nr) {
		print_descriptors(in, p, g, nr);
	} else if (print_described_wait(in, p, g)) {
		return;
	} else if (place.is_initial) {
		print_object(p, "waits_for");
		print_string(p, "kind", "start");
		print_object_end(p);
	} else if (place.awaits) {
		print_object(p, "waits_for");
		print_string(p, "kind", "awaiter");
		print_string(p, "type", place.awaits);
		print_object_end(p);
	} else {
		print_string(p, "waits_for", NULL);
	}
}
