// The simplest service: plain Fastify and postgres.js with their defaults.

import Fastify from 'fastify'
import postgres from 'postgres'

const app = Fastify()
const sql = postgres(process.env.DATABASE_URL)

app.get('/v1/pets', async ({ query: { limit = 20, status, after = '0' } }) =>
  status === undefined
    ? sql`
        select id, name, category_id as "categoryId", status from pets
        where id > ${after} order by id limit ${limit}`
    : sql`
        select id, name, category_id as "categoryId", status from pets
        where status = ${status} and id > ${after} order by id limit ${limit}`,
)

app.get('/v1/pets/:id', async ({ params: { id } }, reply) => {
  const [pet] = await sql`select id, name, category_id as "categoryId", status from pets where id = ${id}`
  return pet ?? reply.code(404).send({ message: 'not found' })
})

app.post('/v1/pets', async ({ body: { name, categoryId, status = null } }, reply) => {
  const [pet] = await sql`
    insert into pets (name, category_id, status) values (${name}, ${categoryId}, ${status})
    returning id, name, category_id as "categoryId", status`
  return reply.code(201).send(pet)
})

await app.listen({ port: Number(process.env.PORT) })
