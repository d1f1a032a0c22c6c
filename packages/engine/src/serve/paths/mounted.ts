// Which of the contracts of an application a path belongs to that is no operation's: an unknown one, one
// with another method, one that is no valid URL. Applications have handlers of errors for all of these, and
// each contract has a form of errors and limits of its own: callers of a second contract would get those of
// the first.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Contract, Operation } from '../../document/contract.js'
import { requestPath } from '../../lib/request-target.js'
import type { ErrorFacts } from '../request/errors.js'
import { hasParameter, type Segment, segmentsOf } from './route-segments.js'

/** A contract of an application. */
export interface Mounted {
  readonly contract: Contract
  /** What makes the bodies of its errors, if that is not the engine. */
  readonly errorBody: ((facts: ErrorFacts) => unknown) | undefined
}

interface Entry extends Mounted {
  /** The prefix of the scope that it is mounted in. */
  readonly scope: string
  readonly prefixes: readonly Prefix[]
  readonly routes: readonly (readonly Segment[])[]
}

interface Prefix {
  readonly segments: readonly Segment[]
  /** How many of them have no parameter. */
  readonly literals: number
}

// By the HTTP server, which all scopes of an application share.
const byServer = new WeakMap<object, Entry[]>()

/**
 * Notes a contract that is mounted in a scope of an application.
 * @param prefixOf that of an operation, with the scope's
 */
export function noteMounted(
  { server, prefix }: FastifyInstance,
  { contract, errorBody }: Mounted,
  prefixOf: (operation: Operation) => string,
): void {
  const operations = [...contract.operations.values()]
  const outer = prefix.replace(/\/$/, '')
  const prefixes = new Set([...operations.map(prefixOf), ...(outer === '' ? [] : [outer])])
  const entry = {
    contract,
    errorBody,
    scope: outer,
    prefixes: [...prefixes].map(readPrefix),
    routes: operations.map((each) => segmentsOf(prefixOf(each) + each.route)),
  }
  byServer.set(server, [...(byServer.get(server) ?? []), entry])
}

/** The prefixes of the scopes that a contract is mounted in. */
export function scopesOf(server: object, contract: Contract): string[] {
  return (byServer.get(server) ?? []).filter((each) => each.contract === contract).map(({ scope }) => scope)
}

function readPrefix(text: string): Prefix {
  return {
    segments: segmentsOf(text),
    literals: text.split('/').filter((each) => !hasParameter(each)).length,
  }
}

/**
 * The contract that the path of a request is below: that with the longest prefix; of several with the same
 * prefix, that with a route which has more of the path. Undefined if it is below none, or if there is only
 * one contract: then whoever asks has it.
 */
export function mountedBelow(request: FastifyRequest): Mounted | undefined {
  const all = severalOn(request.server.server)
  // The application may have made one from the other.
  return all && longestBelow(all, new Set([request.url, request.originalUrl]))
}

/** The same of a request target that a server has received. */
export function mountedAt(server: object, target: string): Mounted | undefined {
  const all = severalOn(server)
  return all && longestBelow(all, new Set([target]))
}

/** The contract of `mountedBelow`. */
export function contractBelow(request: FastifyRequest): Contract | undefined {
  return mountedBelow(request)?.contract
}

function severalOn(server: object): readonly Entry[] | undefined {
  const all = byServer.get(server)
  return all === undefined || all.length < 2 ? undefined : all
}

function longestBelow(all: readonly Entry[], targets: ReadonlySet<string>): Mounted | undefined {
  const paths = [...targets].map((each) => requestPath(each).split('/'))
  const below = highest(all, ({ prefixes }) =>
    Math.max(...prefixes.flatMap((prefix) => paths.map((path) => rankOf(prefix, path)))),
  )
  if (below.length < 2) return below[0]
  return highest(below, ({ routes }) =>
    Math.max(...routes.flatMap((route) => paths.map((path) => sharedLength(route, path)))),
  )[0]
}

// Those with the highest rank above 0.
function highest(entries: readonly Entry[], rank: (entry: Entry) => number): Entry[] {
  const ranks = entries.map(rank)
  const most = Math.max(...ranks)
  return most > 0 ? entries.filter((_, i) => ranks[i] === most) : []
}

// By its length first. The router prefers literal segments to parameters.
function rankOf({ segments, literals }: Prefix, path: readonly string[]): number {
  return sharedLength(segments, path) === segments.length
    ? segments.length + literals / (segments.length + 1)
    : 0
}

function sharedLength(segments: readonly Segment[], path: readonly string[]): number {
  const end = segments.findIndex((matches, i) => !matches(path[i] ?? ''))
  return end < 0 ? segments.length : end
}
