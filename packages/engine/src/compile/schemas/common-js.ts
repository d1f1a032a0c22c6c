// Ajv's modules are CommonJS compiled from ES modules, and marked as such (`__esModule`).

/**
 * Returns the default export of such a module. Node's default import is all of `exports`, Bun's is
 * `exports.default`.
 */
export function defaultOf<Export>(module: { readonly default: Export }): Export {
  return 'default' in module ? module.default : (module as Export) // Bun
}
