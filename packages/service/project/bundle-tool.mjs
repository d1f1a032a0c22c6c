// Bundles a tool with all its imports into one script, because V8 can keep a script's compiled code. Node 20
// cannot keep that of modules.

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { build } from 'esbuild'
import { digestOf, digestOfFile, packageList, root } from './digests.mjs'

const require = createRequire(import.meta.url)

/**
 * Returns a tool's bundle, and the digests of its inputs.
 * @param name of a folder of dist/tools/ with a main.js, or the path of a module there without its extension
 */
export async function bundleTool(name) {
  const packages = digestOfFile(packageList)
  const sources = new Map()
  const { outputFiles, metafile } = await build({
    ...options,
    ...entryOf(name),
    plugins: [ownModules(sources)],
    alias: { '@seriousme/openapi-schema-validator': 'contract-engine/valid-specification' },
  })
  for (const file of [...Object.keys(metafile.inputs).filter((each) => !isOfPackage(each)), ...others])
    if (!sources.has(file)) sources.set(file, digestOfFile(file))
  return { contents: Buffer.from(outputFiles[0].contents), packages, inputs: Object.fromEntries(sources) }
}

const options = {
  ...{ absWorkingDir: root, bundle: true, write: false, metafile: true, logLevel: 'error' },
  ...{
    platform: 'node',
    format: 'cjs',
    target: 'node20.19',
    minifyWhitespace: true,
    lineLimit: 500,
    legalComments: 'none',
  },
  external: ['esbuild'], // it finds its program beside itself
  define: { toolRunner: JSON.stringify(path.join(import.meta.dirname, 'run.mjs')) },
}

function entryOf(name) {
  const folder = path.join(import.meta.dirname, '../dist/tools')
  const main = path.join(folder, name, 'main.js')
  return { entryPoints: [existsSync(main) ? main : path.join(folder, `${name}.js`)] }
}

const ownPackages = ['contract-engine', 'contract-service', 'contract-client', 'contract-diff']

// Files that esbuild reads but does not list, and files that decide how it bundles.
const others = [
  ...['package.json', 'tsconfig.json'],
  ...['run', 'digests', 'bundle-tool'].map((name) =>
    path.relative(root, path.join(import.meta.dirname, `${name}.mjs`)),
  ),
  ...ownPackages.map((name) => path.relative(root, require.resolve(`${name}/package.json`))),
]

// Files of packages are covered by npm's list. Where a project has adopted a contract, our own packages are,
// too.
function isOfPackage(file) {
  return file.includes('node_modules/')
}

// In our own modules, `import.meta` stays that of the original file, and `require` is bundled like an import.
function ownModules(sources) {
  const folders = ownPackages.map((name) => path.dirname(require.resolve(`${name}/package.json`)))
  const isOwn = (file) => !isOfPackage(file) || folders.some((folder) => file.startsWith(folder))
  return {
    name: 'own-modules',
    setup({ onLoad }) {
      onLoad({ filter: /\.m?[jt]s$/ }, ({ path: file }) => {
        if (!isOwn(file)) return undefined
        const text = readFileSync(file, 'utf8')
        const name = path.relative(root, file)
        if (!isOfPackage(name)) sources.set(name, digestOf(text))
        const contents = text
          .replace(/^const require = createRequire\(import\.meta\.url\b.*$/m, '')
          .replace(/\bimport\.meta\b/g, `importMetaOf(${JSON.stringify(name)})`)
        return { contents, loader: file.endsWith('ts') ? 'ts' : 'js' }
      })
    },
  }
}
