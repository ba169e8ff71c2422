# SPDX-License-Identifier: MIT
"""bank_server.py PORT - an aiohttp server with three faults: two transfers in opposite directions
wait for each other's lock, a handler waits for a future that is never done, and a consumer waits
for a queue that has no producer left.  Nothing in it knows about corotracer.
"""
import asyncio
import sys

from aiohttp import web


class Bank:
    def __init__(self):
        self.accounts = {"a": asyncio.Lock(), "b": asyncio.Lock()}
        self.both_hold = asyncio.Barrier(2) if hasattr(asyncio, "Barrier") else None

    async def transfer(self, source, target):
        async with self.accounts[source]:
            if self.both_hold:
                await self.both_hold.wait()
            else:
                await asyncio.sleep(0.5)
            async with self.accounts[target]:
                return f"{source} to {target}\n"


async def pay(request):
    return web.Response(text=await request.app["bank"].transfer(request.match_info["source"], request.match_info["target"]))


async def hello(request):
    await asyncio.sleep(0.001)
    return web.Response(text="hello\n")


async def forgotten(request):
    waiter = asyncio.get_running_loop().create_future()
    return web.Response(text=await waiter)


async def consume(queue):
    while True:
        await queue.get()


async def on_startup(app):
    app["bank"] = Bank()
    app["consumer"] = asyncio.create_task(consume(asyncio.Queue()), name="consumer")


def make_app():
    app = web.Application()
    app.on_startup.append(on_startup)
    app.add_routes([web.get("/", hello), web.get("/forgotten", forgotten), web.get("/pay/{source}/{target}", pay)])
    return app


if __name__ == "__main__":
    web.run_app(make_app(), host="127.0.0.1", port=int(sys.argv[1]), print=None)
