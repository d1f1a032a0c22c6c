// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { ClientTable } from '../src/client/table.js'

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
}
