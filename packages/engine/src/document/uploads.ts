// What a contract says of uploads: see read-uploads.ts.

import type { Body, Upload } from './contract.js'

/** True if a body of the operation may stream. */
export function takesUploads({ body }: { readonly body: Body | undefined }): boolean {
  return body?.contents.some(({ upload }) => upload !== undefined) === true
}

/** Returns the name of a form's file, if the form has exactly one. */
export function onlyFile({ files }: Upload): string | undefined {
  const [[name, { isList }] = ['', { isList: true }]] = files
  return files.size > 1 || isList ? undefined : name
}
