#!/usr/bin/env node
// Committed, so that npm links the command before the package is built.

const needed = 'contract-engine openapi-typescript typescript@5'

import('./dist/generator/command.js').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
  console.error(
    `${error.message.split('\n', 1)[0]}\nTo generate a client, run: npm install --save-dev ${needed}`,
  )
  process.exitCode = 1
})
