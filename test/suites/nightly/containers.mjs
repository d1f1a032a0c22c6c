import { suites } from '../../../dist/test/fixtures/suites.js'

await suites.run('nightly/containers')
