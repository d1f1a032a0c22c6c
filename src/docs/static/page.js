// Runs in the browser: Scalar on the contract of the service that this page comes from, and on no other.

keepIntegersExact()
show()

// JSON.parse rounds integers beyond 2^53, and Scalar formats every answer by it. Where the browser can (Chrome 114,
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
  mendRoles()
  const answer = await fetch('docs/contract.json')
  window.Scalar.createApiReference('#documentation', {
    content: await answer.json(),
    // Nothing is asked of anybody but the service, and no key outlives the page.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    persistAuth: false,
    showDeveloperTools: 'never',
    hideClientButton: true,
    documentDownloadType: 'none', // the description has both files
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
    defaultOpenAllTags: true,
    hideModels: true, // each operation has its own
  })
}

// What Scalar tells assistive technology that its elements are not, or not by name.
function mendRoles() {
  const mend = () => {
    for (const each of document.querySelectorAll('button[aria-selected]:not([role])')) {
      if (each.ariaSelected === 'true') each.ariaCurrent = 'true'
      else each.ariaCurrent = null
      each.removeAttribute('aria-selected')
    }
    for (const each of document.querySelectorAll('aside[role], button[role=search]'))
      each.removeAttribute('role')
    for (const each of document.querySelectorAll('button[class*="copy-button"]:not([aria-label])'))
      each.ariaLabel = 'Copy'
  }
  const attributeFilter = ['aria-selected', 'role']
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true, attributeFilter })
}
