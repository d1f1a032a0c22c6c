// Finds texts of a contract that tools for language models do not show.

import type { Contract, Operation } from '../../document/contract.js'
import type { Problem } from '../../document/contract-error.js'
import { problemOf } from '../../document/methods.js'
import { nodeOf, Reader } from '../../document/reader.js'
import { effectiveParameters } from './parameters.js'

/**
 * Warns of each parameter whose description such tools replace by that of the schema it refers to: "after
 * which animal the page begins" by "the identifier of an animal". A parameter with a named enum is left
 * alone: its values mean the same everywhere, and other tools make a type of its name.
 */
export function hiddenTexts(contract: Contract): Problem[] {
  const reader = new Reader(contract.document)
  return [...contract.operations.values()].flatMap((operation) =>
    parametersOf(reader, operation).flatMap(({ name, in: location, description, schema }) => {
      const { $ref } = nodeOf(schema)
      const { description: shown, enum: values } = reader.node(schema)
      const isHidden = $ref !== undefined && ![undefined, shown].includes(description as string | undefined)
      if (!isHidden || shown === undefined || values !== undefined) return []
      const text =
        `${operation.id}: tools for language models show the description of ${$ref} as that of the ` +
        `${location} parameter ${name}: write its schema in the parameter`
      return [problemOf(operation, text)]
    }),
  )
}

function parametersOf(reader: Reader, { path, definition }: Operation) {
  const item = reader.node(nodeOf(nodeOf(reader.document).paths)[path])
  return effectiveParameters(reader, item, definition)
}
