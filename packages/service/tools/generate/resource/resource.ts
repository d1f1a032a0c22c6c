// Reads a resource of the contract: its schema, its fields, and the operations that add, get, list, change
// and delete its rows.

import { type Contract, ContractError, type Operation } from 'contract-engine'
import { nodeOf, Reader } from 'contract-engine/tools'
import { fieldsOf, isAlways, type ResourceField } from './fields.js'
import { type ListParts, listParts } from './list.js'
import { misfit } from './misfit.js'
import {
  type Found,
  jsonSchemaIn,
  type Operations,
  operationsOf,
  parameterOf,
  type Role,
  refName,
} from './operations.js'
import { camelCase, inWords, kebabCase, snakeCase, withArticle } from './words.js'

/** A resource, with all data needed to write its files. */
export interface Resource {
  /** The name of the schema, and of its type. */
  readonly schema: string
  /** The singular, in words: `shop`. */
  readonly one: string
  /** The plural, in words: `shops`. */
  readonly many: string
  /** The name of the folder and the files: `pet-shops`. */
  readonly folder: string
  /** The name of the constant: `petShops`. */
  readonly constant: string
  /** The name of the table: `pet_shops`. */
  readonly table: string
  readonly fields: readonly ResourceField[]
  /** The field that identifies a row. */
  readonly key: ResourceField
  /** The operations whose handlers are proposed. */
  readonly operations: Operations
  readonly list: ListParts | undefined
  readonly hasReadOrWriteOnly: boolean
  /** An error code of the contract with status 404. */
  readonly lost: string | undefined
  /** The other operations of its paths, each with the reason why no handler is proposed. */
  readonly others: readonly string[]
  readonly reader: Reader
  /** Returns the status of an error code. */
  readonly statusOf: (code: string) => number
}

/**
 * Reads a resource.
 * @throws {ContractError} if there is no such schema, no operation that adds, gets or lists it, or no field
 * that identifies a row
 */
export function readResource(contract: Contract, name: string): Resource {
  const reader = new Reader(contract.specification)
  const schemas = nodeOf(nodeOf(reader.document.components).schemas)
  if (schemas[name] === undefined)
    throw new ContractError(`no schema ${name}: there are ${Object.keys(schemas).join(', ')}`)
  const found = operationsOf(contract, reader, name)
  if (found === undefined)
    throw new ContractError(
      `no operation adds, gets or lists ${withArticle(name)}: POST or GET of a path like /things`,
    )
  return resourceOf(contract, reader, name, found)
}

function resourceOf(contract: Contract, reader: Reader, name: string, found: Found): Resource {
  const { operations: all, place } = found
  const schema = nodeOf(nodeOf(reader.document.components).schemas)[name]
  const fields = fieldsOf(reader, schema, all.create && jsonSchemaIn(all.create.body?.contents))
  const key = keyOf(fields, all)
  const list = all.list && listParts(reader, all.list, fields, key)
  const reasons = (Object.entries(all) as [Role, Operation][]).map(([role, operation]) => {
    const reason = misfit(reader, role, operation, fields) ?? (role === 'list' ? list?.reason : undefined)
    return { role, operation, reason }
  })
  const fitting = reasons.filter(({ reason }) => reason === undefined)
  const noun = place.split('/').at(-1) ?? name
  const collection = /[a-z]/i.test(noun) ? noun : name // the file of a migration has an ASCII name
  return {
    ...{ schema: name, fields, key, reader, list },
    operations: Object.fromEntries(fitting.map(({ role, operation }) => [role, operation])),
    ...{ one: inWords(name), many: inWords(collection) },
    ...{ folder: kebabCase(collection), constant: camelCase(collection), table: snakeCase(collection) },
    hasReadOrWriteOnly: contract.hasReadOrWriteOnly,
    lost: lostCode(contract, name),
    statusOf: (code) => contract.errorStatuses.get(code) ?? 500,
    others: [
      ...reasons.flatMap(({ operation, reason }) =>
        reason === undefined ? [] : [`${operation.id}: ${reason}`],
      ),
      ...found.others.map(
        ({ id }) => `${id}: its response is not ${withArticle(name)}, nor an array of such`,
      ),
    ],
  }
}

/**
 * Returns the name of the schema of a new row. Undefined if it has no name, or if the service fills in
 * fields: the type of that name lacks them.
 */
export function takenName({ operations: { create }, fields }: Resource): string | undefined {
  return fields.some(({ isFilled }) => isFilled) ? undefined : refName(jsonSchemaIn(create?.body?.contents))
}

// Finds the field for the path's parameter: `{id}`, or `{shopId}` for `id`.
function keyOf(fields: readonly ResourceField[], { get, change, remove }: Operations): ResourceField {
  const one = get ?? change ?? remove
  const parameter = one === undefined ? 'id' : parameterOf(one)
  const key =
    fields.find(({ name }) => name === parameter) ??
    fields.find(({ name }) => parameter.toLowerCase().endsWith(name.toLowerCase()) && /id$/i.test(name)) ??
    fields.find(({ name }) => name === 'id')
  if (key?.shown !== undefined && key.type.isScalar && isAlways(key)) return key
  throw new ContractError(`no required field is what {${parameter}} stands for: a key of the rows`)
}

// Prefers the resource's own code; otherwise avoids the code for unknown paths.
function lostCode({ errorStatuses, describesErrors }: Contract, name: string): string | undefined {
  const own = `${snakeCase(name)}_not_found`
  const lost = [...errorStatuses].filter(([, status]) => status === 404).map(([code]) => code)
  if (!describesErrors) return 'route_not_found'
  return lost.find((code) => code === own) ?? lost.find((code) => code !== 'route_not_found') ?? lost[0]
}
