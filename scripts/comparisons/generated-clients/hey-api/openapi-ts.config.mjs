export default {
  input: './openapi.yaml',
  output: 'client',
  plugins: ['@hey-api/client-fetch', '@hey-api/transformers', { name: '@hey-api/sdk', transformer: true }],
}
