// The part of fast-json-stringify that its standalone form needs, which has no types.

declare module 'fast-json-stringify/lib/serializer.js' {
  const serializer: unknown
  export default serializer
}
