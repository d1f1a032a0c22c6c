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
    for (const each of document.querySelectorAll('aside[role], button[role=search], button[role=none]'))
      each.removeAttribute('role')
    for (const each of document.querySelectorAll('button[class*="copy-button"]:not([aria-label])'))
      each.ariaLabel = 'Copy'
    for (const each of document.querySelectorAll('button[class*="copy-button"][aria-controls]'))
      if (document.getElementById(each.getAttribute('aria-controls')) === null)
        each.removeAttribute('aria-controls')
    mendDialog()
  }
  const attributeFilter = ['aria-selected', 'role', 'style']
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true, attributeFilter })
}

// What it says of the page it says of the dialog again, and its fields have no names.
function mendDialog() {
  const page = document.querySelector('main.references-rendered')
  const isOpen = document.querySelector('[role=dialog] main')?.checkVisibility() === true
  if (page !== null) page.ariaHidden = isOpen ? 'true' : null
  for (const each of document.querySelectorAll('[role=dialog] section:not([role])')) each.role = 'group'
  const fields = '[role=dialog] .cm-content[role=textbox]:not([aria-label])'
  for (const each of document.querySelectorAll(fields)) {
    const name = each.closest('[aria-label]:not([role])')?.ariaLabel.replace('undefined ', '')
    each.ariaLabel = name === 'Value' ? `Value of ${keyOf(each)}` : (name ?? 'Body')
  }
  for (const each of document.querySelectorAll('[role=dialog] td input[type=checkbox]:not([aria-label])'))
    each.ariaLabel = `Send ${keyOf(each)}`
}

function keyOf(field) {
  return field.closest('tr').innerText.split('\n', 1)[0]
}
