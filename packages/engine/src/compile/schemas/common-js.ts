// The modules of Ajv are in CommonJS, and mark that they were compiled from ES modules.

/** The default export of such a module: Node imports all of its exports as the default, Bun that one. */
export function defaultOf<Export>(module: { readonly default: Export }): Export {
  return 'default' in module ? module.default : (module as Export) // as Bun imports it
}
