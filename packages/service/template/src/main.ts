// Starts the service with what the team writes. `start` finds the contract and the migrations in the project.

import { start } from 'contract-service'
import { handlers } from '../generated/handlers.js'
import { errorBody } from './errors.js'
import { schemes } from './schemes.js'
import { createServices } from './services.js'

await start({ handlers, schemes, createServices, errorBody })
