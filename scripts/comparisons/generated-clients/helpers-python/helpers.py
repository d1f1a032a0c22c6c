"""Helpers that repeat requests: as one begins with each, and with the setting that fits this service, whose text is that
of the page. Caches, and a parser of the headers that tell a quota."""

import asyncio
import tempfile

import waits  # first: they may keep a reference to time.sleep

import aiohttp
import aiohttp_retry
import cachecontrol
import hishel.httpx
import httpx
import httpx_retries
import ratelimit_headers
import requests
import requests_cache
import urllib3
from azure.core.pipeline import policies
from azure.core.pipeline.transport import RequestsTransport
from azure.core.rest import HttpRequest
from azure.core import PipelineClient


def with_urllib3(retries):
    def send(url, method, headers, body):
        return urllib3.PoolManager(retries=retries).request(method, url, headers=headers, body=body).status

    return send


def with_requests(retries):
    def send(url, method, headers, body):
        session = requests.Session()
        session.mount("http://", requests.adapters.HTTPAdapter(max_retries=retries))
        return session.request(method, url, headers=headers, data=body).status_code

    return send


def with_httpx(retry):
    def send(url, method, headers, body):
        with httpx.Client(transport=httpx_retries.RetryTransport(retry=retry)) as client:
            return client.request(method, url, headers=headers, content=body).status_code

    return send


def with_aiohttp(options):
    async def run(url, method, headers, body):
        async with aiohttp_retry.RetryClient(retry_options=options) as client:
            async with client.request(method, url, headers=headers, data=body) as response:
                return response.status

    return lambda *request: asyncio.run(run(*request))


def with_azure(policy):
    def send(url, method, headers, body):
        client = PipelineClient(url, policies=[policy], transport=RequestsTransport())
        return client.send_request(HttpRequest(method, url, headers=headers, content=body)).status_code

    return send


# By name: how a request is sent with these options, those that one begins with, and the text of those that fit.
HELPERS = {
    "urllib3": (with_urllib3, None, "urllib3.Retry(2, retry_after_max=60)"),
    "requests": (
        with_requests,
        urllib3.Retry(3, status_forcelist=[429, 503]),
        "urllib3.Retry(2, status_forcelist=[429, 503], retry_after_max=60)",
    ),
    "httpx-retries": (with_httpx, httpx_retries.Retry(), "httpx_retries.Retry(total=2, max_backoff_wait=60)"),
    "aiohttp-retry": (
        with_aiohttp,
        aiohttp_retry.ExponentialRetry(attempts=3),
        "aiohttp_retry.ExponentialRetry(retry_all_server_errors=False)",
    ),
    "azure-core": (with_azure, policies.RetryPolicy(), "policies.RetryPolicy(retry_total=0)"),
}


def cached_by(session):
    return lambda url, headers: session.get(url, headers=headers).text


def in_new_folder():
    return hishel.SqliteStorage(database_path=f"{tempfile.mkdtemp()}/cache")


CACHES = {
    "requests-cache": lambda: cached_by(requests_cache.CachedSession(backend="memory")),
    "requests-cache, `cache_control=True`": lambda: cached_by(
        requests_cache.CachedSession(backend="memory", cache_control=True)
    ),
    "cachecontrol": lambda: cached_by(cachecontrol.CacheControl(requests.Session())),
    "hishel": lambda: cached_by(hishel.httpx.CacheClient(storage=in_new_folder())),
    "hishel, `rfc=CacheOptions(shared=False)`": lambda: cached_by(
        hishel.httpx.CacheClient(storage=in_new_folder(), rfc=hishel.CacheOptions(shared=False))
    ),
}


def remaining(headers):
    """The requests that are left, as ratelimit-headers reads them."""
    return ratelimit_headers.parse(response_headers=headers).remaining
