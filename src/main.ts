// The service: what the team writes, run by the process. The contract and the migrations it finds in the
// project.

import { start } from 'contract-service'
import { handlers } from '../generated/handlers.js'
import { errorBody } from './errors.js'
import { schemes } from './schemes.js'
import { createServices } from './services.js'

await start({ handlers, schemes, createServices, errorBody })
