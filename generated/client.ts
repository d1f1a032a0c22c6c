// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { ClientTable, Call, RequestOf, StatusOf } from 'contract-client'
import type { Error, NewPet, Pet, operations } from './types.js'

/** The credential of each security scheme of the contract. */
export interface Credentials {
  readonly apiKey: string
}

/** The request of `createPet`. */
export interface CreatePetRequest extends RequestOf<operations["createPet"], { readonly body: NewPet }, Credentials> {}

/** The request of `getPet`. */
export interface GetPetRequest extends RequestOf<operations["getPet"], { readonly body?: never }, Credentials> {}

/** The request of `listPets`. */
export interface ListPetsRequest extends RequestOf<operations["listPets"], { readonly body?: never }, Credentials> {}

/** A function for each operation of the contract. */
export interface Calls {
  /**
   * Add an animal
   *
   * Adds an animal and returns it with the `id` that the service assigns. The service rejects a request with
   * an `id`. `status` has no default: if omitted, it stays absent. Send an `Idempotency-Key` of your own.
   * After a lost response, a 409, a 429 or a 5xx, repeat the request with the same key: the animal is added
   * once. Wait for `Retry-After` first if there is one and it is short enough for you. On 400 the `message`
   * names each invalid field. On 422 the key belongs to another request.
   */
  readonly createPet: Call<CreatePetRequest, Pet>
  /**
   * Deprecated: get an animal
   *
   * Deprecated: use `GET /pets?after=<id - 1>&limit=1`, and compare the `id` in the response. Returns the
   * animal with this `id`, or 404 if there is none. On 429 and 503 repeat the request after `Retry-After`, if
   * that is short enough for you.
   *
   * @deprecated since 2026-11-20, ends on 2030-12-05. Use `listPets` instead.
   */
  readonly getPet: Call<GetPetRequest, Pet>
  /**
   * List animals
   *
   * Returns an array of at most `limit` animals, in ascending order of `id`. For the next page, repeat the
   * request with the `id` of the last animal as `after`. A page with fewer animals than `limit` is the last.
   * If there are more, a `Link` header with `rel="next"` has the URL of the next page. A page costs the same
   * at any depth. Animals that are added while you page cause no other animal to be repeated or skipped. Do
   * not store `after` to poll for new animals: an animal with a lower `id` may appear later. On 400 the
   * `message` names what is wrong. On 429 and 503 repeat the request after `Retry-After`, if that is short
   * enough for you. To get a single animal by its `id`, send `after=<id - 1>&limit=1` and compare the `id` in
   * the response: if this animal does not exist, you get the next one or an empty array.
   */
  readonly listPets: Call<ListPetsRequest, Pet[]>
}

/** The error responses that the contract declares for each operation. */
export interface Errors {
  readonly createPet:
    | { readonly status: 400 | 401 | 409 | 413 | 415 | 422 | 429 | 500 | 503 | Exclude<StatusOf<4 | 5>, 400 | 401 | 409 | 413 | 415 | 422 | 429 | 500 | 503>; readonly body: Error }
  readonly getPet:
    | { readonly status: 400 | 401 | 404 | 429 | 500 | 503 | Exclude<StatusOf<4 | 5>, 400 | 401 | 404 | 429 | 500 | 503>; readonly body: Error }
  readonly listPets:
    | { readonly status: 400 | 401 | 429 | 500 | 503 | Exclude<StatusOf<4 | 5>, 400 | 401 | 429 | 500 | 503>; readonly body: Error }
}

/** The parts of the contract that the client needs at run time. */
export const table: ClientTable = {
  "agent": "animal-store-client/1.0.0",
  "prefix": "/v1",
  "operations": {
    "createPet": {
      "method": "POST",
      "path": "/pets",
      "idempotent": true,
      "security": [
        [
          "apiKey"
        ]
      ],
      "body": {
        "kind": "json",
        "mediaType": "application/json",
        "numbers": "#/components/schemas/NewPet"
      },
      "errors": {
        "default": {
          "application/json": [
            "code",
            "message",
            "status"
          ]
        }
      },
      "numbers": {
        "201": {
          "application/json": "#/components/schemas/Pet"
        }
      }
    },
    "getPet": {
      "method": "GET",
      "path": "/pets/{petId}",
      "security": [
        [
          "apiKey"
        ]
      ],
      "parameters": [
        {
          "name": "petId",
          "in": "path",
          "numbers": "int64"
        }
      ],
      "errors": {
        "default": {
          "application/json": [
            "code",
            "message",
            "status"
          ]
        }
      },
      "numbers": {
        "200": {
          "application/json": "#/components/schemas/Pet"
        }
      },
      "successor": "listPets"
    },
    "listPets": {
      "method": "GET",
      "path": "/pets",
      "security": [
        [
          "apiKey"
        ]
      ],
      "parameters": [
        {
          "name": "limit",
          "in": "query",
          "isFilled": true
        },
        {
          "name": "after",
          "in": "query",
          "numbers": "int64"
        }
      ],
      "errors": {
        "default": {
          "application/json": [
            "code",
            "message",
            "status"
          ]
        }
      },
      "numbers": {
        "200": {
          "application/json": {
            "items": "#/components/schemas/Pet"
          }
        }
      }
    }
  },
  "securitySchemes": {
    "apiKey": {
      "in": "authorization",
      "name": "bearer"
    }
  },
  "schemas": {
    "#/components/schemas/CategoryId": "int64",
    "#/components/schemas/NewPet": {
      "properties": {
        "categoryId": "#/components/schemas/CategoryId"
      }
    },
    "#/components/schemas/Pet": {
      "properties": {
        "id": "#/components/schemas/PetId",
        "categoryId": "#/components/schemas/CategoryId"
      }
    },
    "#/components/schemas/PetId": "int64"
  }
} as const
