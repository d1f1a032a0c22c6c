// Fastify's symbols have no types. `lib/header-store.ts` needs one.
declare module 'fastify/lib/symbols.js' {
  const symbols: { readonly kReplyHeaders: unique symbol }
  export default symbols
}
