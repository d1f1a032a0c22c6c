export default {
  animals: {
    input: './openapi.yaml',
    output: {
      target: 'client.ts',
      client: 'axios-functions',
      headers: true,
      override: { useBigInt: true, mutator: { path: 'send.ts', name: 'send' } },
    },
  },
}
