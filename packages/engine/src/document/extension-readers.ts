// The form of functions that read extensions which the engine does not know.

import type { Contract, Operation } from './contract.js'
import type { Reader } from './reader.js'

/**
 * Reads an extension of the document that the engine does not know. It adds problems to the reader, which
 * knows the place.
 */
export type ExtensionReader<Value = unknown> = (value: unknown, reader: Reader) => Value

/** By the names of the extensions. */
export type ExtensionReaders = Readonly<Record<string, ExtensionReader>>

/** What readers return for the extensions that a document has. */
export type ReadBy<Readers extends ExtensionReaders> = {
  readonly [Name in keyof Readers]?: ReturnType<Readers[Name]>
}

/**
 * Reads an extension of an operation that the engine does not know. It adds problems to the reader, which
 * knows the place.
 * @param operation as the engine itself has read it
 * @param extensions those of the document, as their readers returned them
 */
export type OperationExtensionReader = (
  value: unknown,
  reader: Reader,
  operation: Operation,
  extensions: Contract['extensions'],
) => unknown

/** By the names of the extensions. */
export type OperationExtensionReaders = Readonly<Record<string, OperationExtensionReader>>
