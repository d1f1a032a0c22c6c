/** What the contract of a project is called, in its root. */
export const contractName = 'openapi.yaml'
