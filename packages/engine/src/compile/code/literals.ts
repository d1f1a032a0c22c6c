// Writes values of schemas as JavaScript literals. Their integers may be bigints.

/** Returns the literal of a value. */
export function literalOf(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (Object.is(value, -0)) return '-0'
  if (typeof value !== 'object' || value === null) return value === undefined ? 'undefined' : scalar(value)
  if (Array.isArray(value)) return `[${value.map(literalOf).join()}]`
  return `{${Object.entries(value).map(member).join()}}`
}

// `String`, not JSON: a number may be infinite in JavaScript.
function scalar(value: unknown): string {
  return typeof value === 'number' ? String(value) : JSON.stringify(value)
}

// Without the brackets, `__proto__` would set the prototype.
function member([name, value]: [name: string, value: unknown]): string {
  const key = JSON.stringify(name)
  return `${name === '__proto__' ? `[${key}]` : key}:${literalOf(value)}`
}
