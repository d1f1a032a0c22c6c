import t from 'tap'
import { ApiError } from '../src/error.js'
import { isDeclaredError } from '../src/error-response.js'

const errors = {
  404: {},
  409: { 'text/plain': [] },
  '4xx': { 'application/json': ['code', 'message'], 'image/*': [] },
  default: { 'application/problem+json': ['title'] },
}

const rows: readonly (readonly [
  status: number,
  type: string | undefined,
  body: unknown,
  isDeclared: boolean,
])[] = [
  [400, 'application/json', { code: 'a', message: 'b', more: 1 }, true],
  [400, 'Application/JSON; charset=utf-8', { code: 'a', message: 'b' }, true],
  [400, 'application/json', { code: 'a' }, false],
  [400, 'application/json', 'code message', false],
  [400, 'application/json', null, false],
  [400, 'application/problem+json', { code: 'a', message: 'b' }, false],
  [400, undefined, { code: 'a', message: 'b' }, false],
  [400, 'image/png', new Uint8Array(), true],
  [404, undefined, undefined, true],
  [404, 'application/json', { code: 'a', message: 'b' }, false],
  [409, 'text/plain', 'No.', true],
  [409, 'application/json', {}, false],
  [500, 'application/problem+json', { title: 'No.' }, true],
  [500, 'application/json', { code: 'a', message: 'b' }, false],
  [302, 'application/problem+json', { title: 'No.' }, false],
]

for (const [status, type, body, isDeclared] of rows) {
  t.test(
    `${status} with ${type} and ${JSON.stringify(body)} is ${isDeclared ? '' : 'no '}declared error`,
    async (t) => {
      const response = new Response(null, {
        status,
        headers: type === undefined ? {} : { 'Content-Type': type },
      })
      const error = new ApiError('any', 'Any.', { operation: 'any', response, body })
      t.equal(isDeclaredError({ errors }, error), isDeclared)
      t.equal(isDeclaredError({}, error), false, 'of an operation without errors')
    },
  )
}
