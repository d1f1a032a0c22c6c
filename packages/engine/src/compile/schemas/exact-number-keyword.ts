// The keyword `exactNumber` (runtime/exact-numbers.ts).

import { _, type Ajv, type Code, type KeywordCxt, type Name } from 'ajv'
import { and } from 'ajv/dist/compile/codegen/index.js'
import { integerRange, isBig } from '../../lib/exact-number.js'
import { createAllows, createMessage, type NumberMode, type Rules } from '../../runtime/exact-numbers.js'
import { call, literal, make, ofSchema } from './generated-code.js'

/**
 * Adds the `exactNumber` keyword to an Ajv. It converts integers of a 64-bit format to bigint, and any other
 * number to number. It is a code keyword: for a keyword that is a function, Ajv (8.20) copies errors and
 * builds the path of every value.
 */
export function addExactNumber(ajv: Ajv, mode: NumberMode): void {
  ajv.addKeyword({
    keyword: 'exactNumber',
    schemaType: 'object',
    error: { message: ({ params }) => _`${params.message}` },
    code(cxt) {
      const { data, it } = cxt
      const rules = ofSchema<Rules>(cxt)
      // The message is written only where Ajv creates an error, which it does not in an alternative or a
      // condition.
      cxt.setParams({ message: call(cxt, make(cxt, createMessage, rules, literal(mode)), data) })
      const isChanged = mode !== 'check' && rules.value.isCondition !== true
      const place = isChanged ? [it.parentData, _`${it.parentDataProperty}`] : []
      const isAllowed = call(cxt, make(cxt, createAllows, rules, literal(mode)), data, ...place)
      const isUsual = mode === 'text' ? undefined : usualTest(cxt, rules.value, isChanged)
      cxt.pass(isUsual === undefined ? isAllowed : _`(${isUsual}) || ${isAllowed}`)
    },
  })
}

// Returns an inline test that accepts most numbers without a call: those that need no conversion, under rules
// with nothing but one type, its format and bounds. Returns undefined for other rules.
function usualTest(cxt: KeywordCxt, rules: Rules, isChanged: boolean): Code | undefined {
  const { types, format, minimum, maximum, isCondition: _condition, ...more } = rules
  const [type, ...others] = types
  if (others.length > 0 || Object.values(more).some((each) => each !== undefined)) return undefined
  if (type === 'integer') return integerTest(cxt, rules, isChanged)
  const isDouble = type === 'number' && (format === undefined || format === 'double')
  if (!isDouble || typeof minimum === 'bigint' || typeof maximum === 'bigint') return undefined
  return and(_`Number.isFinite(${cxt.data})`, ...boundTests(cxt.data, minimum, maximum))
}

function integerTest(
  cxt: KeywordCxt,
  { format, minimum, maximum }: Rules,
  isChanged: boolean,
): Code | undefined {
  if (isChanged && isBig(format)) return undefined
  const { data } = cxt
  const [first, last] = integerRange(format)
  const lowest = minimum === undefined ? first : toBigint(minimum, Math.ceil)
  const highest = maximum === undefined ? last : toBigint(maximum, Math.floor)
  const [least, most] = [lowest > first ? lowest : first, highest < last ? highest : last]
  const ofNumbers = boundTests(
    data,
    least > Number.MIN_SAFE_INTEGER ? Number(least) : undefined,
    most < Number.MAX_SAFE_INTEGER ? Number(most) : undefined,
  )
  const isNumber = and(_`Number.isSafeInteger(${data})`, ...ofNumbers)
  if (isChanged) return isNumber
  const [from, to] = [least, most].map((each) => bigintIn(cxt, each))
  return _`typeof ${data} === "bigint" ? ${data} >= ${from} && ${data} <= ${to} : ${isNumber}`
}

function toBigint(bound: number | bigint, round: (bound: number) => number): bigint {
  return BigInt(typeof bound === 'bigint' ? bound : round(bound))
}

function bigintIn({ gen }: KeywordCxt, ref: bigint): Code {
  return _`${gen.scopeValue('func', { ref, code: _`BigInt(${String(ref)})` })}`
}

function boundTests(data: Name, least: number | undefined, most: number | undefined): Code[] {
  return [
    ...(least === undefined ? [] : [_`${data} >= ${least}`]),
    ...(most === undefined ? [] : [_`${data} <= ${most}`]),
  ]
}
