# SPDX-License-Identifier: MIT
"""task_manners.py - what programs rely on: results, exceptions, cancellation, groups, generators,
names, stacks and context of tasks.  Prints the same with and without tracing.
"""
import asyncio
import contextvars
import inspect

VARIABLE = contextvars.ContextVar("variable", default=0)


async def child(value, delay=0.001):
    await asyncio.sleep(delay)
    return value


async def failing():
    await asyncio.sleep(0)
    raise ValueError("wanted")


async def stubborn():
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        await asyncio.sleep(0.001)
        return "cleaned up"


async def numbers(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def results():
    print(await asyncio.gather(child(1), child(2), child(3)))
    print(await asyncio.wait_for(child(4), 300))
    try:
        await asyncio.create_task(failing())
    except ValueError as e:
        print("ValueError", e)
    print([i async for i in numbers(4)])


async def cancellation():
    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    task.cancel()
    print(await task, task.cancelled())
    task = asyncio.create_task(child(5, 3600))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled", task.cancelled())
    try:
        await asyncio.wait_for(child(6, 3600), 0.01)
    except asyncio.TimeoutError:
        print("timeout")


async def primitives():
    lock, queue, event = asyncio.Lock(), asyncio.Queue(1), asyncio.Event()

    async def producer():
        for i in range(3):
            async with lock:
                await queue.put(i)
        event.set()

    task = asyncio.create_task(producer())
    print([await queue.get() for _ in range(3)])
    await event.wait()
    await task
    print(lock.locked())


async def looks():
    task = asyncio.create_task(child(7), name="explicit name")
    await asyncio.sleep(0)
    print(task.get_name(), len(task.get_stack()), asyncio.iscoroutine(task.get_coro()), inspect.iscoroutinefunction(child))
    VARIABLE.set(8)
    inner = asyncio.create_task(read_variable())
    print(await task, await inner)


async def read_variable():
    return VARIABLE.get()


async def main():
    await results()
    await cancellation()
    await primitives()
    await looks()


asyncio.run(main())
