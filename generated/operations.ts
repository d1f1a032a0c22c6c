// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { Error, NewPet, Pet, components, operations } from './types.js'

/** Parameters with a default are always present. */
export type WithDefaults<Parameters, Names extends keyof Parameters> = Omit<Parameters, Names> & Required<Pick<Parameters, Names>>

/** Node gives the names of headers in lower case. */
export type LowerCase<Headers> = { [Name in keyof Headers as Lowercase<Name & string>]: Headers[Name] }

/**
 * The request and the declared responses of each operation, its security schemes, and whether it also serves
 * requests without credentials.
 */
export interface Operations {
  createPet: {
    security: 'apiKey'
    isPublic: false
    request: {
      params: Record<never, never>
      query: Record<never, never>
      headers: LowerCase<NonNullable<operations['createPet']['parameters']['header']>>
      cookies: Record<never, never>
      body: NewPet
    }
    response:
      | { status: 201; headers: { 'Location': string }; body: Pet }
      | { status: 400; headers?: undefined; body: Error }
      | { status: 401; headers?: undefined; body: Error }
      | { status: 409; headers?: undefined; body: Error }
      | { status: 413; headers?: undefined; body: Error }
      | { status: 415; headers?: undefined; body: Error }
      | { status: 422; headers?: undefined; body: Error }
      | { status: 429; headers?: undefined; body: Error }
      | { status: 500; headers?: undefined; body: Error }
      | { status: 503; headers?: undefined; body: Error }
  }
  getPet: {
    security: 'apiKey'
    isPublic: false
    request: {
      params: NonNullable<operations['getPet']['parameters']['path']>
      query: Record<never, never>
      headers: LowerCase<NonNullable<operations['getPet']['parameters']['header']>>
      cookies: Record<never, never>
      body: undefined
    }
    response:
      | { status: 200; headers?: undefined; body: Pet }
      | { status: 304; headers?: { 'Link'?: string }; body?: undefined }
      | { status: 400; headers?: undefined; body: Error }
      | { status: 401; headers?: undefined; body: Error }
      | { status: 404; headers?: undefined; body: Error }
      | { status: 429; headers?: undefined; body: Error }
      | { status: 500; headers?: undefined; body: Error }
      | { status: 503; headers?: undefined; body: Error }
  }
  listPets: {
    security: 'apiKey'
    isPublic: false
    request: {
      params: Record<never, never>
      query: WithDefaults<NonNullable<operations['listPets']['parameters']['query']>, 'limit'>
      headers: LowerCase<NonNullable<operations['listPets']['parameters']['header']>>
      cookies: Record<never, never>
      body: undefined
    }
    response:
      | { status: 200; headers?: { 'Link'?: string }; body: Pet[] }
      | { status: 304; headers?: { 'Link'?: string }; body?: undefined }
      | { status: 400; headers?: undefined; body: Error }
      | { status: 401; headers?: undefined; body: Error }
      | { status: 429; headers?: undefined; body: Error }
      | { status: 500; headers?: undefined; body: Error }
      | { status: 503; headers?: undefined; body: Error }
  }
}

export type OperationId = keyof Operations

/** The security schemes, and the credential of each that a request carries and a check gets. */
export type SecuritySchemes = {
  apiKey: string
}

/** The machine-readable codes of errors. */
export type ErrorCode = components['schemas']['ErrorCode']

/** The bodies of errors. */
export type ErrorBody = Error
