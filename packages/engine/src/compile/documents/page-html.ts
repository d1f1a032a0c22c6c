// The HTML of `/docs`.

import type { Contract, Operation } from '../../document/contract.js'
import type { PageParts } from '../../serve/documents/page-parts.js'
import { escapeHtml, headingId, markdownToHtml } from './markdown.js'
import { plainTextOf } from './plain-text.js'

/** Returns the page, with the contract's `mark` in place of the base address. */
export function pageHtml(contract: Contract, parts: PageParts): string {
  // URLs are relative: a proxy in front of the service may add a path prefix. Scalar comes last, since it
  // takes seconds on a slow network; the script that starts it fetches the contract meanwhile.
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(contract.title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/page.css">
<script src="docs/page.js" defer></script>
<script src="docs/scalar.js" defer></script>
</head>
<body>
<a id="skip" href="#Operations">Skip to the first request</a>
<p id="rounding" role="status" hidden>
This browser rounds integers beyond 2<sup>53</sup> when it shows a response.
</p>
<p id="loading" role="status" hidden>Loading the interactive reference, which sends requests.</p>
<main id="plain">
<nav aria-label="Operations"><ul>
${[...contract.operations.values()].map(linkTo).join('\n')}
</ul></nav>
${markdownToHtml(plainTextOf(contract, parts))}
</main>
<div id="documentation" hidden></div>
</body>
</html>
`
}

function linkTo({ method, path, summary, deprecation }: Operation): string {
  const title = `${method} ${path}`
  const text = [title, summary, deprecation && '(deprecated)'].filter((each) => each !== undefined).join(' ')
  return `<li><a href="#${headingId(title)}">${escapeHtml(text)}</a></li>`
}
