"""A session with the tools that FastMCP makes, as a language model has them. Exits with 1 at the first unexpected result."""

import asyncio
import os
import sys

from fastmcp import Client
from fastmcp.exceptions import ToolError

import server

EXACT = 9223372036854775807


def expect(label, ok, *actual):
    if not ok:
        sys.exit(f"{label}: {actual}")
    print(label)


async def refused(label, call, *texts):
    try:
        expect(label, False, await call)
    except ToolError as error:
        expect(label, all(text in str(error) for text in texts), error)


async def tool_of(tools, name):
    return next(tool for tool in await tools.list_tools() if tool.name == name)


async def main():
    async with Client(server.tools) as tools:
        described = (await tool_of(tools, "listPets")).input_schema["properties"]
        expect("texts", described["after"]["description"].startswith("Return the animals after this id"), described)
        expect("deprecated", (await tool_of(tools, "getPet")).description.startswith("Deprecated"))

        async def call(name, /, **arguments):
            return (await tools.call_tool(name, arguments)).structured_content

        async def page(**arguments):
            return (await call("listPets", **arguments))["result"]

        for category in (EXACT, -EXACT - 1, 9007199254740993):
            arguments = {"name": "Zoë", "categoryId": category, "status": "sold"}
            created = await call("createPet", **arguments)
            expect(f"create {category}", created["categoryId"] == category, created)
            read = await page(after=created["id"] - 1, limit=1)
            expect("read by its id", read == [created], read)
        ids = []
        while more := await page(limit=1, **({"after": ids[-1]} if ids else {})):
            ids += [pet["id"] for pet in more]
        expect("all pages", ids == sorted(set(ids)) and len(ids) >= 3, ids)

        await refused("400", call("createPet", name="Bo", categoryId="3"), "categoryId")
        # What it does by itself: it leaves out nulls, and arguments that no parameter has.
        bo = {"name": "Bo", "categoryId": 3}
        expect("null", "status" not in await call("createPet", **bo, status=None))
        expect("unknown", (await call("createPet", **bo, color="red"))["name"] == "Bo")

    # It replaces the text of a 429, which says how long to wait.
    limited = "Rate limited by upstream API"
    for key, calls, text in (("wrong", 0, "invalid_api_key"), (os.environ["FREE_KEY"], 60, limited)):
        server.client.headers["Authorization"] = f"Bearer {key}"
        async with Client(server.tools) as tools:
            for _ in range(calls):
                await tools.call_tool("listPets", {"limit": 1})
            await refused(text, tools.call_tool("listPets", {"limit": 1}), text)


asyncio.run(main())
