#!/usr/bin/env node

import { runProcess } from './command.js'
import { keys, usage } from './keys/keys.js'

runProcess(usage, keys)
