// The functions and values that Ajv's generated code calls. Printed code is given nothing else.

import { toRegExp } from '../document/patterns.js'
import { problemWithBytes } from './bytes.js'
import { duplicateIn, isAmong } from './canonical.js'
import { changesNoted, isUnexcused, noteExcuse, undoChanges, undoChangesUntil } from './changes.js'
import { choiceOf } from './choices.js'
import { createNote } from './defaulted.js'
import { createNoteEvaluated, createOtherItems, createOtherProperties, noteMatching } from './evaluated.js'
import { createAllows, createMessage } from './exact-numbers.js'
import { formats } from './formats.js'
import { removePrototype } from './inherited-names.js'
import { hasFastStringify, json, numberOf, others } from './json.js'
import { count, extendSteps, takeNames } from './steps.js'
import { quoted } from './text.js'

export const runtime = {
  changesNoted,
  choiceOf,
  count,
  createAllows,
  createMessage,
  createNote,
  createNoteEvaluated,
  createOtherItems,
  createOtherProperties,
  duplicateIn,
  extendSteps,
  formats: Object.fromEntries(Object.entries(formats).map(([name, { validate }]) => [name, validate])),
  hasFastStringify,
  isAmong,
  isUnexcused,
  json,
  noteExcuse,
  noteMatching,
  numberOf,
  others,
  problemWithBytes,
  quoted,
  removePrototype,
  takeNames,
  toRegExp,
  undoChanges,
  undoChangesUntil,
}

export type Runtime = typeof runtime

const names = new Map<unknown, string>(Object.entries(runtime).map(([name, each]) => [each, name]))

/** Returns the name of one of these. @throws {Error} if it is none of them */
export function nameInRuntime(ref: object): string {
  const name = names.get(ref)
  if (name === undefined) throw new Error(`${String(ref)} is not in the runtime`)
  return name
}
