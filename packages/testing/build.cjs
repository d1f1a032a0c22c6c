// Compiles the package into dist/, with --tests its tests, too.
'use strict'

const { compilePackage } = require('../../scripts/build-packages.cjs')

process.exitCode = compilePackage(__dirname)
