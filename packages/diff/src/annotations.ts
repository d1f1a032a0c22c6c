// Formats changes as GitHub workflow commands, which GitHub shows as annotations at the lines of a pull
// request.

import type { Change, Path } from './comparison.js'
import { summaryOf } from './report.js'
import type { VersionCheck } from './version.js'

/** The contract in the working tree. */
export interface Source {
  /** The file, relative to the root of the repository. */
  readonly file: string
  /**
   * Returns the location of a part, as `openapi.yaml:12:7`; without the line and column if it cannot be
   * found.
   */
  readonly locate: (at: Path) => string
}

/**
 * Returns an annotation for each change. A breaking change is an error, or a warning if there is a new major
 * version; any other change is a notice. If the version was not raised far enough, an error is added.
 */
export function toGithub(
  { file, locate }: Source,
  changes: readonly Change[],
  version: VersionCheck,
): string {
  const command = (level: string, at: Path, title: string, message: string) => {
    const [, line = '1', col = '1'] = /:(\d+):(\d+)$/.exec(locate(at)) ?? []
    const properties = Object.entries({ file, line, col, title }).map(
      ([key, value]) => `${key}=${escapeProperty(value)}`,
    )
    return `::${level} ${properties.join(',')}::${escapeMessage(message)}\n`
  }
  const levels = { major: version.isEnough ? 'warning' : 'error', minor: 'notice', patch: 'notice' }
  const titles = { major: 'Breaking change', minor: 'Addition', patch: 'Documentation' }
  const lines = changes.map(({ bump, place, where, what, at }) =>
    command(levels[bump], at, titles[bump], `${[place, where].filter(Boolean).join('  ')}: ${what}`),
  )
  if (version.isEnough) return lines.join('')
  return [...lines, command('error', ['info', 'version'], 'Version', summaryOf(changes, version))].join('')
}

// The format of GitHub's workflow commands
// (https://docs.github.com/actions/reference/workflow-commands-for-github-actions), escaped as in GitHub's
// actions/toolkit.
function escapeMessage(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(value: string): string {
  return escapeMessage(value).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
