// Numbers where a double would round an integer: it is a bigint then.

type Range = readonly [least: bigint, most: bigint]

/** From which integer to which those of a format are (the OpenAPI Format Registry). */
export const integerRanges: Readonly<Record<string, Range>> = Object.fromEntries(
  [8n, 16n, 32n, 64n].flatMap((bits) => [
    [`int${bits}`, [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n]],
    [`uint${bits}`, [0n, 2n ** bits - 1n]],
  ]),
)

// Without a format the generated type is `number`, which is exact only so far.
const safeRange: Range = [BigInt(Number.MIN_SAFE_INTEGER), BigInt(Number.MAX_SAFE_INTEGER)]

/** The same, of any format or none. */
export function integerRange(format: unknown): Range {
  return integerRanges[String(format)] ?? safeRange
}

/** Whether a double would round some integers of a format: all of them are bigints, so that their type does not depend on their value. */
export function isBig(format: unknown): boolean {
  return integerRange(format)[1] > Number.MAX_SAFE_INTEGER
}

/** The value of a numeral of JSON. */
export function exactNumber(numeral: string): number | bigint {
  const value = Number(numeral)
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(numeral) ? value : BigInt(numeral)
}

/** An integer as a number, where that holds it. */
export function narrowed(integer: bigint): number | bigint {
  const value = Number(integer)
  return Number.isSafeInteger(value) ? value : integer
}
