// A plan: the result of compiling a contract, in one file. The first line has the digest of everything after
// it, so that the server refuses a plan that a disk has damaged. The second line says in JSON what the plan
// was made from, and by which engine. The rest is V8's structured clone, which unlike JSON keeps Map, Date,
// bigint, undefined, and an object that stands in several places as one. It needs no library, and the server
// reads it in a fiftieth of the time that the contract takes.

import { createHash } from 'node:crypto'
import path from 'node:path'
import { promisify } from 'node:util'
import { deserialize, serialize } from 'node:v8'
import { brotliCompressSync, brotliDecompress, constants } from 'node:zlib'
import type { Contract, FileForm, FileServers } from '../document/contract.js'

/** What a plan was made from, and by what. */
export interface PlanHead {
  /** The digest of the text of each file of the contract, by its path from the contract's folder. */
  readonly files: Readonly<Record<string, string>>
  /** The version of the engine: see engine-version.ts. */
  readonly engine: string
  /** The version of the readers of extensions; empty unless it was given. */
  readonly readers: string
}

/** A contract without its functions. */
export type ContractData = Omit<Contract, 'locate' | 'write' | 'functions'>

/** What serving needs. Texts that are seldom needed are packed. */
export interface PlanBody {
  readonly contract: ContractData
  /**
   * The printed functions of its schemas (code/print.ts), as bytes: V8 may keep two bytes for each letter of
   * a string.
   */
  readonly code: Uint8Array
  /** True for the limits that the contract leaves to the engine: the Node that serves sets them. */
  readonly leftOpen: { readonly url: boolean; readonly header: boolean }
  /** The files that are served, or why one cannot be written, by `writtenName`. */
  readonly written: ReadonlyMap<string, Packed | { readonly message: string }>
  /** The files that the contract was read from, by name. Problems are located in them. */
  readonly texts: ReadonlyMap<string, Packed>
}

const mark = 'contract-engine plan 2 '
const newline = 10

export function encodePlan(head: PlanHead, body: PlanBody): Uint8Array {
  const content = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), serialize(body)])
  return Buffer.concat([Buffer.from(`${mark}${digestOf(content)}\n`), content])
}

/**
 * Returns what `encodePlan` was given. Returns undefined for other bytes, such as a damaged plan, and for a
 * format that this Node does not read.
 */
export function decodePlan(plan: Uint8Array): { head: PlanHead; body: PlanBody } | undefined {
  const [line, content] = cutAtLine(plan)
  if (line !== `${mark}${digestOf(content)}`) return undefined
  const [head, body] = cutAtLine(content)
  try {
    // encodePlan wrote both, hence the casts.
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

/** Returns the name of a file that `write` writes. */
export function writtenName(form: FileForm, servers: FileServers): string {
  return `${form} ${servers}`
}

export function digestOf(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Returns the name of a contract's file in its plan. */
export function nameIn(contract: string, file: string): string {
  return path.relative(path.dirname(path.resolve(contract)), path.resolve(file))
}

/** Returns the path of a file, from its name in the plan of a contract. */
export function pathOf(contract: string, name: string): string {
  return path.resolve(path.dirname(contract), name)
}
