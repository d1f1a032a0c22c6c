// Prints the functions of a contract's schemas as a module: what Ajv compiles of them, by its
// standalone form, and what writes their values. It imports nothing: load.ts hands the runtime in.

import type { ValidateFunction } from 'ajv'
import type { Contract, Operation } from '../../document/contract.js'
import { ContractError } from '../../document/contract-error.js'
import type { Judges } from '../../document/judges.js'
import type { AnySchema } from '../../document/keywords.js'
import { Reader } from '../../document/reader.js'
import type { PrintedJudge } from '../../serve/code/code.js'
import { keyOf } from '../../serve/code/keys.js'
import { createOutgoing } from '../../serve/outgoing/outgoing.js'
import { itemsReceiver } from '../../serve/request/arriving-items.js'
import { createParameterReader } from '../../serve/request/parameter-styles.js'
import { requestSchemas } from '../../serve/request/request-schemas.js'
import { createJsonWriters } from '../../serve/response/response-serialization.js'
import { createResponseChecks } from '../../serve/response/response-validation.js'
import { type Compiler, createJudges } from './compilers.js'
import { literalOf } from './literals.js'
import { printCompiler } from './print-compiler.js'
import { PrintedWriters } from './print-writers.js'

/** The text of a module (`Code` in code.ts) with the functions of a contract's schemas. */
export function compileCode(contract: Contract): string {
  const compiled = new Map<Compiler, Map<string, ValidateFunction>>()
  const judges = new Map<string, PrintedJudge>()
  const written = new Set<string>()
  const writers = new PrintedWriters(new Reader(contract.specification))
  const compilerOf = new Map<ValidateFunction, Compiler>()
  const compiling = createJudges(contract.specification, {
    code: { source: true },
    onCompiled: (validate, compiler) => void compilerOf.set(validate, compiler),
  })
  const note = (validate: ValidateFunction): PrintedJudge => {
    const compiler = compilerOf.get(validate) as Compiler // it has told
    const key = keyOf(plain(validate.schema))
    const functions = compiled.get(compiler) ?? new Map<string, ValidateFunction>()
    compiled.set(compiler, functions.set(key, validate))
    return [compiler.name, key]
  }
  const recorded = recording(compiling, judges, note)
  judgeAll(contract, {
    ...recorded,
    writer: (schema) => {
      const key = keyOf(schema)
      if (!written.has(key)) writers.add(`r${key}`, schema)
      written.add(key)
      return () => undefined
    },
  })
  const printed = [...compiled].map(([compiler, functions]) => printCompiler(compiler, functions))
  return [
    `export const compilers = {${printed.join()}}`,
    `export const judges = ${literalOf(Object.fromEntries(judges))}`,
    `export const writers = ${writers}\n`,
  ].join('\n')
}

/** Judges that note by what key each function is asked for, and what compiling it throws. */
function recording(
  { request, responseHeader, responseBody, received, requestId }: Judges,
  found: Map<string, PrintedJudge>,
  note: (validate: ValidateFunction) => PrintedJudge,
): Omit<Judges, 'writer'> {
  const recorded =
    <Validate extends ValidateFunction>(
      name: string,
      judge: (schema: AnySchema, part: string | undefined) => Validate,
    ) =>
    (schema: AnySchema, part?: string): Validate => {
      const key = keyOf(schema, name, part)
      try {
        const validate = judge(schema, part)
        found.set(key, note(validate))
        return validate
      } catch (error) {
        if (!found.has(key)) found.set(key, failure(error as Error))
        throw error
      }
    }
  return {
    request: recorded('request', request),
    responseHeader: recorded('responseHeader', responseHeader),
    responseBody: recorded('responseBody', responseBody),
    received: recorded('received', received),
    requestId: recorded('requestId', requestId),
  }
}

// Without what keeps Ajv from writing it (compilers.ts).
function plain(schema: ValidateFunction['schema']): unknown {
  return typeof schema === 'object' ? { ...schema } : schema
}

function failure(error: Error): PrintedJudge {
  return error instanceof ContractError ? { problems: error.problems } : { message: error.message }
}

// Asks for all that a server may ask for. What fails there is what has failed here.
function judgeAll(contract: Contract, judges: Judges): void {
  attempt(() => judges.requestId(contract.requestId))
  for (const operation of contract.operations.values()) {
    for (const [part, schema] of requestParts(operation, contract))
      attempt(() => judges.request(schema, part))
    attempt(() => createParameterReader(operation, '', judges.request))
    attempt(() => itemsReceiver(operation, judges.request))
    attemptResponses(operation, judges)
    createJsonWriters(operation, judges)
  }
  attempt(() => createOutgoing({ ...contract, judges: () => judges }))
}

// One by one: of an operation without a handler, the errors are judged whatever its other responses are.
function attemptResponses({ id, responses }: Operation, judges: Judges): void {
  const checkOf = createResponseChecks(judges)
  for (const [status, response] of responses)
    attempt(() => checkOf({ id, responses: new Map([[status, response]]) }, true))
}

// What it throws is noted.
function attempt(step: () => unknown): void {
  try {
    step()
  } catch {}
}

function requestParts(
  operation: Operation,
  { specification }: Contract,
): [part: string, schema: AnySchema][] {
  const { body, ...others } = requestSchemas(operation, specification)
  const bodies = Object.values(body?.content ?? {}).map(({ schema }): [string, AnySchema] => ['body', schema])
  return [...Object.entries(others as Record<string, AnySchema>), ...bodies]
}
