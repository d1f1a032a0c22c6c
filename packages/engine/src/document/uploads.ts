// What a contract says of uploads: see read-uploads.ts.

import type { Body, Upload } from './contract.js'

/** Whether a body of the operation may stream. */
export function takesUploads({ body }: { readonly body: Body | undefined }): boolean {
  return body?.contents.some(({ upload }) => upload !== undefined) === true
}

/** The file of a form that has one. */
export function onlyFile({ files }: Upload): string | undefined {
  const [[name, { isList }] = ['', { isList: true }]] = files
  return files.size > 1 || isList ? undefined : name
}
