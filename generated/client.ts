// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { Call } from '../src/client/call.js'
import type { ClientTable } from '../src/client/table.js'
import type { operations } from './types.js'

/** A function for each operation of the contract. */
export interface Calls {
  /**
   * Add an animal
   *
   * Adds an animal. The service assigns its `id`; a request with an `id` is rejected. `status` has no
   * default: if omitted, it stays absent.
   */
  readonly createPet: Call<operations["createPet"], operations["createPet"]['responses']["201"]['content']["application/json"]>
  /**
   * Get an animal
   *
   * Returns one animal. Deprecated: use `GET /pets` with its `status` filter.
   *
   * @deprecated since 2026-11-20, ends on 2030-12-05. Use `listPets` instead.
   */
  readonly getPet: Call<operations["getPet"], operations["getPet"]['responses']["200"]['content']["application/json"]>
  /**
   * List animals
   *
   * Returns the animals in ascending order of `id`, one page at a time. If there are more, the response
   * has a `Link` header with `rel="next"`: request that URL, which is relative to the request's,
   * unchanged. The last page has no such link. A page costs the same at any depth, and animals added while
   * you page do not cause others to be repeated or skipped.
   */
  readonly listPets: Call<operations["listPets"], operations["listPets"]['responses']["200"]['content']["application/json"]>
}

/** What of the contract the client needs at run time. */
export const table: ClientTable = {
  "operations": {
    "createPet": {
      "method": "POST",
      "path": "/pets",
      "idempotent": true,
      "int64": {
        "201": "#/components/schemas/Pet"
      }
    },
    "getPet": {
      "method": "GET",
      "path": "/pets/{petId}",
      "int64": {
        "200": "#/components/schemas/Pet"
      }
    },
    "listPets": {
      "method": "GET",
      "path": "/pets",
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
