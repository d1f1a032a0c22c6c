"""Waits that take no time: what sleeps is told that it has."""

import asyncio
import time

slept = 0.0
_yield = asyncio.sleep


def _sleep(seconds):
    global slept
    slept += seconds


async def _sleep_async(seconds, result=None):
    _sleep(seconds)
    await _yield(0)
    return result


# Before the helpers are imported, which may keep a reference.
time.sleep = _sleep
asyncio.sleep = _sleep_async
