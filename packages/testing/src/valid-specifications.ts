// Switches off glue's validator in tests, because they mount a contract hundreds of times, and compiling the
// schema of OpenAPI takes more CPU than the rest of a mount. A server that is not bundled lets glue validate.

import { Validator } from '@seriousme/openapi-schema-validator'
import { mark } from 'contract-engine/valid-specification'

const { validate } = Validator.prototype
Validator.prototype.validate = async function (specification) {
  if (typeof specification === 'string' || !specification[mark]) return validate.call(this, specification)
  Object.assign(this, { specification, version: '3.1' }) // the fields that glue reads
  return { valid: true }
}
