// Fastify (5.12) loads two compilers of schemas when it is made, unless it is given others.

/** Options of a Fastify whose routes are those of contracts, which have functions of their own. */
export const withoutCompilers = {
  schemaController: { compilersFactory: { buildValidator: none, buildSerializer: none } },
}

function none() {
  return (): never => {
    throw new Error('the route has a schema, and the server compiles none')
  }
}
