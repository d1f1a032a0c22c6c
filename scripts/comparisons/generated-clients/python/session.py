"""A session with the client that openapi-generator generates for Python. Exits with 1 at the first unexpected result."""

import os
import sys

from animal_store import AnimalsApi, ApiClient, ApiException, Configuration, Error, ErrorCode, NewPet, PetStatus
from pydantic import ValidationError

EXACT = 9223372036854775807


def open_store(url, key):
    configuration = Configuration(host=os.environ[url], access_token=key)
    configuration.retries = False  # by default it waits for Retry-After, and never returns a 429
    return AnimalsApi(ApiClient(configuration))


def expect(label, ok, *actual):
    if not ok:
        sys.exit(f"{label}: {actual}")
    print(label)


def refused(label, call, status, code):
    try:
        call()
    except ApiException as error:
        typed = isinstance(error.data, Error)
        expect(label, typed and error.status == status and error.data.code == code, error)
        return error
    sys.exit(f"{label}: not refused")


store = open_store("URL", os.environ["KEY"])
pet = NewPet(name="Zoë", category_id=EXACT, status=PetStatus.SOLD)
created = store.create_pet(pet, idempotency_key=os.environ["IDEMPOTENCY_KEY"])
read = store.get_pet(created.id)
expect("create and read", (read.name, read.category_id, read.status) == ("Zoë", EXACT, PetStatus.SOLD), read)
again = store.create_pet(pet, idempotency_key=os.environ["IDEMPOTENCY_KEY"])
expect("create again", again.id == created.id, again)
store.create_pet(NewPet(name="Bo", category_id=-EXACT - 1))

first = store.list_pets(limit=1)
second = store.list_pets(limit=1, after=first[-1].id)
expect("next page", len(second) == 1 and second[0].id > first[0].id, first, second)

try:
    store.list_pets(limit=0)
    sys.exit("400: not refused by the client")
except ValidationError:
    print("400, by the client")
refused("400", lambda: store.list_pets(after=EXACT + 1), 400, ErrorCode.INVALID_REQUEST)
refused("401", lambda: open_store("URL", "wrong").list_pets(), 401, ErrorCode.INVALID_API_KEY)
refused("404", lambda: store.get_pet(EXACT), 404, ErrorCode.PET_NOT_FOUND)

free = open_store("URL", os.environ["FREE_KEY"])


def use_up():
    while True:
        free.list_pets()


error = refused("429", use_up, 429, ErrorCode.RATE_LIMIT_EXCEEDED)
expect("Retry-After", int(error.headers["Retry-After"]) > 0, error.headers)

future = open_store("FUTURE_URL", "key")
status = future.list_pets()[0].status
expect("new field and status", status == PetStatus.UNKNOWN_DEFAULT_OPEN_API, status)
refused("new error code", lambda: future.get_pet(1), 404, ErrorCode.UNKNOWN_DEFAULT_OPEN_API)
