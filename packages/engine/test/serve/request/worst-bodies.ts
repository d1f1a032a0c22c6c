// SEED=2 for others.

import { createJudges } from '../../../src/compile/code/compilers.js'
import { parseJson } from '../../../src/values/json.js'
import { describeViolations } from '../../../src/values/messages.js'
import { worstBodyTests } from '../../fixtures/worst-body-tests.js'

worstBodyTests(65_536, 1, { createJudges, parseJson, describeViolations })
