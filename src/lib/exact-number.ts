// Numbers where a double would round an integer: it is a bigint then.

/** From which integer to which those of a format are (the OpenAPI Format Registry). */
export const integerRanges: Readonly<Record<string, readonly [least: bigint, most: bigint]>> =
  Object.fromEntries(
    [8n, 16n, 32n, 64n].flatMap((bits) => [
      [`int${bits}`, [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n]],
      [`uint${bits}`, [0n, 2n ** bits - 1n]],
    ]),
  )

/** Whether a double would round some integers of a format: all of them are bigints, so that their type does not depend on their value. */
export function isBig(format: unknown): boolean {
  const [, most = 0n] = integerRanges[String(format)] ?? []
  return most > Number.MAX_SAFE_INTEGER
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
