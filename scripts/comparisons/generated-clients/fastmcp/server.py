"""The contract's operations as tools, for a language model: an MCP server on standard input and output."""

import os

import httpx2 as httpx
from fastmcp import FastMCP

origin, url, key = (os.environ[name] for name in ("ORIGIN", "URL", "KEY"))
client = httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"})
tools = FastMCP.from_openapi(httpx.get(f"{origin}/openapi.json").json(), client=client, name="animals")

if __name__ == "__main__":
    tools.run()
