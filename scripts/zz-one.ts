import { documentedBounds, Environment, manyClients } from './faults/environment.js'
import * as r from './faults/scenarios/replication.js'
import * as d from './faults/scenarios/database.js'
import * as n from './faults/scenarios/network.js'
const all: Record<string, any> = { ...r, ...d, ...n }
const e = await Environment.open(documentedBounds, manyClients)
try { for (const a of process.argv.slice(2)) { const [f, x] = a.split(':'); console.log(await all[f!](e, Number(x) || x)) } } finally { await e.close() }
process.exit(0)
