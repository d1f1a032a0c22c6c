// The segments of routes, compared with the segments of a path that is still encoded, as the router compares
// them.

import { sourceOf } from '../../document/routes.js'

/** True if it matches a segment of a path. Only a parameter matches a segment that cannot be decoded. */
export type Segment = (text: string) => boolean

/** Returns the segments of a route or a prefix, which may have parameters. */
export function segmentsOf(route: string): readonly Segment[] {
  return route.split('/').map(segmentOf)
}

/** True if a segment of a route has a parameter. */
export function hasParameter(route: string): boolean {
  return /:/.test(route.replaceAll('::', ''))
}

// In a segment with parameters, the router also decodes reserved characters.
function segmentOf(route: string): Segment {
  const pattern = new RegExp(`^${sourceOf(route, '[^]+')}$`)
  const decode = hasParameter(route) ? decodeURIComponent : decodeURI
  return (text) => pattern.test(decodedBy(decode, text))
}

function decodedBy(decode: (text: string) => string, text: string): string {
  try {
    return decode(text)
  } catch {
    return text
  }
}
