#!/usr/bin/env node

import { runProcess } from 'contract-service/command'
import { seed, usage } from './command.js'

runProcess(usage, seed)
