// What other parts of a server say on the page of its contract.

import type { AddressOptions } from '../paths/address.js'
import type { Addition } from '../response/additions.js'

/** A table of the page, with a sentence below it. Cells are Markdown. */
export interface PageSection {
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
  readonly text: string
}

/** What other parts of the server have to say on the page. */
export interface PageParts {
  /** Asked for when the page is: writing its numbers loads the data of languages. */
  readonly sections?: () => readonly PageSection[]
  readonly additions?: readonly Addition[]
  /** Where callers reach the operations. By default each request says it. */
  readonly address?: AddressOptions
}
