// Numbers where a double would round an integer: it is a bigint then.

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
