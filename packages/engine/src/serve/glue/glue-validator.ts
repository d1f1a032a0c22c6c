// The validator of fastify-openapi-glue for a specification that the engine has made: it is valid. In a
// bundle, such as that of the service, glue imports this module (contract-engine/valid-specification) in the
// place of its own.

/** Marks a specification that the engine has made. glue copies what it is given, so the mark is in it. */
export const mark = 'x-is-valid'

/** What glue uses of `Validator` in @seriousme/openapi-schema-validator. */
export class Validator {
  readonly version = '3.1'
  specification: Readonly<Record<string, unknown>> = {}

  async validate(specification: Readonly<Record<string, unknown>>): Promise<{ valid: true }> {
    if (!specification[mark]) throw new Error('Not a specification that the engine has made')
    this.specification = specification
    return { valid: true }
  }

  // Nothing that the engine makes has references.
  resolveRefs(): object {
    return this.specification
  }
}
