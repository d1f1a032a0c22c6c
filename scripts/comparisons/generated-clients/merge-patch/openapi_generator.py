import os

from openapi_client import ApiClient, Configuration, DefaultApi, ItemPatch

items = DefaultApi(ApiClient(Configuration(host=os.environ["URL"])))
items.patch_item(1, ItemPatch(note=None))
items.patch_both(1, ItemPatch(note=None))
