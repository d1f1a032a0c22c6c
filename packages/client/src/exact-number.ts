// Numbers without rounding: a bigint where a double would round an integer. As the engine reads them.

/** Parses a JSON number: an integer beyond 2^53 - 1 as a bigint. */
export function exactNumber(numeral: string): number | bigint {
  const value = Number(numeral)
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(numeral) ? value : BigInt(numeral)
}

/** A numeral of JSON as `digits` × 10^`exponent`, without trailing zeros: the same for equal numbers. */
export function decimal(numeral: string): { readonly digits: string; readonly exponent: number } {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(numeral) ?? []
  const digits = whole + fraction
  const significant = /^.*[1-9]/.exec(digits)?.[0]
  if (significant === undefined) return { digits: '0', exponent: 0 }
  const zeros = digits.length - significant.length
  return {
    digits: sign + significant.replace(/^0+/, ''),
    exponent: Number(exponent) - fraction.length + zeros,
  }
}
