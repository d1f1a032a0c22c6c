// Runs in the browser: replaces the plain page by Scalar, which renders the service's own contract.

// Scalar parses parameters, bodies and responses with JSON.parse, which rounds integers beyond 2^53. Here,
// JSON.parse returns such an integer as a bigint, which Scalar shows with all its digits, and JSON.stringify
// writes it exactly. In browsers without JSON.rawJSON (before Chrome 114, Firefox 135, Safari 18.4), the page
// shows a warning.
function keepIntegersExact() {
  const { parse } = JSON
  if (JSON.rawJSON === undefined) {
    document.getElementById('rounding').hidden = false
    return
  }
  BigInt.prototype.toJSON = function () {
    return JSON.rawJSON(String(this))
  }
  const exact = (_key, value, { source } = {}) =>
    typeof value === 'number' && /^-?\d+$/.test(source) && !Number.isSafeInteger(value)
      ? BigInt(source)
      : value
  // A reviver is slow, and most texts have no long integers.
  JSON.parse = (text, reviver) =>
    reviver === undefined && /\d{16}/.test(text) ? parse(text, exact) : parse(text, reviver)
}

// Hides samples that would send another request: most drop the query. In others, an integer beyond 2^53 in a
// body is rounded (JavaScript), null (PHP), a string (Objective-C, Swift) or out of range (Rust). The sample
// of `requests` lacks its import.
const hiddenClients = {
  ...Object.fromEntries(
    [
      'c',
      'clojure',
      'go',
      'java',
      'js',
      'kotlin',
      'node',
      'objc',
      'ocaml',
      'php',
      'powershell',
      'r',
      'ruby',
      'rust',
      'swift',
    ].map((target) => [target, true]),
  ),
  csharp: ['restsharp'],
  python: ['python3', 'requests'],
  shell: ['wget', 'httpie'],
}

// Browsers ignore `Cookie` in a request and send the page's own cookies. So a key in a cookie, which Scalar
// 1.46 passes to a Request, becomes a cookie of the page for as long as a request takes to leave.
function sendCookies() {
  const attributes = `path=/; max-age=5; samesite=strict${location.protocol === 'https:' ? '; secure' : ''}`
  window.Request = class extends Request {
    constructor(input, init) {
      super(input, init)
      const cookies = new Headers(init?.headers).get('Cookie')?.split('; ') ?? []
      // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is later than the request
      for (const cookie of cookies) document.cookie = `${cookie}; ${attributes}`
    }
  }
}

// Scalar's script comes after this one. If it fails to load, the plain page stays.
async function load() {
  const loading = document.getElementById('loading')
  loading.hidden = false
  const contract = fetch('docs/contract.json').then((response) => response.text())
  await new Promise((resolve) => addEventListener('DOMContentLoaded', resolve, { once: true }))
  try {
    if (window.Scalar !== undefined) show(JSON.parse(await contract))
  } finally {
    loading.hidden = true
  }
}

function show(content) {
  fixAccessibility()
  const skip = document.getElementById('skip')
  skip.href = '#documentation'
  skip.onclick = (event) => {
    const button = document.querySelector('.show-api-client-button')
    if (button === null) return
    event.preventDefault() // Scalar takes a fragment for a place of its own
    button.focus()
  }
  // Scalar resolves a relative server against the origin, which loses the prefix of a gateway.
  const operations = Object.values(content.paths ?? {}).flatMap(Object.values)
  for (const server of [content, ...operations].flatMap((each) => each?.servers ?? []))
    server.url = new URL(server.url, location.href).href.replace(/\/$/, '')
  for (const operation of operations)
    for (const sample of operation?.['x-codeSamples'] ?? [])
      sample.source = sample.source.replaceAll(
        'https://this-service.invalid',
        (operation.servers ?? content.servers)[0].url,
      )
  keepPlace()
  document.getElementById('plain').remove()
  document.getElementById('documentation').hidden = false
  window.Scalar.createApiReference('#documentation', {
    content,
    // Send nothing to other origins except those of tokens, and forget credentials when the page closes.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    persistAuth: false,
    showDeveloperTools: 'never',
    hideClientButton: true,
    hiddenClients,
    documentDownloadType: 'none', // the description links the files
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
    defaultOpenAllTags: true,
    hideModels: true, // each operation shows its schemas
  })
}

// If the reader has already scrolled to an operation of the plain page, shows that operation. Scalar's ids
// end in `/GET/pets`.
function keepPlace() {
  const isAbove = (heading) => heading.getBoundingClientRect().top < window.innerHeight / 2
  const read = [...document.querySelectorAll('#plain h3')].filter(isAbove).at(-1)?.textContent
  if (window.scrollY === 0 || !/^[A-Z]+ \//.test(read)) return
  const scroll = () => {
    const operation = document.querySelector(`[id$="${CSS.escape(`/${read.replace(' ', '')}`)}"]`)
    operation?.scrollIntoView()
    if (operation !== null) observer.disconnect()
  }
  const observer = new MutationObserver(scroll)
  observer.observe(document.getElementById('documentation'), { childList: true, subtree: true })
}

// Scalar's markup has wrong ARIA roles and unnamed controls. Corrects them as elements appear.
function fixAccessibility() {
  const fix = () => {
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
    for (const each of document.querySelectorAll(':not(ul, ol, menu, [role]) > li'))
      each.parentElement.role = 'list'
    for (const each of document.querySelectorAll('input[role=combobox]:not([aria-expanded])'))
      each.ariaExpanded = 'true'
    fixDialog()
  }
  const attributeFilter = ['aria-selected', 'role', 'style']
  new MutationObserver(fix).observe(document.body, { childList: true, subtree: true, attributeFilter })
}

// The dialog repeats the page's landmarks, and its fields have no accessible names.
function fixDialog() {
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
  // These buttons are shown while the pointer is over their row.
  for (const each of document.querySelectorAll('[role=dialog] button.group-hover\\:flex:not([aria-label])'))
    if (each.textContent.trim() === '') each.ariaLabel = 'Remove'
}

function keyOf(field) {
  return field.closest('tr').innerText.split('\n', 1)[0]
}

keepIntegersExact()
sendCookies()
load()
