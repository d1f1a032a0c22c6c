// A loader hook: each function of the built service first calls `globalThis.entered` with its module and name.

import ts from 'typescript'

const built = /(?:\/packages\/(engine))?\/dist\/src\/(.+)\.js$/

/** The `load` hook of node:module. */
export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context)
  const [, folder, file] = built.exec(url) ?? []
  const name = folder === undefined ? file : `${folder}/${file}`
  return name === undefined ? loaded : { ...loaded, source: instrument(name, String(loaded.source)) }
}

// Edits the text, from its end on, because a syntax tree would have to be rebuilt function by function.
function instrument(moduleName, text) {
  const source = ts.createSourceFile('module.js', text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS)
  const edits = []
  const visit = (node) => {
    const { body } = node
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

// A call of `super` must come first.
function startOf({ statements }) {
  const first = statements.find((each) => each.getText().startsWith('super('))
  return first === undefined ? statements.pos : first.end
}

function nameOf(node) {
  const { parent } = node
  const { name = parent.name ?? parent.left } = node
  return name?.getText() ?? node.kind
}
