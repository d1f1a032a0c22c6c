import os

from items_client import Client
from items_client.api.default import patch_item
from items_client.models import ItemPatch

client = Client(base_url=os.environ["URL"])
patch_item.sync(1, client=client, body=ItemPatch(note=None))
try:
    from items_client.api.default import patch_both
except NameError:  # of a type that the module of an operation with two media types does not import
    pass
else:
    patch_both.sync(1, client=client, body=ItemPatch(note=None))
