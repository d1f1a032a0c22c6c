// What the client knows of the contract at run time: its operations, and where int64 stand in their answers.

import type { ClientOperation, ClientTable, Place, Places } from '../../src/client/table.js'
import { isJson } from '../../src/contract/media-types.js'
import type { Contract, Operation } from '../../src/contract/types.js'
import { header } from './header.js'

/** The text of generated/client.ts. */
export function generateClient(contract: Contract): string {
  return `${header}import type { ClientTable } from '../src/client/table.js'

export const table: ClientTable = ${JSON.stringify(clientTable(contract), null, 2)}
`
}

/** The operations of the contract, and the places of int64 in what they answer. */
export function clientTable({
  document,
  operations,
}: Pick<Contract, 'document' | 'operations'>): ClientTable {
  return new Tabler(document as Node).table(operations)
}

interface Node {
  readonly [key: string]: unknown
}

class Tabler {
  readonly #schemas: Record<string, Place> = {}

  constructor(readonly document: Node) {}

  table(operations: Contract['operations']): ClientTable {
    const byId = [...operations.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    const entries = byId.map((operation) => [operation.id, this.#operation(operation)])
    const sorted = Object.entries(this.#schemas).sort(([a], [b]) => (a < b ? -1 : 1))
    return { operations: Object.fromEntries(entries), schemas: Object.fromEntries(sorted) }
  }

  #operation({ method, path, parameters: declared }: Operation): ClientOperation {
    const item = this.#node(this.#node(this.document.paths)[path])
    const node = this.#node(item[method.toLowerCase()])
    const parameters = [...list(item.parameters), ...list(node.parameters)].map((each) => this.#node(each))
    const formed = declared.flatMap(({ name, in: location, form }) => {
      return form === undefined ? [] : { name, in: location, style: form.style, explode: form.explode }
    })
    const int64 = this.#answers(this.#node(node.responses))
    return {
      method,
      path,
      ...(parameters.some(isIdempotencyKey) && { idempotent: true }),
      ...(formed.length > 0 && { parameters: formed }),
      ...(Object.keys(int64).length > 0 && { int64 }),
    }
  }

  #answers(responses: Node): Record<string, Place> {
    const all = Object.entries(responses).map(
      ([status, response]) => [status.toLowerCase(), response] as const,
    )
    const declared = all.filter(([status]) => /^2(\d\d|xx)$/.test(status))
    const good = declared.length > 0 ? declared : all.filter(([status]) => status === 'default')
    return placed(
      good.map(([status, response]) => {
        const content = Object.entries(this.#node(this.#node(response).content))
        const [, media] = content.find(([mediaType]) => isJson(mediaType)) ?? []
        return [status, this.#place(this.#node(media).schema)]
      }),
    )
  }

  // Undefined where no int64 can stand, so that the table is as small as it can be.
  #place(value: unknown): Place | undefined {
    if (typeof value !== 'object' || value === null) return undefined
    const schema = value as Node
    if (typeof schema.$ref === 'string') return this.#reference(schema.$ref as `#/${string}`)
    if (isInt64(schema)) return 'int64'
    const each = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword) =>
      list(schema[keyword]).flatMap((one) => this.#place(one) ?? []),
    )
    const additional = this.#additional(schema)
    const items = this.#place(schema.items)
    // One without an int64 is of use only where it is an exception.
    const properties = Object.entries(this.#node(schema.properties))
      .map(([name, one]) => [name, this.#place(one) ?? null] as const)
      .filter(([, place]) => place !== null || additional !== undefined)
    const prefix = list(schema.prefixItems).map((one) => this.#place(one) ?? null)
    const places: Places = {
      ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
      ...(additional !== undefined && { additional }),
      ...((items !== undefined || prefix.some((one) => one !== null)) && prefix.length > 0 && { prefix }),
      ...(items !== undefined && { items }),
      ...(each.length > 0 && { each }),
    }
    return Object.keys(places).length > 0 ? places : undefined
  }

  // Types know no pattern of names either: one that any pattern allows may be of any of their types.
  #additional(schema: Node): Place | undefined {
    const others = [schema.additionalProperties, ...Object.values(this.#node(schema.patternProperties))]
    const each = others.flatMap((one) => this.#place(one) ?? [])
    return each.length > 1 ? { each } : each[0]
  }

  // A schema may lead back to itself: it is noted before it is looked into, and struck out if nothing is in it.
  #reference(ref: `#/${string}`): Place | undefined {
    if (ref in this.#schemas) return ref
    this.#schemas[ref] = {}
    const place = this.#place(this.#resolve(ref))
    if (place === undefined || !leadsToInt64(place, ref)) delete this.#schemas[ref]
    else this.#schemas[ref] = place
    return ref in this.#schemas ? ref : undefined
  }

  // The contract's reader has seen that each leads somewhere.
  #resolve(ref: string): unknown {
    const keys = ref.replace(/^#\//, '').split('/')
    const name = (key: string) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')
    return keys.reduce<unknown>((at, key) => (at as Node | undefined)?.[name(key)], this.document)
  }

  #node(value: unknown): Node {
    if (typeof value !== 'object' || value === null) return {}
    const { $ref } = value as Node
    return typeof $ref === 'string' ? this.#node(this.#resolve($ref)) : (value as Node)
  }
}

function isIdempotencyKey({ name, in: location }: Node): boolean {
  return location === 'header' && String(name).toLowerCase() === 'idempotency-key'
}

function isInt64({ type, format }: Node): boolean {
  return format === 'int64' && (type === 'integer' || (Array.isArray(type) && type.includes('integer')))
}

// Anything but a way back to itself.
function leadsToInt64(place: Place, self: string): boolean {
  if (typeof place === 'string') return place !== self
  const { properties = {}, additional, prefix = [], items, each = [] } = place
  const inner = [...Object.values(properties), additional, ...prefix, items, ...each]
  return inner.some((one) => one !== undefined && one !== null && leadsToInt64(one, self))
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function placed(entries: readonly (readonly [string, Place | undefined])[]): Record<string, Place> {
  return Object.fromEntries(entries.filter((entry): entry is [string, Place] => entry[1] !== undefined))
}
