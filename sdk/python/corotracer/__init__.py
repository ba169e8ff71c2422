# SPDX-License-Identifier: MIT
"""Trace the tasks of an asyncio program with the corotracer tool.

    import corotracer
    corotracer.install()          # before the event loop is created

or, without a change of the program, `corotracer run -- python -m corotracer program.py`.
"""
import asyncio
import asyncio.base_events
import collections.abc

from . import _tasks

__all__ = ["enabled", "install", "task_factory", "trace_loop"]

enabled = _tasks.enabled
_tasks.init(asyncio.Task, asyncio.CancelledError, asyncio.__file__, __file__)
collections.abc.Coroutine.register(_tasks.TracedCoroutine)


def task_factory(loop, coro, **options):
    """A task whose coroutine is traced, for loop.set_task_factory()."""
    return asyncio.Task(_tasks.TracedCoroutine(coro, options.get("name")), loop=loop, **options)


def _traced_create_task(create_task):
    """create_task() of a loop; a task factory of the program gets the traced coroutine."""
    def create_traced_task(coro, *, name=None, **options):
        return create_task(_tasks.TracedCoroutine(coro, name), name=name, **options)
    return create_traced_task


def trace_loop(loop):
    """Trace the tasks that this loop creates from now on."""
    try:
        loop.call_soon = _tasks.TracedCallSoon(loop.call_soon)
        loop.create_task = _traced_create_task(loop.create_task)
    except AttributeError:
        # The methods of a loop that is written in C cannot be replaced: no wake-ups, no names of tasks.
        loop.set_task_factory(task_factory)
    return loop


def _trace_locks():
    """Report which task holds a lock, so that a deadlock can be told from a queue."""
    acquire, release = asyncio.Lock.acquire, asyncio.Lock.release

    async def traced_acquire(self):
        result = await acquire(self)
        _tasks.acquired(self)
        return result

    def traced_release(self):
        _tasks.released(self)
        return release(self)

    asyncio.Lock.acquire, asyncio.Lock.release = traced_acquire, traced_release


def install():
    """Trace every loop that is created from now on, and locks.  A second call does nothing."""
    base = asyncio.base_events.BaseEventLoop
    if getattr(base.__init__, "is_traced", False):
        return
    original = base.__init__

    def traced_init(self, *args, **options):
        original(self, *args, **options)
        trace_loop(self)

    traced_init.is_traced = True
    base.__init__ = traced_init
    _trace_locks()
