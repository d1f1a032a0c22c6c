// The kinds of content, as contracts declare them (see index.ts).

import type { Content } from '../document/contract.js'
import type { Reader } from '../document/reader.js'
import { bytes } from './bytes/declared.js'
import { csv } from './csv/declared.js'
import { type Declared, type DeclaredKind, type Use, unsupported } from './declared-kind.js'
import { form, multipart } from './form/declared.js'
import { json } from './json/declared.js'
import { stream } from './stream/declared.js'
import { text } from './text/declared.js'

/** A Media Type Object is of the first kind in this table that reads it. */
const declaredKinds: Readonly<Record<Content['kind'], DeclaredKind>> = {
  stream,
  json,
  form,
  multipart,
  csv,
  text,
  bytes,
}

/** Returns how contracts declare the kind of a content. */
export function declaredKindOf({ kind }: Content): DeclaredKind {
  return declaredKinds[kind]
}

const inOrder = Object.values(declaredKinds)

/** Returns the content of a Media Type Object, or the reasons why the server cannot serve it. */
export function readContent(reader: Reader, declared: Declared, use: Use): readonly (Content | string)[] {
  for (const kind of inOrder) {
    const read = kind.read(reader, declared, use)
    if (read !== undefined) return [read].flat()
  }
  return [unsupported(declared)]
}
