// The main entry of the package, for a team's own code. `checks`, `table` and `feed` are entries of their
// own, so that a process loads only the parts that it uses. `internal/` is for the tests and tools of this
// repository.

export { type AppParts, buildApp, type Served, type Services } from './app.js'
export type { CheckFactory, CheckParts, SchemesOf } from './auth/checks.js'
export type { Client } from './auth/client.js'
export { loadServiceContract, readServiceContract, type ServiceContract } from './auth/plans.js'
export type { Config } from './config.js'
export { onConstraint } from './database/constraints.js'
export type { Pools, Sql } from './database/database.js'
export type { ContextOf, HandlersOf } from './http/handlers.js'
export type { RequestContext } from './http/request-context.js'
export type { ServiceParts, Team } from './process/serve.js'
export { start } from './process/start.js'
