/* SPDX-License-Identifier: MIT */
/*
 * unload.c - libraries with buffers are loaded and unloaded.
 *
 *	unload PLUGIN OTHER
 *
 * Both have a buffer of the same name, generated in two ways.  Each is attached
 * separately; unloading a library removes its mapping, and threads that saved into it
 * end normally.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include "check.h"
#include "frames_collector.h"

#define FRAME_SIZE 12u
#define STRIDE     16u

struct plugin {
	void *library;
	void (*save)(int value);
	struct ppt_hmem *hmem;
	struct collector c;
};

static sem_t saved, unloaded;

static void load(struct plugin *p, const char *path)
{
	void *save;

	p->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!p->library)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(p->library != NULL);
	save = dlsym(p->library, "plugin_save");
	memcpy(&p->save, &save, sizeof(save));
	p->hmem = dlsym(p->library, "__ppt_Plugin_hmem");
	CHECK(p->save && p->hmem && dlsym(p->library, "__ppt_Plugin_json"));
	memset(&p->c, 0, sizeof(p->c));
	p->c.hmem = p->hmem;
	p->c.frame_size = FRAME_SIZE;
	p->c.stride = STRIDE;
	collector_create(&p->c, 64, 0);
}

static void *save_and_wait(void *arg)
{
	struct plugin *p = arg;

	p->save(1);
	sem_post(&saved);
	sem_wait(&unloaded);
	return NULL; /* the thread-exit hook of the unloaded library must not be called */
}

static void check_value(const unsigned char *frame, void *arg)
{
	int value;

	memcpy(&value, frame + 4, 4);
	CHECK_EQ(value, *(int *)arg);
}

int main(int argc, char **argv)
{
	struct plugin a, b;
	pthread_t thread;
	int round, one = 1, two = 2;

	CHECK_EQ(argc, 3);
	sem_init(&saved, 0, 0);
	sem_init(&unloaded, 0, 0);
	for (round = 0; round < 20; round++) {
		load(&a, argv[1]);
		load(&b, argv[2]);
		CHECK(a.hmem != b.hmem);
		collector_offer(&a.c);
		a.save(1);
		b.save(2); /* no collector has attached to it */
		collector_offer(&b.c);
		b.save(2);
		CHECK(pthread_create(&thread, NULL, save_and_wait, &a) == 0);
		sem_wait(&saved);
		CHECK(collector_attached(&a.c) && collector_attached(&b.c));
		collector_drain(&a.c, check_value, &one);
		collector_drain(&b.c, check_value, &two);
		CHECK_EQ(a.c.received, 2);
		CHECK_EQ(b.c.received, 1);
		CHECK(dlclose(a.library) == 0 && dlclose(b.library) == 0);
		sem_post(&unloaded);
		CHECK(pthread_join(thread, NULL) == 0);
		/* Unmapped with the library: no process has the segments attached any more. */
		CHECK(collector_close(&a.c));
		CHECK(collector_close(&b.c));
	}
	printf("ok - libraries with buffers come and go\n");
	return 0;
}
