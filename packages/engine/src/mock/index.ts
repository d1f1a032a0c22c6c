// The engine's door for mocks: a server of a contract in which operations without a handler respond with
// what the contract declares, so that a front-end need not wait for handlers. For development and tests; a
// server that does not import it loads none of it.

export { type MockOptions, mockParts } from './mock-parts.js'
export { buildMock, type MockServer } from './server.js'
