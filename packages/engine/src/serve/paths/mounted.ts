// Which of the contracts of an application a path belongs to that is no operation's: an unknown one, one
// with another method, one that is no valid URL. Applications have handlers of errors for all of these, and
// each contract has a form of errors and limits of its own: callers of a second contract would get those of
// the first.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Contract, Operation } from '../../document/contract.js'
import { requestPath } from '../../lib/request-target.js'
import type { ErrorFacts } from '../request/errors.js'
import { hasParameter, type Segment, segmentsOf } from './route-segments.js'

/** A contract that is mounted in an application. */
export interface Mounted {
  readonly contract: Contract
  /** Makes the bodies of its errors, if the application does so instead of the engine. */
  readonly errorBody: ((facts: ErrorFacts) => unknown) | undefined
}

interface Entry extends Mounted {
  /** The prefix of the scope in which the contract is mounted. */
  readonly scope: string
  readonly prefixes: readonly Prefix[]
  readonly routes: readonly (readonly Segment[])[]
}

interface Prefix {
  readonly segments: readonly Segment[]
  /** How many of the segments have no parameter. */
  readonly literals: number
}

// By HTTP server, which all scopes of an application share.
const byServer = new WeakMap<object, Entry[]>()

/**
 * Notes a contract that is mounted in a scope of an application.
 * @param prefixOf returns the prefix of an operation, which includes the scope's
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

/** Returns the prefixes of the scopes in which a contract is mounted. */
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
 * Returns the contract to which the path of a request belongs: the contract with the longest prefix of the
 * path; among several with the same prefix, the one with a route that shares more of the path. Returns
 * undefined if there is none, or if only one contract is mounted, because then the caller has it.
 */
export function mountedBelow(request: FastifyRequest): Mounted | undefined {
  const all = severalOn(request.server.server)
  // The application may have rewritten the original URL.
  return all && longestBelow(all, new Set([request.url, request.originalUrl]))
}

/** Like `mountedBelow`, for a request target that a server has received. */
export function mountedAt(server: object, target: string): Mounted | undefined {
  const all = severalOn(server)
  return all && longestBelow(all, new Set([target]))
}

/** Returns the contract of `mountedBelow`. */
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

// Returns the entries with the highest rank above 0.
function highest(entries: readonly Entry[], rank: (entry: Entry) => number): Entry[] {
  const ranks = entries.map(rank)
  const most = Math.max(...ranks)
  return most > 0 ? entries.filter((_, i) => ranks[i] === most) : []
}

// Ranks by length first, and then by literal segments, which the router prefers to parameters.
function rankOf({ segments, literals }: Prefix, path: readonly string[]): number {
  return sharedLength(segments, path) === segments.length
    ? segments.length + literals / (segments.length + 1)
    : 0
}

function sharedLength(segments: readonly Segment[], path: readonly string[]): number {
  const end = segments.findIndex((matches, i) => !matches(path[i] ?? ''))
  return end < 0 ? segments.length : end
}
