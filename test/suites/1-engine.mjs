import { runSuites } from '../../dist/test/fixtures/suites.js'

await runSuites('engine')
