// Replaces the code of Ajv's keywords, and keeps the rest of their definitions.

import type { Ajv, CodeKeywordDefinition, KeywordCxt } from 'ajv'

/** Writes the code of a keyword. @param own writes Ajv's own code */
export type WriteKeyword = (cxt: KeywordCxt, own: () => void) => void

/**
 * Replaces the code of a keyword of an Ajv.
 * @param changes to the rest of the definition, such as the keyword that it must precede
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
    keyword, // a definition of Ajv may list two keywords, such as minLength and maxLength
    ...changes,
    code: (cxt, type) => code(cxt, () => definition.code(cxt, type)),
  })
}
