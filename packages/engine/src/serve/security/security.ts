// Finds who sent a request. It judges a request once, before its body is read, when the verdict is first
// asked for, and notes the verdict on the request.

import type { FastifyRequest } from 'fastify'
import type { Contract, Operation } from '../../document/contract.js'
import { ownError, type RequestError } from '../../document/request-error.js'
import { queryKeyNames, takeQueryKeys } from '../request/query-keys.js'
import { judgedAs, judgedBy } from '../request/request-parts.js'
import type { AnyCheck, Caller, CheckList, Verdict } from './check.js'
import { type CookieOptions, createCookieGuard, type IsForeign } from './cookie-guard.js'
import { gateOf } from './create-gate.js'
import { malformed } from './credentials.js'
import type { Gate } from './gate.js'
import { judge } from './judge.js'
import { invalidCredential, invalidCredentials } from './refusals.js'

declare module 'fastify' {
  interface FastifyRequest {
    [judgedBy]: object | undefined
    [judgedAs]: Verdict | undefined
  }
}

/** The security of a contract: judges its requests by the checks of an application. */
export class Security<C extends Caller = Caller> {
  readonly #gates = new Map<Operation | undefined, Gate<C>>()
  readonly #contract: Contract
  readonly #queryKeys: ReadonlySet<string>
  readonly #isForeign: IsForeign | undefined
  readonly checks: ReadonlyMap<string, AnyCheck<C>>

  /** @param cookies whose pages may use credentials in cookies; by default, only the server's own */
  constructor(contract: Contract, checks: CheckList<C>, cookies: CookieOptions = {}) {
    this.#contract = contract
    this.#isForeign = createCookieGuard(cookies)
    this.#queryKeys = queryKeyNames(contract)
    this.checks = new Map(Object.entries(checks).flatMap(([name, check]) => (check ? [[name, check]] : [])))
  }

  /**
   * Returns the verdict on a request, by the requirements of an operation, and notes it on the request.
   * Without an operation, or with one that requires nothing, it tries the alternatives of all operations.
   */
  authenticate(request: FastifyRequest, operation?: Operation): Verdict<C> | Promise<Verdict<C>> {
    const gate = this.#gateOf(operation)
    if (request[judgedBy] === gate) return request[judgedAs] as Verdict<C>
    this.#takeQueryKeys(request)
    return judge(gate, request)
  }

  /**
   * Creates the check of an operation's requests. Whatever the operation requires, it takes a key in the
   * query out of the URL.
   * @param unmet why the server cannot check the operation's requirements: it then responds 501. With a
   * handler, such an operation makes startup fail
   */
  checkOf(
    operation: Operation,
    unmet: string | undefined,
  ): (request: FastifyRequest) => void | Promise<void> {
    if (unmet !== undefined) {
      return (request) => {
        this.#takeQueryKeys(request)
        throw ownError('not_implemented', unmet)
      }
    }
    if (operation.security.length === 0) return (request) => this.#takeQueryKeys(request)
    return (request) => {
      const verdict = this.authenticate(request, operation)
      return verdict instanceof Promise ? verdict.then(pass) : pass(verdict)
    }
  }

  /** Returns the caller as last known, without a look-up, for uses that need no valid credential. */
  recall(request: FastifyRequest, operation?: Operation): C | undefined {
    this.#takeQueryKeys(request)
    for (const { read, check } of this.#gateOf(operation).steps) {
      const credential = read(request)
      if (credential === undefined || credential === malformed) continue
      const caller = check.recall?.(credential)
      if (caller !== undefined) return caller
    }
    return undefined
  }

  // If a request has keys in its query, takes them out of its URL.
  #takeQueryKeys(request: FastifyRequest): void {
    if (this.#queryKeys.size > 0) takeQueryKeys(request, this.#queryKeys)
  }

  /**
   * Returns each 401 and 403 that the operation can send to a request without a caller, or with one who lacks
   * a scope.
   */
  refusalsOf(operation: Operation): readonly RequestError[] {
    const gate = this.#gateOf(operation)
    if (gate.alternatives.length === 0) return [] // no scheme has a check: it responds 501
    const invalid = gate.steps.map((step) => {
      const error = invalidCredential(step)
      return invalidCredentials(gate, error, (each) => (each === step ? error : undefined))
    })
    const demanding = gate.alternatives.filter(({ needs }) => needs.some(({ scopes }) => scopes.length > 0))
    return [gate.missing, ...invalid, ...demanding.map(({ insufficient }) => insufficient)]
  }

  /** Returns the 403 for pages of other sites, if the operation is guarded from them. */
  foreignRefusalOf(operation: Operation): RequestError | undefined {
    return this.#gateOf(operation).alternatives.find(({ guard }) => guard?.refusal)?.guard?.refusal
  }

  #gateOf(operation: Operation | undefined): Gate<C> {
    const known = this.#gates.get(operation)
    if (known !== undefined) return known
    const requirements = this.#requirementsOf(operation)
    const gate = gateOf(requirements, this.#contract, this.checks, operation, this.#isForeign)
    this.#gates.set(operation, gate)
    return gate
  }

  // A caller is identified by the same schemes everywhere: by all of those that are required together.
  #requirementsOf(operation: Operation | undefined): Operation['security'] {
    if (operation !== undefined && operation.security.length > 0) return operation.security
    const all = [...this.#contract.operations.values()].flatMap(({ security }) => security)
    const bare = all.map((each) => each.map(({ name }) => ({ name, scopes: [] })))
    const distinct = new Map(bare.map((each) => [JSON.stringify(each), each]))
    return operation === undefined
      ? [...distinct.values()].filter(({ length }) => length > 0)
      : [...distinct.values(), []]
  }
}

/** Returns the verdict on a request, if it has been judged. */
export function verdictOf(request: FastifyRequest): Verdict | undefined {
  return request[judgedAs]
}

function pass({ refusal }: Verdict): void {
  if (refusal !== undefined) throw refusal
}
