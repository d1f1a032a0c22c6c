#!/usr/bin/env node

import { runProcess } from '../command.js'
import { seed, usage } from './command.js'

runProcess(usage, seed)
