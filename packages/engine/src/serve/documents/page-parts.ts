// What other parts of a server add to the page of its contract.

import type { AddressOptions } from '../paths/address.js'
import type { Addition } from '../response/additions.js'

/** A table on the page, with a sentence below it. Its cells are Markdown. */
export interface PageSection {
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
  readonly text: string
}

/** What other parts of the server add to the page. */
export interface PageParts {
  /** Called only when the page is asked for, because formatting its numbers loads the data of languages. */
  readonly sections?: () => readonly PageSection[]
  readonly additions?: readonly Addition[]
  /** The URL at which callers reach the operations. By default, each request says it. */
  readonly address?: AddressOptions
}
