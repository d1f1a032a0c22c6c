#!/usr/bin/env node
// Committed, so that npm links the command before the package is built.
import './dist/src/main.js'
