// Hono with @hono/zod-openapi, which defines the contract in code. It validates requests, but not responses.
// It has no API keys, rate limits or log.

import { serve } from '@hono/node-server'
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import pg from 'pg'

pg.types.setTypeParser(pg.types.builtins.INT8, Number)
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })

const Status = z.enum(['available', 'pending', 'sold'])
const NewPet = z.strictObject({
  name: z.string().min(1).max(255),
  categoryId: z.int(),
  status: Status.optional(),
})
const Pet = z.object({
  id: z.int(),
  name: z.string(),
  categoryId: z.int(),
  status: Status.nullable().optional(),
})
const json = (schema) => ({ 'application/json': { schema } })
const answers = (schema) => ({ description: 'as declared', content: json(schema) })
const columns = 'id, name, category_id as "categoryId", status'

async function rowsOf(name, text, values) {
  const { rows } = await pool.query({ name, text, values })
  return rows
}

const app = new OpenAPIHono()

app.openapi(
  createRoute({
    method: 'get',
    path: '/v1/pets',
    request: {
      query: z.object({
        limit: z.coerce.number().int().min(1).max(100).default(20),
        status: Status.optional(),
        after: z.string().default('0'),
      }),
    },
    responses: { 200: answers(z.array(Pet)) },
  }),
  async (context) => {
    const { limit, status, after } = context.req.valid('query')
    const pets =
      status === undefined
        ? await rowsOf('list', `select ${columns} from pets where id > $1 order by id limit $2`, [
            after,
            limit,
          ])
        : await rowsOf(
            'list-by-status',
            `select ${columns} from pets where status = $1 and id > $2 order by id limit $3`,
            [status, after, limit],
          )
    return context.json(pets, 200)
  },
)

app.openapi(
  createRoute({
    method: 'get',
    path: '/v1/pets/{id}',
    request: { params: z.object({ id: z.coerce.number().int() }) },
    responses: { 200: answers(Pet), 404: { description: 'there is none' } },
  }),
  async (context) => {
    const [pet] = await rowsOf('get', `select ${columns} from pets where id = $1`, [
      context.req.valid('param').id,
    ])
    return pet === undefined ? context.body(null, 404) : context.json(pet, 200)
  },
)

app.openapi(
  createRoute({
    method: 'post',
    path: '/v1/pets',
    request: { body: { content: json(NewPet), required: true } },
    responses: { 201: answers(Pet) },
  }),
  async (context) => {
    const { name, categoryId, status = null } = context.req.valid('json')
    const [pet] = await rowsOf(
      'create',
      `insert into pets (name, category_id, status) values ($1, $2, $3) returning ${columns}`,
      [name, categoryId, status],
    )
    return context.json(pet, 201)
  },
)

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' })
