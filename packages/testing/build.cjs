// Compiles the package into dist/; with --tests, also its tests.
'use strict'

const { compilePackage } = require('../../scripts/build-packages.cjs')

process.exitCode = compilePackage(__dirname)
