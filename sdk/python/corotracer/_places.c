/* SPDX-License-Identifier: MIT */
/*
 * _places.c - find the line that a suspended Python coroutine waits in.
 *
 * A line of a code object becomes a site at its first use and stays one: the SDK wants static
 * storage, and a program has few lines that wait.
 */
#include "_places.h"

#include <string.h>

enum { MAX_DEPTH = 64, MAX_PLACES = 32768 };

/* A line of a function, and what asyncio's functions say about the wait. */
struct known_place {
	struct corotracer_site site;
	uint32_t reason;
	int is_asyncio;
	int is_own;   /* a line of this package */
	int has_self; /* the resource is the object that the method belongs to */
};

static char *asyncio_prefix, *own_prefix;
static PyObject *known_places; /* key of code and line -> capsule */

/* Functions of asyncio that wait: the file, the function, the reason. */
static const struct {
	const char *file, *function;
	uint32_t reason;
	int has_self;
} waiting_functions[] = {
	{ "tasks.py", "sleep", CTP_REASON_TIMER, 0 },
	{ "tasks.py", "wait", CTP_REASON_JOIN, 0 },
	{ "tasks.py", "_wait", CTP_REASON_JOIN, 0 },
	{ "tasks.py", "wait_for", CTP_REASON_JOIN, 0 },
	{ "taskgroups.py", "__aexit__", CTP_REASON_JOIN, 0 },
	{ "taskgroups.py", "_aexit", CTP_REASON_JOIN, 0 },
	{ "locks.py", "Lock.acquire", CTP_REASON_MUTEX, 1 },
	{ "locks.py", "Semaphore.acquire", CTP_REASON_SEMAPHORE, 1 },
	{ "locks.py", "Condition.wait", CTP_REASON_SIGNAL, 1 },
	{ "locks.py", "Event.wait", CTP_REASON_SIGNAL, 1 },
	{ "locks.py", "Barrier._wait", CTP_REASON_SIGNAL, 1 },
	{ "locks.py", "acquire", CTP_REASON_MUTEX, 1 },
	{ "queues.py", "get", CTP_REASON_CHANNEL_RECV, 1 },
	{ "queues.py", "put", CTP_REASON_CHANNEL_SEND, 1 },
	{ "queues.py", "join", CTP_REASON_JOIN, 1 },
	{ "streams.py", "_wait_for_data", CTP_REASON_IO_READ, 0 },
	{ "streams.py", "_drain_helper", CTP_REASON_IO_WRITE, 0 },
	{ "selector_events.py", "sock_recv", CTP_REASON_IO_READ, 0 },
	{ "selector_events.py", "sock_recv_into", CTP_REASON_IO_READ, 0 },
	{ "selector_events.py", "sock_sendall", CTP_REASON_IO_WRITE, 0 },
	{ "selector_events.py", "sock_accept", CTP_REASON_ACCEPT, 0 },
	{ "selector_events.py", "sock_connect", CTP_REASON_CONNECT, 0 },
};

/* The directory of a file, with the slash. */
static char *directory_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? strndup(file, (size_t)(slash - file) + 1) : strdup("");
}

int places_init(const char *asyncio_file, const char *own_file)
{
	known_places = PyDict_New();
	asyncio_prefix = directory_of(asyncio_file);
	own_prefix = directory_of(own_file);
	return known_places && asyncio_prefix && own_prefix ? 0 : -1;
}

static int is_below(const char *file, const char *prefix)
{
	return *prefix && strncmp(file, prefix, strlen(prefix)) == 0;
}

/* "Lock.acquire" matches itself, "acquire" the last word of any class. */
static int is_function(const char *qualified, const char *wanted)
{
	const char *dot = strrchr(qualified, '.');

	return strcmp(qualified, wanted) == 0 || (dot && strcmp(dot + 1, wanted) == 0);
}

static void classify(struct known_place *place)
{
	const char *base = strrchr(place->site.file, '/');

	place->is_own = is_below(place->site.file, own_prefix);
	place->is_asyncio = is_below(place->site.file, asyncio_prefix);
	for (size_t i = 0;
	     place->is_asyncio && i < sizeof(waiting_functions) / sizeof(*waiting_functions); i++) {
		if (!base || strcmp(base + 1, waiting_functions[i].file) != 0 ||
		    !is_function(place->site.function, waiting_functions[i].function))
			continue;
		place->reason = waiting_functions[i].reason;
		place->has_self = waiting_functions[i].has_self;
		return;
	}
}

/* A copy of the text of a code object's attribute that lives as long as the process. */
static char *code_text(PyCodeObject *code, const char *attribute)
{
	PyObject *text = PyObject_GetAttrString((PyObject *)code, attribute);
	const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
	char *copy = utf8 ? strdup(utf8) : NULL;

	Py_XDECREF(text);
	if (!utf8)
		PyErr_Clear();
	return copy;
}

static struct known_place *place_new(PyCodeObject *code, int line)
{
	struct known_place *place = calloc(1, sizeof(*place));

	if (!place)
		return NULL;
	place->site.file = code_text(code, "co_filename");
	place->site.function = code_text(code, "co_qualname"); /* since 3.11 */
	if (!place->site.function)
		place->site.function = code_text(code, "co_name");
	place->site.line = line > 0 ? (uint32_t)line : 0;
	if (place->site.file && place->site.function) {
		classify(place);
		return place;
	}
	free((char *)place->site.file);
	free((char *)place->site.function);
	free(place);
	return NULL;
}

/* Code objects that have a place are kept, so that the address of one is not used again. */
static PyObject *place_add(PyObject *key, PyCodeObject *code, int line)
{
	struct known_place *place = PyDict_GET_SIZE(known_places) < MAX_PLACES
					    ? place_new(code, line)
					    : NULL;
	PyObject *capsule = place ? PyCapsule_New(place, NULL, NULL) : NULL;

	if (!capsule)
		return NULL; /* a few bytes are lost if there is no memory at all */
	if (PyDict_SetItem(known_places, key, capsule) == 0)
		Py_INCREF(code);
	Py_DECREF(capsule);
	return PyDict_GetItemWithError(known_places, key);
}

static struct known_place *place_find(PyCodeObject *code, int line)
{
	/* Objects are aligned to 16 bytes and below 2^47: code and line fit into one number. */
	PyObject *key = PyLong_FromUnsignedLongLong((unsigned long long)(uintptr_t)code >> 4 << 20 |
						    ((unsigned)line & 0xfffff));
	PyObject *capsule = key ? PyDict_GetItemWithError(known_places, key) : NULL;

	if (key && !capsule && !PyErr_Occurred())
		capsule = place_add(key, code, line);
	Py_XDECREF(key);
	return capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
}

static struct known_place *place_of_frame(PyFrameObject *frame)
{
	PyCodeObject *code = PyFrame_GetCode(frame);
	struct known_place *place = place_find(code, PyFrame_GetLineNumber(frame));

	Py_DECREF(code);
	return place;
}

/* The object that the frame's method belongs to, as a number. */
static uint64_t self_of_frame(PyObject *frame)
{
	PyObject *locals = PyObject_GetAttrString(frame, "f_locals");
	PyObject *self = locals ? PyMapping_GetItemString(locals, "self") : NULL;
	uint64_t resource = (uint64_t)(uintptr_t)self;

	Py_XDECREF(locals);
	Py_XDECREF(self);
	return resource;
}

/* Coroutines and generators name their parts differently. */
static PyObject *part_of(PyObject *coro, const char *of_coroutine, const char *of_generator)
{
	PyObject *part = PyObject_GetAttrString(coro, of_coroutine);

	if (!part) {
		PyErr_Clear();
		part = PyObject_GetAttrString(coro, of_generator);
	}
	if (!part)
		PyErr_Clear();
	return part;
}

/* A frame on the way from the task's coroutine to the innermost one. */
static void consider_frame(PyObject *frame, struct wait_place *place)
{
	struct known_place *known = place_of_frame((PyFrameObject *)frame);

	if (!known)
		return;
	if (known->is_own)
		return;
	if (!known->is_asyncio)
		place->site = &known->site;
	if (!known->is_asyncio || known->reason)
		place->reason = known->reason;
	if (known->has_self)
		place->resource = self_of_frame(frame);
}

void place_of_wait(PyObject *coro, struct wait_place *place)
{
	PyObject *next;

	*place = (struct wait_place){ 0 };
	Py_INCREF(coro);
	for (int depth = 0; coro && coro != Py_None && depth < MAX_DEPTH; depth++) {
		PyObject *frame = part_of(coro, "cr_frame", "gi_frame");

		if (frame && PyFrame_Check(frame))
			consider_frame(frame, place);
		Py_XDECREF(frame);
		next = part_of(coro, "cr_await", "gi_yieldfrom");
		Py_DECREF(coro);
		coro = next;
	}
	Py_XDECREF(coro);
	PyErr_Clear();
}

struct corotracer_site *place_of_caller(void)
{
	PyFrameObject *frame = PyEval_GetFrame(), *back;
	struct known_place *known = NULL;

	Py_XINCREF(frame);
	for (int depth = 0; frame && depth < MAX_DEPTH; depth++) {
		known = place_of_frame(frame);
		if (known && !known->is_asyncio && !known->is_own)
			break;
		known = NULL;
		back = PyFrame_GetBack(frame);
		Py_DECREF(frame);
		frame = back;
	}
	Py_XDECREF(frame);
	PyErr_Clear();
	return known ? &known->site : NULL;
}
