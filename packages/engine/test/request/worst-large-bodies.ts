// SEED=2 for others.

import { createValidatorCompiler } from '../../src/request/request-validation.js'
import { parseJson } from '../../src/schemas/json.js'
import { describeViolations } from '../../src/schemas/messages.js'
import { worstBodyTests } from '../fixtures/worst-body-tests.js'

worstBodyTests(1_048_576, 2, { createValidatorCompiler, parseJson, describeViolations })
