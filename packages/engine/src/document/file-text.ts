// Reads the files of a contract. Their contents end in generated/, and in the document that is served without
// a key. So a `$ref` reaches only regular files in the contract's folder. It reaches no other file of the
// machine, neither by a path nor by a link, and no file that may never end.

import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import path from 'node:path'
import { filesRead } from '../lib/files-read.js'

/** Reads the text of a file. */
export type ReadText = (file: string) => Promise<string>

/** The error of a file that was found, but is not read; the message says why. */
export class UnreadFile extends Error {}

/**
 * Returns a function that reads a contract and the files that it refers to.
 * @param folder must contain these files; by default the contract's folder. The contract itself may be a
 * link.
 */
export function filesOf(contract: string, folder: string = path.dirname(contract)): ReadText {
  return async (file) => {
    if (path.resolve(file) !== path.resolve(contract)) await checkIsWithin(folder, file)
    return textOnDisk(file)
  }
}

// Compares real paths, because any folder in a path may be a link.
async function checkIsWithin(folder: string, file: string): Promise<void> {
  const [first] = path.relative(await realpath(folder), await realpath(file)).split(path.sep)
  if (first !== '..') return
  throw new UnreadFile(
    "is outside of the contract's folder, so it is not read: keep a copy there, or name a folder that has both " +
      'to a command with the option --root',
  )
}

// Without O_NONBLOCK, to open a FIFO would wait for a writer.
async function textOnDisk(file: string): Promise<string> {
  filesRead.publish(path.resolve(file))
  const opened = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if ((await opened.stat()).isFile()) return decoded(await opened.readFile())
  } finally {
    await opened.close()
  }
  throw new UnreadFile('is no regular file, so it is not read')
}

// Decoding writes U+FFFD for bytes that are not UTF-8, but a file may also contain U+FFFD itself. This puts a
// lone surrogate in its place, which UTF-8 cannot contain: the parser refuses it, and knows the line.
function decoded(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  if (isUtf8(bytes)) return text
  let at = text.indexOf('\ufffd')
  while (isAt(bytes, text.slice(0, at + 1))) at = text.indexOf('\ufffd', at + 1)
  return `${text.slice(0, at)}\ud800${text.slice(at + 1)}`
}

function isAt(bytes: Buffer, start: string): boolean {
  const expected = Buffer.from(start)
  return expected.equals(bytes.subarray(0, expected.length))
}
