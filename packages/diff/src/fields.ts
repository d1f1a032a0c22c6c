// Rules that parameters, headers and bodies share: if they are required, how they are serialised, their
// schemas.

import { claim, report, type Spot } from './comparison.js'
import { compareContent } from './content.js'
import { compareDeprecated } from './deprecation.js'
import type { Node } from './node.js'
import { child } from './references.js'
import { isFilledIn, reportEffect } from './rules.js'
import { compareSchemas } from './schemas.js'
import { typesOf } from './simplify.js'

/** Compares a parameter or a header. */
export function compareField(field: Spot): void {
  compareRequired(field)
  compareDeprecated(field)
  const schema = child(field, 'schema')
  const before = serialisationOf(field.before, schema.before)
  const after = serialisationOf(field.after, schema.after)
  if (before !== after) {
    report(field, 'major', `serialisation ${before} -> ${after}`, 'style', 'explode', 'allowReserved')
  }
  const contents = [before, after].filter((each) => each === byContent)
  if (contents.length === 2) compareContent(child(field, 'content'))
  else if (contents.length === 0) compareSchemas(schema)
  // A schema cannot be compared with a content.
  else claim(field, 'schema', 'content')
}

const byContent = 'content'

// Returns the serialisation of a parameter, with the defaults of `style` and `explode` (OpenAPI 3.1, section
// 4.8.12.2.1). A single value has no style.
function serialisationOf(parameter: Node, schema: Node): string {
  if (parameter.content !== undefined) return byContent
  const { style = ['query', 'cookie'].includes(String(parameter.in)) ? 'form' : 'simple' } = parameter
  const { explode = style === 'form', allowReserved = false } = parameter
  const many = style === 'simple' ? ['object'] : ['object', 'array']
  const isExploded = explode && typesOf(schema).some((type) => many.includes(type))
  return [style, isExploded && 'exploded', allowReserved && 'reserved characters'].filter(Boolean).join(', ')
}

/** Compares if a parameter, a header or a body is required. */
export function compareRequired(spot: Spot): void {
  const [before, after] = [spot.before.required === true, spot.after.required === true]
  if (before && !after) reportEffect(spot, ['widens'], 'required -> optional', 'required')
  const effects = isFilledIn(child(spot, 'schema')) ? [] : (['narrows'] as const)
  if (!before && after) reportEffect(spot, effects, 'optional -> required', 'required')
}
