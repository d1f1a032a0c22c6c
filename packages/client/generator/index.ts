// The door of the generator, which writes the module client.ts of a contract, beside its types.ts.

export {
  type ClientPackage,
  clientName,
  clientTable,
  credentialsExample,
  generateClient,
} from './client.js'
