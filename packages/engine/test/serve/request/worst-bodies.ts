// SEED=2 for others.

import { createJudge } from '../../../src/compile/code/compilers.js'
import { parseJson } from '../../../src/runtime/json.js'
import { describeViolations } from '../../../src/runtime/messages.js'
import { worstBodyTests } from '../../fixtures/worst-body-tests.js'

worstBodyTests(65_536, 1, { createJudge, parseJson, describeViolations })
