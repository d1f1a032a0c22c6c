// Runs in the browser: Swagger UI on the contract of the service that this page comes from, and on no other.

keepIntegersExact()
show()

// JSON.parse rounds integers beyond 2^53, and Swagger UI formats every answer by it. Where the browser can (Chrome 114,
// Firefox 135, Safari 18.4), such an integer is kept as the text it came as; elsewhere the page says that it rounds.
function keepIntegersExact() {
  const { parse } = JSON
  if (JSON.rawJSON === undefined) {
    document.getElementById('rounding').hidden = false
    return
  }
  const exact = (_key, value, { source } = {}) =>
    typeof value === 'number' && /^-?\d+$/.test(source) && !Number.isSafeInteger(value)
      ? JSON.rawJSON(source)
      : value
  // Most texts hold no such thing, and a reviver takes its time.
  JSON.parse = (text, reviver) =>
    reviver === undefined && /\d{16}/.test(text) ? parse(text, exact) : parse(text, reviver)
}

async function show() {
  followColourScheme()
  const answer = await fetch('openapi.json')
  const contract = await answer.json()
  // The page may speak to its own origin alone, whatever servers the contract names beside it.
  const server = { url: document.body.dataset.prefix, description: 'This service' }
  window.SwaggerUIBundle({
    spec: { ...contract, servers: [server] },
    dom_id: '#documentation',
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    defaultModelExpandDepth: 3,
    tryItOutEnabled: true,
    validatorUrl: null,
    presets: [window.SwaggerUIBundle.presets.apis],
    plugins: [{ wrapComponents: { headers: folded } }],
  })
}

// Every answer declares a dozen headers. Spelled out, they would bury the answers; their names are enough until asked.
function folded(Headers, { React }) {
  return (props) => {
    const names = props.headers?.keySeq().toArray() ?? []
    if (names.length === 0) return null
    const summary = React.createElement('summary', null, `Headers: ${names.join(', ')}`)
    return React.createElement(
      'details',
      { className: 'declared-headers' },
      summary,
      React.createElement(Headers, props),
    )
  }
}

function followColourScheme() {
  const query = window.matchMedia('(prefers-color-scheme: dark)')
  const follow = () => document.documentElement.classList.toggle('dark-mode', query.matches)
  query.addEventListener('change', follow)
  follow()
}
