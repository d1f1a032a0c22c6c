// Express 5 with comparable features from popular packages: express-openapi-validator (requests, responses
// and API keys, from the same contract), express-rate-limit (per minute and per day), helmet, pino-http.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import express from 'express'
import openApiValidator from 'express-openapi-validator'
import { rateLimit } from 'express-rate-limit'
import helmet from 'helmet'
import pg from 'pg'
import pinoHttp from 'pino-http'
import { parse } from 'yaml'

pg.types.setTypeParser(pg.types.builtins.INT8, Number)
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const contract = parse(await readFile(new URL('../../../openapi.yaml', import.meta.url), 'utf8'))

// Valid keys are cached for a second.
const keys = new Map()

async function isKnown(key) {
  const found = keys.get(key)
  if (found > Date.now() - 1000) return true
  const hash = createHash('sha256').update(key).digest()
  const { rowCount } = await pool.query({
    name: 'key',
    text: 'select 1 from api_keys where hash = $1 and revoked_at is null',
    values: [hash],
  })
  if (rowCount > 0) keys.set(key, Date.now())
  return rowCount > 0
}

const keyOf = (request) => request.headers.authorization?.slice('Bearer '.length) ?? ''

const limit = (windowMs) =>
  rateLimit({
    windowMs,
    limit: 1_000_000_000,
    keyGenerator: keyOf,
    standardHeaders: false,
    legacyHeaders: true,
  })

const app = express()
app.disable('etag')
app.use(pinoHttp())
app.use(helmet())
app.use(limit(60_000), limit(86_400_000))
app.use(express.json({ limit: contract['x-limits'].bodyBytes }))
app.use(
  openApiValidator.middleware({
    apiSpec: { ...contract, servers: [{ url: '/v1' }] },
    validateRequests: true,
    validateResponses: true,
    validateSecurity: { handlers: { apiKey: (request) => isKnown(keyOf(request)) } },
  }),
)

// Omits a status that is null.
const toPet = ({ status, ...pet }) => (status === null ? pet : { ...pet, status })

async function petsOf(name, text, values) {
  const { rows } = await pool.query({ name, text, values })
  return rows.map(toPet)
}

const columns = 'id, name, category_id as "categoryId", status'

app.get('/v1/pets', async ({ query: { limit = 20, status, after = '0' } }, response) => {
  const pets =
    status === undefined
      ? await petsOf('list', `select ${columns} from pets where id > $1 order by id limit $2`, [after, limit])
      : await petsOf(
          'list-by-status',
          `select ${columns} from pets where status = $1 and id > $2 order by id limit $3`,
          [status, after, limit],
        )
  response.json(pets)
})

app.get('/v1/pets/:petId', async ({ params: { petId } }, response) => {
  const [pet] = await petsOf('get', `select ${columns} from pets where id = $1`, [petId])
  if (pet === undefined) throw Object.assign(new Error('not found'), { status: 404 })
  response.json(pet)
})

app.post('/v1/pets', async ({ body: { name, categoryId, status = null } }, response) => {
  const [pet] = await petsOf(
    'create',
    `insert into pets (name, category_id, status) values ($1, $2, $3) returning ${columns}`,
    [name, categoryId, status],
  )
  response.status(201).location(`/v1/pets/${pet.id}`).json(pet)
})

app.use((error, _request, response, _next) => {
  const status = error.status ?? 500
  response.status(status).json({ code: 'error', message: status < 500 ? error.message : 'error', status })
})

app.listen(Number(process.env.PORT))
