// Numbers without rounding, read as the engine reads them: an integer that a double would round is a bigint.

/** Parses a JSON number: an integer beyond 2^53 - 1 becomes a bigint. */
export function exactNumber(numeral: string): number | bigint {
  const value = Number(numeral)
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(numeral) ? value : BigInt(numeral)
}

/**
 * Returns a JSON number as `digits` × 10^`exponent`, without trailing zeros: equal numbers have the same
 * form.
 */
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
