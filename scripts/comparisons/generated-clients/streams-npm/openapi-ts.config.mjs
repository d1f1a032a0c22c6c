export default {
  input: './streams.yaml',
  output: 'hey-api',
  plugins: ['@hey-api/client-fetch', '@hey-api/sdk'],
}
