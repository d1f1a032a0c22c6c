// Reads the contract's files for Redocly.

import path from 'node:path'
import { BaseResolver, type Document, Source } from '@redocly/openapi-core'
import { ContractError } from 'contract-engine'
import { shownValue } from 'contract-engine/lib/texts'
import {
  filesOf,
  placeIn,
  type ReadText,
  readSource,
  UnreadFile,
  versionProblem,
  wholeDocument,
  withOwnRefs,
  withSchemeNames,
} from 'contract-engine/tools'

/** A document, and the resolver that caches the files it refers to. */
export interface Loaded {
  readonly document: Document
  readonly resolver: BaseResolver
}

/**
 * Reads a document of OpenAPI 3.0, 3.1 or 3.2.
 * @throws {ContractError} if it is anything else
 * @throws {Error} if it cannot be read or parsed
 */
export async function loadDocument(file: string): Promise<Loaded> {
  const resolver = new Resolver(filesOf(file))
  const document = await resolver.resolveDocument(null, file.replace(/[%#]/g, encodeURIComponent), true)
  if (document instanceof Error) throw document
  const shownFile = path.relative(process.cwd(), file)
  const { openapi, swagger } = (document.parsed ?? {}) as { openapi?: unknown; swagger?: unknown }
  if (swagger !== undefined)
    throw new ContractError(
      `${shownFile}: Swagger ${shownValue(swagger)} is not supported: convert it to OpenAPI 3.1`,
    )
  if (openapi === undefined)
    throw new ContractError(`${shownFile}: this is not an OpenAPI document: it has no field openapi`)
  const problem = versionProblem(openapi)
  if (problem !== undefined)
    throw new ContractError(`${(await readSource(file)).locate(['openapi'])}: ${problem}`)
  return { document, resolver }
}

// Redocly looks names up in plain objects. Under these names it finds inherited members, so they get a
// suffix.
const inherited = new Set(Object.getOwnPropertyNames(Object.prototype))
const mark = '.own-name'

/**
 * Returns the path of a file. Redocly names files by URI references, like a `$ref`, where `#` begins a
 * pointer.
 */
export function toPath(name: string): string {
  return decodeURIComponent(name)
}

class Resolver extends BaseResolver {
  readonly #readText: ReadText

  constructor(readText: ReadText) {
    super()
    this.#readText = readText
  }

  override async loadExternalRef(file: string): ReturnType<BaseResolver['loadExternalRef']> {
    if (/^https?:/.test(file))
      throw new Error('it is a URL, which is not fetched: keep a copy next to the contract')
    const body = await this.#readText(toPath(file)).catch((error) => {
      throw error instanceof UnreadFile ? new Error(`the file ${error.message}`) : error
    })
    return new Source(file, body.replaceAll('\r\n', '\n'))
  }

  override parseDocument(...args: Parameters<BaseResolver['parseDocument']>): Document {
    const document = fromJson(args[0]) ?? super.parseDocument(...args)
    return {
      ...document,
      parsed: marked(
        withSchemeNames(withOwnRefs(document.parsed)),
        path.basename(toPath(args[0].absoluteRef)),
      ),
    }
  }
}

// Parses JSON about ten times as fast as the YAML parser, which remains to report errors.
function fromJson(source: Document['source']): Document | undefined {
  try {
    return { source, parsed: JSON.parse(source.body) }
  } catch {
    return undefined
  }
}

// Marks inherited names, also in the pointers of `$ref`s. Also marks a `$ref` that is data and points into
// the document: Redocly would follow it, and throw if it leads back to itself. Changes nothing else.
function marked(value: unknown, file: string, place = wholeDocument): unknown {
  if (typeof value !== 'object' || value === null) return value
  const before = Object.entries(value)
  const after = before.map(([key, each]): [string, unknown] => {
    if (key !== '$ref' || typeof each !== 'string')
      return [withMark(key), marked(each, file, placeIn(place, key, Array.isArray(value)))]
    return place.isData && isWithin(each, file) ? [key + mark, each] : [key, markedPointer(each)]
  })
  if (after.every(([key, each], i) => key === before[i]?.[0] && each === before[i]?.[1])) return value
  return Array.isArray(value) ? after.map(([, each]) => each) : Object.fromEntries(after)
}

function isWithin(ref: string, file: string): boolean {
  return ['', file, `./${file}`].includes(ref.split('#', 1)[0] ?? '')
}

function markedPointer(ref: string): string {
  return ref.split('/').map(withMark).join('/')
}

function withMark(name: string): string {
  return inherited.has(name) ? name + mark : name
}
