// Keywords of Ajv whose code is another one here; all else that Ajv says of them stays.

import type { Ajv, CodeKeywordDefinition, KeywordCxt } from 'ajv'

/** Writes the code of a keyword. @param own writes Ajv's own */
export type WriteKeyword = (cxt: KeywordCxt, own: () => void) => void

/**
 * Replaces the code of a keyword of an Ajv.
 * @param changes to what else Ajv says of it, such as the keyword that it stays before
 */
export function replaceKeyword(
  ajv: Ajv,
  keyword: string,
  code: WriteKeyword,
  changes: Partial<CodeKeywordDefinition> = {},
): void {
  const definition = ajv.getKeyword(keyword) as CodeKeywordDefinition // Ajv has it
  ajv.removeKeyword(keyword)
  ajv.addKeyword({
    ...definition,
    keyword, // one definition is of both lengths
    ...changes,
    code: (cxt, type) => code(cxt, () => definition.code(cxt, type)),
  })
}
