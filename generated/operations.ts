// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { components, operations } from './types.js'

/** Parameters with a default are always there. */
export type WithDefaults<Parameters, Names extends keyof Parameters> = Omit<Parameters, Names> & Required<Pick<Parameters, Names>>

/** Node gives the names of headers in lower case. */
export type LowerCase<Headers> = { [Name in keyof Headers as Lowercase<Name & string>]: Headers[Name] }

/** What each operation takes, and the answers that the contract declares for it. */
export interface Operations {
  createPet: {
    request: {
      params: Record<never, never>
      query: Record<never, never>
      headers: LowerCase<NonNullable<operations['createPet']['parameters']['header']>>
      cookies: Record<never, never>
      body: NonNullable<operations['createPet']['requestBody']>['content']['application/json']
    }
    response:
      | { status: 201; headers: { 'Location': operations['createPet']['responses'][201]['headers']['Location'] }; body: operations['createPet']['responses'][201]['content']['application/json'] }
      | { status: 400; headers?: undefined; body: operations['createPet']['responses'][400]['content']['application/json'] }
      | { status: 401; headers?: undefined; body: operations['createPet']['responses'][401]['content']['application/json'] }
      | { status: 409; headers?: undefined; body: operations['createPet']['responses'][409]['content']['application/json'] }
      | { status: 413; headers?: undefined; body: operations['createPet']['responses'][413]['content']['application/json'] }
      | { status: 415; headers?: undefined; body: operations['createPet']['responses'][415]['content']['application/json'] }
      | { status: 422; headers?: undefined; body: operations['createPet']['responses'][422]['content']['application/json'] }
      | { status: 429; headers?: undefined; body: operations['createPet']['responses'][429]['content']['application/json'] }
      | { status: 500; headers?: undefined; body: operations['createPet']['responses'][500]['content']['application/json'] }
      | { status: 503; headers?: undefined; body: operations['createPet']['responses'][503]['content']['application/json'] }
  }
  getPet: {
    request: {
      params: NonNullable<operations['getPet']['parameters']['path']>
      query: Record<never, never>
      headers: Record<never, never>
      cookies: Record<never, never>
      body: undefined
    }
    response:
      | { status: 200; headers?: undefined; body: operations['getPet']['responses'][200]['content']['application/json'] }
      | { status: 400; headers?: undefined; body: operations['getPet']['responses'][400]['content']['application/json'] }
      | { status: 401; headers?: undefined; body: operations['getPet']['responses'][401]['content']['application/json'] }
      | { status: 404; headers?: undefined; body: operations['getPet']['responses'][404]['content']['application/json'] }
      | { status: 429; headers?: undefined; body: operations['getPet']['responses'][429]['content']['application/json'] }
      | { status: 500; headers?: undefined; body: operations['getPet']['responses'][500]['content']['application/json'] }
      | { status: 503; headers?: undefined; body: operations['getPet']['responses'][503]['content']['application/json'] }
  }
  listPets: {
    request: {
      params: Record<never, never>
      query: WithDefaults<NonNullable<operations['listPets']['parameters']['query']>, 'limit'>
      headers: Record<never, never>
      cookies: Record<never, never>
      body: undefined
    }
    response:
      | { status: 200; headers?: { 'Link'?: operations['listPets']['responses'][200]['headers']['Link'] }; body: operations['listPets']['responses'][200]['content']['application/json'] }
      | { status: 400; headers?: undefined; body: operations['listPets']['responses'][400]['content']['application/json'] }
      | { status: 401; headers?: undefined; body: operations['listPets']['responses'][401]['content']['application/json'] }
      | { status: 429; headers?: undefined; body: operations['listPets']['responses'][429]['content']['application/json'] }
      | { status: 500; headers?: undefined; body: operations['listPets']['responses'][500]['content']['application/json'] }
      | { status: 503; headers?: undefined; body: operations['listPets']['responses'][503]['content']['application/json'] }
  }
}

export type OperationId = keyof Operations

/** The machine-readable codes of errors. */
export type ErrorCode = components['schemas']['ErrorCode']

/** The body of every error, as the server has it: what the contract says of errors is held to that. */
export type ErrorBody = { code: ErrorCode; message: string; status: number }
