export default {
  toys: {
    input: './streams.yaml',
    output: { target: 'orval.ts', client: 'fetch' },
  },
}
