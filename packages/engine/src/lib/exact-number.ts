// Numbers without rounding: an integer that a double would round is a bigint.

type Range = readonly [least: bigint, most: bigint]

/** The ranges of the integer formats in the OpenAPI Format Registry. */
export const integerRanges: Readonly<Record<string, Range>> = Object.fromEntries(
  [8n, 16n, 32n, 64n].flatMap((bits) => [
    [`int${bits}`, [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n]],
    [`uint${bits}`, [0n, 2n ** bits - 1n]],
  ]),
)

// Without a format, the generated type is `number`, which is exact up to 2^53 - 1.
const safeRange: Range = [BigInt(Number.MIN_SAFE_INTEGER), BigInt(Number.MAX_SAFE_INTEGER)]

/** Returns the range of a format; for any other value, the safe integers. */
export function integerRange(format: unknown): Range {
  return integerRanges[String(format)] ?? safeRange
}

/**
 * True if a double would round integers of a format. Then all its integers are bigints, whatever their value.
 */
export function isBig(format: unknown): boolean {
  return integerRange(format)[1] > Number.MAX_SAFE_INTEGER
}

/** Parses a JSON number: an integer beyond 2^53 - 1 becomes a bigint. */
export function exactNumber(numeral: string): number | bigint {
  const value = Number(numeral)
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(numeral) ? value : BigInt(numeral)
}

/** Converts an integer to a number if that is exact. */
export function narrowed(integer: bigint): number | bigint {
  const value = Number(integer)
  return Number.isSafeInteger(value) ? value : integer
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

/**
 * True if a double keeps the digits of a number: the shortest text of the double has the same value. It keeps
 * `1.10`, but not 12345678901234.567, which would become 12345678901234.566.
 */
export function isKeptByDouble(numeral: string): boolean {
  const [given, kept] = [decimal(numeral), decimal(String(Number(numeral)))]
  return given.digits === kept.digits && given.exponent === kept.exponent
}

/**
 * Returns a function that is true of multiples of a number. It calculates in decimal: with doubles, 19.99 is
 * no multiple of 0.01.
 */
export function isMultipleOf(of: bigint | number): (value: bigint | number) => boolean {
  const { digits, exponent } = decimal(String(of))
  const scale = 10 ** Math.max(0, -exponent)
  const step = Number(digits) * 10 ** Math.max(0, exponent)
  const isPlain = scale <= exactMax && step <= exactMax
  return (value) => {
    const scaled = typeof value === 'number' ? Math.round(value * scale) : Number.NaN
    // Up to 15 digits, a double stands for one decimal number. So if this value has more decimal places than
    // the divisor, it differs from the rounded value.
    if (isPlain && Math.abs(scaled) <= exactMax) return scaled / scale === value && scaled % step === 0
    return isMultiple(String(value), String(of))
  }
}

const exactMax = 1e15

function isMultiple(numeral: string, of: string): boolean {
  const [a, b] = [decimal(numeral), decimal(of)]
  const least = Math.min(a.exponent, b.exponent)
  const scaled = ({ digits, exponent }: typeof a) => BigInt(digits + '0'.repeat(exponent - least))
  return scaled(a) % scaled(b) === 0n
}
