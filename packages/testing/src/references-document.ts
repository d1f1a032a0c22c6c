// A contract with each kind of object that may be a `$ref`, written twice: the test replaces the second by a
// `$ref` to the first. Only schemas are referred to here.

/** The document of references.ts, inline, in YAML. */
export const text = `openapi: 3.2.0
info: { title: Shop, version: 1.0.0 }
security: [{ key: [] }]
paths:
  /orders/{id}:
    summary: Orders.
    parameters:
      - { name: id, in: path, required: true, schema: { $ref: '#/components/schemas/Id' } }
    get:
      operationId: watch
      parameters:
        - name: limit
          in: query
          description: How many.
          schema: { type: integer, maximum: 10, default: 5 }
          examples:
            few: { summary: Few., value: 2 }
      responses:
        '200':
          description: The orders.
          headers:
            X-Total: { description: All., required: true, schema: { type: integer, format: int64 } }
          content:
            text/event-stream: { itemSchema: { $ref: '#/components/schemas/Event' } }
            application/jsonl: { itemSchema: { $ref: '#/components/schemas/Order' } }
            application/json: { schema: { $ref: '#/components/schemas/Order' }, examples: { one: { value: { id: 1 } } } }
          links:
            again: { operationId: watch, description: The same again. }
        '429': { description: Later., content: { application/json: { schema: { $ref: '#/components/schemas/Problem' } } } }
    post:
      operationId: add
      parameters:
        - name: limit
          in: query
          description: How many.
          schema: { type: integer, maximum: 10, default: 5 }
          examples:
            few: { summary: Few., value: 2 }
      requestBody:
        description: A scan.
        required: true
        content:
          multipart/form-data:
            schema:
              type: object
              required: [file]
              properties: { file: { type: string, format: binary }, at: { type: string, format: date-time } }
            encoding: { file: { contentType: image/png } }
      responses:
        '200':
          description: The orders.
          headers:
            X-Total: { description: All., required: true, schema: { type: integer, format: int64 } }
          content:
            text/event-stream: { itemSchema: { $ref: '#/components/schemas/Event' } }
            application/jsonl: { itemSchema: { $ref: '#/components/schemas/Order' } }
            application/json: { schema: { $ref: '#/components/schemas/Order' }, examples: { one: { value: { id: 1 } } } }
          links:
            again: { operationId: watch, description: The same again. }
        '429': { description: Later., content: { application/json: { schema: { $ref: '#/components/schemas/Problem' } } } }
      callbacks:
        sent:
          '{$request.query.notify}':
            post:
              requestBody:
                content: { application/json: { schema: { $ref: '#/components/schemas/Order' } } }
              responses: { '204': { description: Taken. } }
    put:
      operationId: change
      requestBody:
        description: A scan.
        required: true
        content:
          multipart/form-data:
            schema:
              type: object
              required: [file]
              properties: { file: { type: string, format: binary }, at: { type: string, format: date-time } }
            encoding: { file: { contentType: image/png } }
      responses: { '204': { description: Taken. } }
      callbacks:
        sent:
          '{$request.query.notify}':
            post:
              requestBody:
                content: { application/json: { schema: { $ref: '#/components/schemas/Order' } } }
              responses: { '204': { description: Taken. } }
webhooks:
  shipped:
    post:
      requestBody:
        content: { application/json: { schema: { $ref: '#/components/schemas/Order' } } }
      responses: { '204': { description: Taken. } }
  lost:
    post:
      requestBody:
        content: { application/json: { schema: { $ref: '#/components/schemas/Order' } } }
      responses: { '204': { description: Taken. } }
components:
  securitySchemes:
    key: { type: apiKey, in: header, name: X-Key, description: A key. }
  schemas:
    Id: { type: integer, format: int64 }
    Order: { type: object, required: [id], properties: { id: { $ref: '#/components/schemas/Id' }, part: { $ref: '#/components/schemas/Order' } } }
    Problem: { type: object, required: [code], properties: { code: { type: string } } }
    Event:
      type: object
      required: [data]
      properties:
        data: { type: string, contentMediaType: application/json, contentSchema: { $ref: '#/components/schemas/Order' } }
`
