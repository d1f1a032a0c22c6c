// A loader hook that makes each function of the built service first call `globalThis.entered` with its module
// and name.

import type { LoadFnOutput, LoadHook } from 'node:module'
import ts from 'typescript'

const built = /(?:\/packages\/(engine))?\/dist\/src\/(.+)\.js$/

/** The `load` hook for `register`, which runs it in a separate thread. */
export const load: LoadHook = async (url, context, nextLoad) =>
  instrumented(url, await nextLoad(url, context))

/** The `load` hook for `registerHooks`, which Node has since 22.15. */
export function loadSync(
  url: string,
  context: object,
  nextLoad: (url: string, context: object) => LoadFnOutput,
): LoadFnOutput {
  return instrumented(url, nextLoad(url, context))
}

function instrumented(url: string, loaded: LoadFnOutput): LoadFnOutput {
  const [, folder, file] = built.exec(url) ?? []
  const name = folder === undefined ? file : `${folder}/${file}`
  if (name === undefined) return loaded
  return { ...loaded, source: instrument(name, Buffer.from(loaded.source as Uint8Array).toString()) }
}

// Edits the text from its end to its start. A syntax tree would have to be rebuilt function by function.
function instrument(moduleName: string, text: string): string {
  const source = ts.createSourceFile('module.js', text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS)
  const edits: [at: number, insertion: string][] = []
  const visit = (node: ts.Node) => {
    const { body } = node as Partial<ts.FunctionLikeDeclaration>
    if (ts.isFunctionLike(node) && body !== undefined) {
      const call = `entered(${JSON.stringify(moduleName)}, ${JSON.stringify(nameOf(node))})`
      if (ts.isBlock(body)) edits.push([startOf(body), `${call};`])
      else edits.push([body.getStart(), `(${call}, `], [body.end, ')'])
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return edits
    .sort(([one], [other]) => other - one)
    .reduce((edited, [at, insertion]) => edited.slice(0, at) + insertion + edited.slice(at), text)
}

// Inserts after the call of `super`, which must come first.
function startOf({ statements }: ts.Block): number {
  const first = statements.find((each) => each.getText().startsWith('super('))
  return first === undefined ? statements.pos : first.end
}

function nameOf(node: ts.SignatureDeclaration): string {
  const { name: given, left } = node.parent as { readonly name?: ts.Node; readonly left?: ts.Node }
  const name = node.name ?? given ?? left
  return name?.getText() ?? String(node.kind)
}
