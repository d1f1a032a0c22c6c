// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { Call, RequestOf, StatusOf } from '../src/client/call.js'
import type { ClientTable } from '../src/client/table.js'
import type { operations } from './types.js'

/** The request of `createPet`. */
export interface CreatePetRequest extends RequestOf<operations["createPet"], { readonly body: NonNullable<operations['createPet']['requestBody']>['content']['application/json'] }> {}

/** The request of `getPet`. */
export interface GetPetRequest extends RequestOf<operations["getPet"], { readonly body?: never }> {}

/** The request of `listPets`. */
export interface ListPetsRequest extends RequestOf<operations["listPets"], { readonly body?: never }> {}

/** A function for each operation of the contract. */
export interface Calls {
  /**
   * Add an animal
   *
   * Adds an animal. The service assigns its `id`; a request with an `id` is rejected. `status` has no
   * default: if omitted, it stays absent.
   */
  readonly createPet: Call<CreatePetRequest, operations["createPet"]['responses']["201"]['content']["application/json"]>
  /**
   * Get an animal
   *
   * Returns one animal. Deprecated: use `GET /pets` with its `status` filter.
   *
   * @deprecated since 2026-11-20, ends on 2030-12-05. Use `listPets` instead.
   */
  readonly getPet: Call<GetPetRequest, operations["getPet"]['responses']["200"]['content']["application/json"]>
  /**
   * List animals
   *
   * Returns the animals in ascending order of `id`, one page at a time. If there are more, the response has
   * a `Link` header with `rel="next"`: request that URL unchanged. The last page has no such link. A page
   * costs the same at any depth, and animals added while you page do not cause others to be repeated or
   * skipped.
   */
  readonly listPets: Call<ListPetsRequest, operations["listPets"]['responses']["200"]['content']["application/json"]>
}

/** The error responses that the contract declares for each operation. */
export interface Errors {
  readonly createPet:
    | { readonly status: 400; readonly body: operations["createPet"]['responses']["400"]['content']["application/json"] }
    | { readonly status: 401; readonly body: operations["createPet"]['responses']["401"]['content']["application/json"] }
    | { readonly status: 409; readonly body: operations["createPet"]['responses']["409"]['content']["application/json"] }
    | { readonly status: 413; readonly body: operations["createPet"]['responses']["413"]['content']["application/json"] }
    | { readonly status: 415; readonly body: operations["createPet"]['responses']["415"]['content']["application/json"] }
    | { readonly status: 422; readonly body: operations["createPet"]['responses']["422"]['content']["application/json"] }
    | { readonly status: 429; readonly body: operations["createPet"]['responses']["429"]['content']["application/json"] }
    | { readonly status: 500; readonly body: operations["createPet"]['responses']["500"]['content']["application/json"] }
    | { readonly status: 503; readonly body: operations["createPet"]['responses']["503"]['content']["application/json"] }
    | { readonly status: Exclude<StatusOf<4 | 5>, 400 | 401 | 409 | 413 | 415 | 422 | 429 | 500 | 503>; readonly body: operations["createPet"]['responses']["default"]['content']["application/json"] }
  readonly getPet:
    | { readonly status: 400; readonly body: operations["getPet"]['responses']["400"]['content']["application/json"] }
    | { readonly status: 401; readonly body: operations["getPet"]['responses']["401"]['content']["application/json"] }
    | { readonly status: 404; readonly body: operations["getPet"]['responses']["404"]['content']["application/json"] }
    | { readonly status: 429; readonly body: operations["getPet"]['responses']["429"]['content']["application/json"] }
    | { readonly status: 500; readonly body: operations["getPet"]['responses']["500"]['content']["application/json"] }
    | { readonly status: 503; readonly body: operations["getPet"]['responses']["503"]['content']["application/json"] }
    | { readonly status: Exclude<StatusOf<4 | 5>, 400 | 401 | 404 | 429 | 500 | 503>; readonly body: operations["getPet"]['responses']["default"]['content']["application/json"] }
  readonly listPets:
    | { readonly status: 400; readonly body: operations["listPets"]['responses']["400"]['content']["application/json"] }
    | { readonly status: 401; readonly body: operations["listPets"]['responses']["401"]['content']["application/json"] }
    | { readonly status: 429; readonly body: operations["listPets"]['responses']["429"]['content']["application/json"] }
    | { readonly status: 500; readonly body: operations["listPets"]['responses']["500"]['content']["application/json"] }
    | { readonly status: 503; readonly body: operations["listPets"]['responses']["503"]['content']["application/json"] }
    | { readonly status: Exclude<StatusOf<4 | 5>, 400 | 401 | 429 | 500 | 503>; readonly body: operations["listPets"]['responses']["default"]['content']["application/json"] }
}

/** What of the contract the client needs at run time. */
export const table: ClientTable = {
  "agent": "animal-store-client/1.0.0",
  "prefix": "/v1",
  "operations": {
    "createPet": {
      "method": "POST",
      "path": "/pets",
      "idempotent": true,
      "errors": [
        "default"
      ],
      "int64": {
        "201": "#/components/schemas/Pet"
      }
    },
    "getPet": {
      "method": "GET",
      "path": "/pets/{petId}",
      "errors": [
        "default"
      ],
      "int64": {
        "200": "#/components/schemas/Pet"
      },
      "successor": "listPets"
    },
    "listPets": {
      "method": "GET",
      "path": "/pets",
      "errors": [
        "default"
      ],
      "int64": {
        "200": {
          "items": "#/components/schemas/Pet"
        }
      }
    }
  },
  "schemas": {
    "#/components/schemas/CategoryId": "int64",
    "#/components/schemas/Pet": {
      "properties": {
        "id": "#/components/schemas/PetId",
        "categoryId": "#/components/schemas/CategoryId"
      }
    },
    "#/components/schemas/PetId": "int64"
  }
} as const
