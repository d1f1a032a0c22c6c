// Security schemes and requirements (OpenAPI 3.1.1, sections 4.8.27 and 4.8.30): what a document says of
// them, and where the credential of a scheme is sent. A scheme that the server cannot read is never treated
// as met.

import { isToken } from '../lib/field-values.js'
import { capitalized } from '../lib/texts.js'
import type { Contract, Operation, Requirement, SecurityScheme } from './contract.js'
import type { Pointer, Problem } from './contract-error.js'
import { operationPlace } from './methods.js'
import type { Node, Reader } from './reader.js'

/** Returns the Security Requirement Objects of an operation: its own or, if it has none, the document's. */
export function effectiveSecurity(document: Node, operation: Node): Node[] {
  return (operation.security ?? document.security ?? []) as Node[] // the form has been checked
}

/** Returns the requirements of an operation as alternatives of schemes that must all be met. */
export function readRequirements(document: Node, operation: Node): Requirement[][] {
  return effectiveSecurity(document, operation).map((alternative) =>
    // The form of the document has been checked: these are lists of strings.
    Object.entries(alternative).map(([name, scopes]) => ({ name, scopes: scopes as readonly string[] })),
  )
}

/** Returns the security schemes that the document declares. */
export function readSecuritySchemes(reader: Reader): Contract['securitySchemes'] {
  const schemes = Object.entries(reader.node(reader.components.securitySchemes))
  return new Map(schemes.map(([name, scheme]) => [name, reader.node(scheme) as unknown as SecurityScheme]))
}

/** True if an operation also serves requests without credentials. */
export function isPublic({ security }: Pick<Operation, 'security'>): boolean {
  return security.length === 0 || security.some((requirements) => requirements.length === 0)
}

/** Where a request carries a credential. */
export interface CredentialPlace {
  /** `authorization`: the header of that name, with the HTTP authentication scheme `name`. */
  readonly in: 'authorization' | 'header' | 'query' | 'cookie'
  /** The name. That of an HTTP authentication scheme or of a header is in lower case. */
  readonly name: string
}

/**
 * Returns where the credential of a scheme is sent; undefined for a scheme whose credential no request
 * carries, or that is incomplete.
 */
export function credentialPlace(scheme: SecurityScheme | undefined): CredentialPlace | undefined {
  const { type, scheme: http, in: location, name } = scheme ?? {}
  if (type === 'oauth2' || type === 'openIdConnect') return { in: 'authorization', name: 'bearer' }
  if (type === 'http')
    return typeof http === 'string' && isToken(http)
      ? { in: 'authorization', name: http.toLowerCase() }
      : undefined
  if (type !== 'apiKey' || typeof name !== 'string' || name === '') return undefined
  if (location === 'query') return { in: location, name }
  if (!isToken(name)) return undefined // no request has a header or a cookie with such a name
  if (location === 'header') return { in: location, name: name.toLowerCase() }
  return location === 'cookie' ? { in: location, name } : undefined
}

/** True if two places are read from the same text: a header of that name, or a part of it. */
export function isSamePlace(one: CredentialPlace, other: CredentialPlace): boolean {
  if (one.in === other.in) return one.name === other.name
  return [one, other].every((each) => headerOf(each) === 'authorization')
}

/** True if the credentials of two schemes, given by name, are sent in the same place. */
export function areSentAlike(
  one: string,
  other: string,
  { securitySchemes }: Pick<Contract, 'securitySchemes'>,
): boolean {
  const [place, otherPlace] = [one, other].map((name) => credentialPlace(securitySchemes.get(name)))
  return place !== undefined && otherPlace !== undefined && isSamePlace(place, otherPlace)
}

const bearerPlace: CredentialPlace = { in: 'authorization', name: 'bearer' }

/**
 * Says for messages how the credential of a scheme is sent: as a header in quotes, or `the query parameter
 * key`.
 * @param credential is shown in the header
 */
export function credentialUsage(scheme: SecurityScheme | undefined, credential?: string): string {
  const { in: location, name } = credentialPlace(scheme) ?? bearerPlace
  if (location === 'query') return `the query parameter ${name}`
  if (location === 'cookie') return `the cookie ${name}`
  const ofToken = name === 'bearer' ? '<TOKEN>' : '<CREDENTIALS>'
  return `"${credentialPair(scheme, credential ?? (location === 'header' ? '<KEY>' : ofToken)).join(': ')}"`
}

/**
 * Returns the name and the value by which a credential of a scheme is sent, in a header, a query or a cookie.
 */
export function credentialPair(
  scheme: SecurityScheme | undefined,
  credential: string,
): readonly [name: string, value: string] {
  const { in: location, name } = credentialPlace(scheme) ?? bearerPlace
  if (location === 'authorization') return ['Authorization', `${capitalized(name)} ${credential}`]
  return [location === 'header' ? String(scheme?.name) : name, credential]
}

/** Returns the header that a place is in, in lower case. */
export function headerOf({ in: location, name }: CredentialPlace): string | undefined {
  if (location === 'cookie') return 'cookie'
  if (location === 'query') return undefined
  return location === 'header' ? name : 'authorization'
}

/**
 * Returns a problem for each scheme of an operation, even in an alternative, that the server cannot check.
 * The problem's place is that of the requirement.
 * @param hasCheck true if a scheme has a check
 */
export function unmetSecurity(
  operation: Operation,
  { securitySchemes }: Pick<Contract, 'securitySchemes'>,
  hasCheck: (name: string) => boolean,
): Problem[] {
  const names = [...new Set(operation.security.flat().map(({ name }) => name))]
  return names.flatMap((name) => {
    const scheme = securitySchemes.get(name)
    const lacks = lackOf(scheme, hasCheck(name))
    if (lacks === undefined) return []
    const verb = operation.security.every((each) => isIn(each, name)) ? 'requires' : 'accepts'
    const text = `${operation.id} ${verb} ${name} (${schemeKind(scheme)}), which ${lacks}`
    return [{ text, at: requirementPlace(operation, name) }]
  })
}

function lackOf(scheme: SecurityScheme | undefined, hasCheck: boolean): string | undefined {
  if (credentialPlace(scheme) === undefined) return 'the server cannot check'
  return hasCheck ? undefined : 'has no check'
}

function isIn(requirements: readonly Requirement[], scheme: string): boolean {
  return requirements.some(({ name }) => name === scheme)
}

/**
 * Returns the place of an operation's first requirement of a scheme: its own or, if it has none, the
 * document's.
 */
export function requirementPlace(operation: Operation, scheme: string): Pointer {
  const { security, definition } = operation
  const i = security.findIndex((each) => isIn(each, scheme))
  const own = definition.security === undefined ? [] : operationPlace(operation)
  return [...own, 'security', i, scheme]
}

/** Describes the type of a scheme in words: `http bearer`, `apiKey in header`. */
export function schemeKind(scheme: SecurityScheme | undefined): string {
  if (scheme === undefined) return 'not declared'
  const { type, scheme: http, in: location } = scheme
  if (type === 'http') return `http ${String(http).toLowerCase()}`
  return type === 'apiKey' && location !== undefined ? `apiKey in ${location}` : type
}
