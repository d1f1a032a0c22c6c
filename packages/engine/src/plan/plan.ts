// A plan: what compiling a contract has found, in one file. Its first line has the digest of all that
// follows, so that no plan is served of which a disk has changed a byte. A line of JSON says what it was
// made from and by. The rest is the structured clone of V8, which keeps Map, Date, bigint, undefined and
// what is one object in several places, as JSON does not. It needs no library, and is read in a fiftieth of
// the time that the contract takes.

import { createHash } from 'node:crypto'
import path from 'node:path'
import { promisify } from 'node:util'
import { deserialize, serialize } from 'node:v8'
import { brotliCompressSync, brotliDecompress, constants } from 'node:zlib'
import type { Contract, FileForm, FileServers } from '../document/contract.js'

/** What a plan was made from, and by. */
export interface PlanHead {
  /** The digest of the text of each file of the contract, by its path from the contract's folder. */
  readonly files: Readonly<Record<string, string>>
  /** See engine-version.ts. */
  readonly engine: string
  /** That of the readers of extensions; empty unless it was given. */
  readonly readers: string
}

/** A contract without its functions. */
export type ContractData = Omit<Contract, 'locate' | 'write' | 'functions'>

/** What serving needs. Texts that it seldom needs are packed. */
export interface PlanBody {
  readonly contract: ContractData
  /** The functions of its schemas, printed (code/print.ts). As bytes: V8 may keep two for each letter. */
  readonly code: Uint8Array
  /** Which limits the contract leaves to the engine: they are those of the Node that serves. */
  readonly leftOpen: { readonly url: boolean; readonly header: boolean }
  /** By `writtenName`: the files that are served, or why one cannot be written. */
  readonly written: ReadonlyMap<string, Packed | { readonly message: string }>
  /** By their names: the files that the contract was read from, in which problems are located. */
  readonly texts: ReadonlyMap<string, Packed>
}

const mark = 'contract-engine plan 2 '
const newline = 10

export function encodePlan(head: PlanHead, body: PlanBody): Uint8Array {
  const content = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), serialize(body)])
  return Buffer.concat([Buffer.from(`${mark}${digestOf(content)}\n`), content])
}

/**
 * What `encodePlan` was given; undefined for other bytes, such as those of a plan that is damaged, and for a
 * form that this Node does not read.
 */
export function decodePlan(plan: Uint8Array): { head: PlanHead; body: PlanBody } | undefined {
  const [line, content] = cutAtLine(plan)
  if (line !== `${mark}${digestOf(content)}`) return undefined
  const [head, body] = cutAtLine(content)
  try {
    // encodePlan wrote both.
    return { head: JSON.parse(head) as PlanHead, body: deserialize(body) as PlanBody }
  } catch {
    return undefined
  }
}

function cutAtLine(bytes: Uint8Array): readonly [string, Uint8Array] {
  const end = bytes.indexOf(newline)
  return [Buffer.from(bytes.subarray(0, end)).toString(), bytes.subarray(end + 1)]
}

type Packed = Uint8Array

const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } } // as fast as gzip, and smaller

export function pack(text: string): Packed {
  return brotliCompressSync(text, quality)
}

export async function unpack(packed: Packed): Promise<string> {
  return String(await promisify(brotliDecompress)(packed))
}

/** The name of a file that `write` makes. */
export function writtenName(form: FileForm, servers: FileServers): string {
  return `${form} ${servers}`
}

export function digestOf(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** The name of a file of a contract in its plan. */
export function nameIn(contract: string, file: string): string {
  return path.relative(path.dirname(path.resolve(contract)), path.resolve(file))
}

/** The path of a file, by its name in the plan of a contract. */
export function pathOf(contract: string, name: string): string {
  return path.resolve(path.dirname(contract), name)
}
