// The segments of routes, as the router compares them with those of a path that is still encoded.

import { sourceOf } from '../../document/routes.js'

/** Whether a segment of a path is matched. One that cannot be decoded is matched by a parameter alone. */
export type Segment = (text: string) => boolean

/** The segments of a route or a prefix, which may have parameters. */
export function segmentsOf(route: string): readonly Segment[] {
  return route.split('/').map(segmentOf)
}

/** Whether a segment of a route has a parameter. */
export function hasParameter(route: string): boolean {
  return /:/.test(route.replaceAll('::', ''))
}

// Of a segment with parameters, the router decodes reserved characters, too.
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
