// SEED=2 for others.

import { worstBodyTests } from '../../fixtures/worst-body-tests.js'

worstBodyTests(65_536, 1)
