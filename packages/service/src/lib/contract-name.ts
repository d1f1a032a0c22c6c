/** The file name of the contract in the root of a project. */
export const contractName = 'openapi.yaml'
