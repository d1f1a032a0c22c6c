// SEED=2 for others.

import { worstBodyTests } from '../../fixtures/worst-body-tests.js'

worstBodyTests(1_048_576, 2)
