"""Awaits at the top level, runs an event loop's tasks and leaves one unfinished."""

# %%
import asyncio

await asyncio.sleep(0.01)


async def later():
    await asyncio.sleep(1000)


task = asyncio.ensure_future(later())
await asyncio.gather(*(asyncio.sleep(0) for _ in range(10)))
