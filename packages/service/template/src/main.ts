// The service: what this team writes, run by contract-service. It finds the contract and the migrations in
// the project.

import { start } from 'contract-service'
import { handlers } from '../generated/handlers.js'
import { errorBody } from './errors.js'
import { schemes } from './schemes.js'
import { createServices } from './services.js'

await start({ handlers, schemes, createServices, errorBody })
