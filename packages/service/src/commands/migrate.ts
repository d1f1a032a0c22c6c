#!/usr/bin/env node

import { runProcess } from './command.js'
import { migrate, usage } from './migrate/migrate.js'

runProcess(usage, migrate)
