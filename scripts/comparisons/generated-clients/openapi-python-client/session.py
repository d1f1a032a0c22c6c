"""A session with the client that openapi-python-client generates. Exits with 1 at the first unexpected result."""

import os
import sys

from animal_store_service_client import AuthenticatedClient
from animal_store_service_client.api.animals import create_pet, get_pet, list_pets
from animal_store_service_client.models import Error, ErrorCode, NewPet, PetStatus

EXACT = 9223372036854775807


def open_store(url, key):
    return AuthenticatedClient(base_url=os.environ[url], token=key)


def expect(label, ok, *actual):
    if not ok:
        sys.exit(f"{label}: {actual}")
    print(label)


def refused(label, answer, status, code):
    error = answer.parsed
    expect(label, isinstance(error, Error) and answer.status_code == status and error.code == code, answer)


store = open_store("URL", os.environ["KEY"])
pet = NewPet(name="Zoë", category_id=EXACT, status=PetStatus.SOLD)
created = create_pet.sync(client=store, body=pet, idempotency_key=os.environ["IDEMPOTENCY_KEY"])
read = get_pet.sync(created.id, client=store)
expect("create and read", (read.name, read.category_id, read.status) == ("Zoë", EXACT, PetStatus.SOLD), read)
again = create_pet.sync(client=store, body=pet, idempotency_key=os.environ["IDEMPOTENCY_KEY"])
expect("create again", again.id == created.id, again)
create_pet.sync(client=store, body=NewPet(name="Bo", category_id=-EXACT - 1))

first = list_pets.sync(client=store, limit=1)
second = list_pets.sync(client=store, limit=1, after=first[-1].id)
expect("next page", len(second) == 1 and second[0].id > first[0].id, first, second)

refused("400", list_pets.sync_detailed(client=store, limit=0), 400, ErrorCode.INVALID_REQUEST)
refused("401", list_pets.sync_detailed(client=open_store("URL", "wrong")), 401, ErrorCode.INVALID_API_KEY)
refused("404", get_pet.sync_detailed(EXACT, client=store), 404, ErrorCode.PET_NOT_FOUND)

free = open_store("URL", os.environ["FREE_KEY"])
while (answer := list_pets.sync_detailed(client=free)).status_code == 200:
    pass
refused("429", answer, 429, ErrorCode.RATE_LIMIT_EXCEEDED)
expect("Retry-After", int(answer.headers["Retry-After"]) > 0, answer.headers)

future = open_store("FUTURE_URL", "key")
expect("new field and status", list_pets.sync(client=future)[0].status == "reserved")
refused("new error code", get_pet.sync_detailed(1, client=future), 404, "pet_reserved")
