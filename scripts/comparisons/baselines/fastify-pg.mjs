// Plain Fastify, and `pg` with a pool of 10 and named (prepared) statements.

import Fastify from 'fastify'
import pg from 'pg'

const app = Fastify()
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })

const columns = 'id, name, category_id as "categoryId", status'
const list = { name: 'list', text: `select ${columns} from pets where id > $1 order by id limit $2` }
const listByStatus = {
  name: 'list-by-status',
  text: `select ${columns} from pets where status = $1 and id > $2 order by id limit $3`,
}
const get = { name: 'get', text: `select ${columns} from pets where id = $1` }
const create = {
  name: 'create',
  text: `insert into pets (name, category_id, status) values ($1, $2, $3) returning ${columns}`,
}

async function rowsOf(statement, ...values) {
  const { rows } = await pool.query({ ...statement, values })
  return rows
}

app.get('/v1/pets', async ({ query: { limit = 20, status, after = '0' } }) =>
  status === undefined ? rowsOf(list, after, limit) : rowsOf(listByStatus, status, after, limit),
)

app.get('/v1/pets/:id', async ({ params: { id } }, reply) => {
  const [pet] = await rowsOf(get, id)
  return pet ?? reply.code(404).send({ message: 'not found' })
})

app.post('/v1/pets', async ({ body: { name, categoryId, status = null } }, reply) => {
  const [pet] = await rowsOf(create, name, categoryId, status)
  return reply.code(201).send(pet)
})

await app.listen({ port: Number(process.env.PORT) })
