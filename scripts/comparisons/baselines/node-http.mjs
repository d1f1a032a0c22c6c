// The limit of the runtime: `node:http` with static responses, without a router or database.

import { createServer } from 'node:http'

const pet = { id: 500_000, name: 'pet 500000', categoryId: 3, status: 'available' }
const page = Array.from({ length: 20 }, (_, i) => ({ ...pet, id: i + 1, name: `pet ${i + 1}` }))
const [petBody, pageBody] = [pet, page].map((body) => Buffer.from(JSON.stringify(body)))

function answer(response, status, body) {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.length })
  response.end(body)
}

createServer((request, response) => {
  if (request.method === 'POST') request.resume().on('end', () => answer(response, 201, petBody))
  else answer(response, 200, request.url.startsWith('/v1/pets/') ? petBody : pageBody)
}).listen(Number(process.env.PORT), '127.0.0.1')
