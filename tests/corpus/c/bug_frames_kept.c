/* SPDX-License-Identifier: MIT */
/*
 * bug_frames_kept.c - the frames of finished uploads are freed by the reader of their result; the
 * results of uploads that were resumed after a break are read by no one.
 *
 * corpus: bug
 * class: never-destroyed
 * victims: resumed-*
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_UPLOADS 200

struct upload {
	struct corotracer_coro trace;
	int steps_left;
};

static struct upload *uploads[NR_UPLOADS];

static void upload_start(int number)
{
	struct upload *u = calloc(1, sizeof(*u));
	char name[32];

	if (!u)
		abort();
	snprintf(name, sizeof(name), number % 8 == 5 ? "resumed-%d" : "upload-%d", number);
	corotracer_spawn(&u->trace, name, NULL);
	u->steps_left = 4;
	uploads[number] = u;
}

static void upload_step(int number)
{
	struct upload *u = uploads[number];

	corotracer_wake(&u->trace, NULL);
	corotracer_resume(&u->trace);
	if (--u->steps_left > 0) {
		corotracer_await(&u->trace, CTP_REASON_USER, u);
		return;
	}
	corotracer_done(&u->trace);
	uploads[number] = NULL;
	if (number % 8 != 5) { /* the reader of the result */
		corotracer_end(&u->trace);
		free(u);
	}
}

int main(void)
{
	int i, tick;

	corotracer_init();
	for (tick = 0; tick < NR_UPLOADS + 10; tick++) {
		if (tick < NR_UPLOADS)
			upload_start(tick);
		for (i = 0; i < NR_UPLOADS; i++) {
			if (uploads[i])
				upload_step(i);
		}
		nanosleep(&(struct timespec){ 0, 6000000 }, NULL);
	}
	return 0;
}
