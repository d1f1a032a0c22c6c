// Objects that are sent in several parameters.

import type { ParameterForm } from './contract.js'

/** Whether each property of an object is sent as a parameter, or a cookie: `?R=100&G=200`. */
export function isExplodedObject(form: ParameterForm | undefined): form is ParameterForm {
  return (form?.style === 'form' || form?.style === 'cookie') && form.explode && form.shape === 'object'
}
