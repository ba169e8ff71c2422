/* SPDX-License-Identifier: MIT */
/*
 * _tasks.c - asyncio tasks, traced: a coroutine around the coroutine of a task, and a call_soon()
 * around the one of a loop.
 *
 * The event loop drives a task by sending values into its coroutine.  TracedCoroutine stands
 * between: it reports a resume before and a suspension after each send, and passes everything else
 * on.  Without the tool a send costs a load and a branch more.
 *
 * The interpreter's lock (GIL) orders the events of a coroutine.
 */
#include "_places.h"

#include <structmember.h>

struct traced_coroutine {
	PyObject_HEAD PyObject *coro;
	struct corotracer_coro trace;
	PyObject *weak_references;
};

struct traced_call_soon {
	PyObject_HEAD PyObject *call; /* the loop's own */
	vectorcallfunc vectorcall;
};

static PyTypeObject *coroutine_type, *call_soon_type;
static PyTypeObject *task_type; /* asyncio.Task */
static PyObject *cancelled_error, *get_coro_name;
static __thread struct traced_coroutine *running;

static int is_traced(const struct traced_coroutine *t)
{
	return corotracer__is_open(&t->trace);
}

/* ---- the wait of a task -----------------------------------------------------------------------
 */

/* The traced coroutine of a task, borrowed; NULL if it has none. */
static struct traced_coroutine *coroutine_of_task(PyObject *task)
{
	PyObject *coro = PyObject_CallMethodNoArgs(task, get_coro_name);
	int is_ours = coro && Py_TYPE(coro) == coroutine_type;

	if (!coro)
		PyErr_Clear();
	Py_XDECREF(coro); /* the task keeps it */
	return is_ours ? (struct traced_coroutine *)coro : NULL;
}

/* @yielded is what the coroutine gave to the loop: the future that it waits for, or None. */
static void note_suspension(struct traced_coroutine *t, PyObject *yielded)
{
	struct wait_place place;
	struct traced_coroutine *child;

	place_of_wait(t->coro, &place);
	if (yielded == Py_None) {
		place.reason = CTP_REASON_YIELD;
	} else if (PyObject_TypeCheck(yielded, task_type)) {
		child = coroutine_of_task(yielded);
		place.reason = CTP_REASON_JOIN;
		place.resource = child ? corotracer_id(&child->trace) : 0;
	}
	if (place.resource)
		corotracer_suspend_on(&t->trace, NULL, place.site, place.reason, place.resource);
	else
		corotracer_suspend_at(&t->trace, NULL, place.site, place.reason);
}

static void note_end(struct traced_coroutine *t)
{
	int is_cancelled = PyErr_Occurred() && PyErr_ExceptionMatches(cancelled_error);

	corotracer_finish(&t->trace, is_cancelled ? CTP_END_CANCELLED : 0);
	corotracer_end(&t->trace);
}

/* ---- a coroutine around a coroutine ------------------------------------------------------------
 */

static struct traced_coroutine *step_begin(struct traced_coroutine *t)
{
	struct traced_coroutine *outer = running;

	running = t;
	corotracer_resume(&t->trace);
	return outer;
}

/* @result is NULL, or what was yielded. */
static void step_end(struct traced_coroutine *t, struct traced_coroutine *outer, int has_ended,
		     PyObject *result)
{
	running = outer;
	if (!is_traced(t))
		return;
	if (has_ended)
		note_end(t);
	else
		note_suspension(t, result);
}

static PySendResult coroutine_send(PyObject *self, PyObject *value, PyObject **result)
{
	struct traced_coroutine *t = (struct traced_coroutine *)self, *outer = step_begin(t);
	PySendResult outcome = PyIter_Send(t->coro, value, result);

	step_end(t, outer, outcome != PYGEN_NEXT, *result);
	return outcome;
}

/* The result of a send as a method's: a value, or StopIteration with what was returned. */
static PyObject *value_or_stop(PySendResult outcome, PyObject *result)
{
	if (outcome != PYGEN_RETURN)
		return outcome == PYGEN_NEXT ? result : NULL;
	if (result == Py_None)
		PyErr_SetNone(PyExc_StopIteration);
	else
		_PyGen_SetStopIterationValue(result);
	Py_DECREF(result);
	return NULL;
}

static PyObject *coroutine_send_method(PyObject *self, PyObject *value)
{
	PyObject *result = NULL;
	PySendResult outcome = coroutine_send(self, value, &result);

	return value_or_stop(outcome, result);
}

static PyObject *coroutine_next(PyObject *self)
{
	return coroutine_send_method(self, Py_None);
}

static PyObject *coroutine_throw(PyObject *self, PyObject *args)
{
	struct traced_coroutine *t = (struct traced_coroutine *)self, *outer = step_begin(t);
	PyObject *throw = PyObject_GetAttrString(t->coro, "throw");
	PyObject *result = throw ? PyObject_Call(throw, args, NULL) : NULL;

	Py_XDECREF(throw);
	step_end(t, outer, !result, result);
	return result;
}

static PyObject *coroutine_close(PyObject *self, PyObject *unused)
{
	struct traced_coroutine *t = (struct traced_coroutine *)self;
	PyObject *result = PyObject_CallMethod(t->coro, "close", NULL);

	(void)unused;
	corotracer_end(&t->trace);
	return result;
}

static PyObject *coroutine_await(PyObject *self)
{
	return Py_NewRef(self);
}

/* cr_frame, cr_await, __qualname__ and so on are those of the coroutine inside. */
static PyObject *coroutine_getattr(PyObject *self, PyObject *name)
{
	PyObject *value = PyObject_GenericGetAttr(self, name);

	if (value || !PyErr_ExceptionMatches(PyExc_AttributeError))
		return value;
	PyErr_Clear();
	return PyObject_GetAttr(((struct traced_coroutine *)self)->coro, name);
}

/* The name of a task, or the name of its coroutine's function. */
static void begin(struct traced_coroutine *t, PyObject *name)
{
	PyObject *text = name != Py_None ? Py_NewRef(name)
					 : PyObject_GetAttrString(t->coro, "__qualname__");
	const char *utf8 = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;

	PyErr_Clear();
	corotracer_begin_at(&t->trace, utf8, running ? &running->trace : NULL,
			    corotracer_enabled() ? place_of_caller() : NULL);
	Py_XDECREF(text);
}

static PyObject *coroutine_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "coro", "name", NULL };
	PyObject *coro, *name = Py_None;
	struct traced_coroutine *t;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O", names, &coro, &name))
		return NULL;
	t = (struct traced_coroutine *)type->tp_alloc(type, 0);
	if (!t)
		return NULL;
	t->coro = Py_NewRef(coro);
	begin(t, name);
	return (PyObject *)t;
}

static int coroutine_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(((struct traced_coroutine *)self)->coro);
	Py_VISIT(Py_TYPE(self));
	return 0;
}

static int coroutine_clear(PyObject *self)
{
	Py_CLEAR(((struct traced_coroutine *)self)->coro);
	return 0;
}

static void coroutine_dealloc(PyObject *self)
{
	struct traced_coroutine *t = (struct traced_coroutine *)self;
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	if (t->weak_references)
		PyObject_ClearWeakRefs(self);
	Py_CLEAR(t->coro);
	corotracer_end(&t->trace);
	type->tp_free(self);
	Py_DECREF(type);
}

static PyMethodDef coroutine_methods[] = {
	{ "send", coroutine_send_method, METH_O, NULL },
	{ "throw", coroutine_throw, METH_VARARGS, NULL },
	{ "close", coroutine_close, METH_NOARGS, NULL },
	{ 0 },
};

static struct PyMemberDef coroutine_members[] = {
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(struct traced_coroutine, weak_references),
	  READONLY, NULL },
	{ 0 },
};

static PyType_Slot coroutine_slots[] = {
	{ Py_tp_doc, "A coroutine that reports its suspensions to corotracer" },
	{ Py_tp_new, coroutine_new },
	{ Py_tp_dealloc, coroutine_dealloc },
	{ Py_tp_traverse, coroutine_traverse },
	{ Py_tp_clear, coroutine_clear },
	{ Py_tp_getattro, coroutine_getattr },
	{ Py_tp_methods, coroutine_methods },
	{ Py_tp_members, coroutine_members },
	{ Py_tp_iter, coroutine_await },
	{ Py_tp_iternext, coroutine_next },
	{ Py_am_await, coroutine_await },
	{ Py_am_send, coroutine_send },
	{ 0 },
};

static PyType_Spec coroutine_spec = {
	.name = "corotracer._tasks.TracedCoroutine",
	.basicsize = sizeof(struct traced_coroutine),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
	.slots = coroutine_slots,
};

/* ---- wake-ups ----------------------------------------------------------------------------------
 */

/*
 * A future that is done asks its loop to call the wake-up of each task that waits for it: a C
 * function that is bound to the task.
 */
static void note_wake(PyObject *callback)
{
	PyObject *task = PyCFunction_Check(callback) ? PyCFunction_GET_SELF(callback) : NULL;
	struct traced_coroutine *t;

	if (!task || !PyObject_TypeCheck(task, task_type))
		return;
	t = coroutine_of_task(task);
	if (t && is_traced(t))
		corotracer_wake_at(&t->trace, running ? &running->trace : NULL, NULL,
				   CTP_REASON_UNKNOWN);
}

static PyObject *call_soon(PyObject *self, PyObject *const *args, size_t nr, PyObject *names)
{
	if (PyVectorcall_NARGS(nr) > 0 && corotracer_enabled())
		note_wake(args[0]);
	return PyObject_Vectorcall(((struct traced_call_soon *)self)->call, args, nr, names);
}

static PyObject *call_soon_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	PyObject *call;
	struct traced_call_soon *c;

	if (!PyArg_ParseTuple(args, "O", &call) || (keywords && PyDict_GET_SIZE(keywords)))
		return NULL;
	c = (struct traced_call_soon *)type->tp_alloc(type, 0);
	if (!c)
		return NULL;
	c->call = Py_NewRef(call);
	c->vectorcall = call_soon;
	return (PyObject *)c;
}

static int call_soon_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(((struct traced_call_soon *)self)->call);
	Py_VISIT(Py_TYPE(self));
	return 0;
}

static int call_soon_clear(PyObject *self)
{
	Py_CLEAR(((struct traced_call_soon *)self)->call);
	return 0;
}

static void call_soon_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	call_soon_clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

static struct PyMemberDef call_soon_members[] = {
	{ "__vectorcalloffset__", T_PYSSIZET, offsetof(struct traced_call_soon, vectorcall),
	  READONLY, NULL },
	{ 0 },
};

static PyType_Slot call_soon_slots[] = {
	{ Py_tp_doc, "call_soon() of a loop that reports the tasks it makes ready" },
	{ Py_tp_new, call_soon_new },
	{ Py_tp_dealloc, call_soon_dealloc },
	{ Py_tp_traverse, call_soon_traverse },
	{ Py_tp_clear, call_soon_clear },
	{ Py_tp_members, call_soon_members },
	{ Py_tp_call, PyVectorcall_Call },
	{ 0 },
};

static PyType_Spec call_soon_spec = {
	.name = "corotracer._tasks.TracedCallSoon",
	.basicsize = sizeof(struct traced_call_soon),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
	.slots = call_soon_slots,
};

/* ---- the module --------------------------------------------------------------------------------
 */

static PyObject *enabled(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyBool_FromLong(corotracer_enabled());
}

/* init(task type, CancelledError, a file of asyncio, a file of this package) */
static PyObject *init(PyObject *module, PyObject *args)
{
	PyObject *task, *error;
	const char *asyncio_file, *own_file;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!Oss", &PyType_Type, &task, &error, &asyncio_file, &own_file))
		return NULL;
	if (!task_type && places_init(asyncio_file, own_file) != 0)
		return PyErr_NoMemory();
	task_type = (PyTypeObject *)Py_NewRef(task);
	cancelled_error = Py_NewRef(error);
	corotracer_init();
	Py_RETURN_NONE;
}

/* The running task holds the lock from now on. */
static PyObject *acquired(PyObject *module, PyObject *lock)
{
	(void)module;
	if (running && is_traced(running))
		corotracer_acquired_at(&running->trace, (uint64_t)(uintptr_t)lock,
				       place_of_caller());
	Py_RETURN_NONE;
}

/* The lock is free; any task may release it. */
static PyObject *released(PyObject *module, PyObject *lock)
{
	(void)module;
	if (running && is_traced(running))
		corotracer_released_at(&running->trace, (uint64_t)(uintptr_t)lock,
				       place_of_caller());
	Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
	{ "acquired", acquired, METH_O, NULL },
	{ "released", released, METH_O, NULL },
	{ "enabled", enabled, METH_NOARGS, "True while a collector is attached" },
	{ "init", init, METH_VARARGS, NULL },
	{ 0 },
};

static struct PyModuleDef module_definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "corotracer._tasks",
	.m_size = -1,
	.m_methods = module_methods,
};

PyMODINIT_FUNC PyInit__tasks(void)
{
	PyObject *module = PyModule_Create(&module_definition);

	coroutine_type = (PyTypeObject *)PyType_FromSpec(&coroutine_spec);
	call_soon_type = (PyTypeObject *)PyType_FromSpec(&call_soon_spec);
	get_coro_name = PyUnicode_InternFromString("get_coro");
	if (!module || !coroutine_type || !call_soon_type || !get_coro_name ||
	    PyModule_AddObjectRef(module, "TracedCoroutine", (PyObject *)coroutine_type) < 0 ||
	    PyModule_AddObjectRef(module, "TracedCallSoon", (PyObject *)call_soon_type) < 0)
		return NULL;
	return module;
}
