// Helpers that repeat requests: as one begins with each, and with the setting that fits this service, whose
// text is that of the page. Each sends a request, and returns its status or throws.

import {
  createDefaultHttpClient,
  createPipelineFromOptions,
  createPipelineRequest,
} from '@azure/core-rest-pipeline'
import axios from 'axios'
import axiosRetry, { isIdempotentRequestError } from 'axios-retry'
import withRetries from 'fetch-retry'
import got from 'got'
import ky from 'ky'
import fetchAndRetry from 'make-fetch-happen'
import { attach } from 'retry-axios'
import superagent from 'superagent'
import { Agent, interceptors, fetch as undiciFetch } from 'undici'
import wretch from 'wretch'
import { retry as wretchRetry } from 'wretch/middlewares'

const statusOf = async (response) => (await response).status

// By name: how a request is sent with these options, those that one begins with, and the text of those that
// fit.
const table = {
  got: [
    (options) => async (url, init) =>
      (await got(url, { ...init, throwHttpErrors: false, ...options })).statusCode,
    {},
    'retry: { maxRetryAfter: 60_000 }',
  ],
  ky: [
    (options) => (url, init) => statusOf(ky(url, { ...init, ...options })),
    {},
    'retry: { maxRetryAfter: 60_000 }',
  ],
  'axios-retry': [
    (options) => withAxios((instance) => axiosRetry(instance, options)),
    { retries: 3 },
    "retryCondition: (error) => isIdempotentRequestError(error) && !(error.response?.headers['retry-after'] > 60)",
  ],
  'retry-axios': [(options) => withAxios(attach, options), {}, 'raxConfig: { maxRetryAfter: 60_000 }'],
  undici: [
    (options) => (url, init) =>
      statusOf(undiciFetch(url, { ...init, dispatcher: new Agent().compose(interceptors.retry(options)) })),
    {},
    'maxTimeout: 60_000, maxRetries: 2',
  ],
  'fetch-retry': [
    (options) => (url, init) => statusOf(withRetries(fetch)(url, { ...init, ...options })),
    {},
    "retryOn: (n, _, answer) => n < 3 && parseInt(answer?.headers.get('retry-after')) <= 60, " +
      "retryDelay: (_, __, answer) => 1000 * answer.headers.get('retry-after')",
  ],
  '@azure/core-rest-pipeline': [withAzure, {}, 'retryOptions: { maxRetries: 0 }'],
  superagent: [
    ({ retry }) =>
      (url, { method, headers, body }) =>
        statusOf(
          superagent(method, url)
            .set(headers)
            .send(body)
            .retry(...retry),
        ),
    { retry: [2] },
    'retry: [2, (_, answer) => (answer ? false : undefined)]',
  ],
  wretch: [withWretch, {}, 'until: (answer) => answer !== null'],
  'make-fetch-happen': [
    (options) => (url, init) => statusOf(fetchAndRetry(url, { ...init, ...options })),
    { retry: 3 },
    'retry: false',
  ],
}

export const helpers = Object.entries(table).map(([name, [helperOf, begun, setting]]) => ({
  name,
  plain: helperOf(begun),
  setting,
  right: helperOf({ ...begun, ...optionsOf(setting) }),
}))

function optionsOf(text) {
  return new Function('isIdempotentRequestError', `return { ${text} }`)(isIdempotentRequestError)
}

function withAxios(prepare, options) {
  return (url, { method, headers, body }) => {
    const instance = axios.create()
    prepare(instance)
    return statusOf(instance.request({ url, method, headers, data: body, ...options }))
  }
}

function withAzure(options) {
  return (url, { method, headers, body }) => {
    const request = createPipelineRequest({ url, method, body, allowInsecureConnection: true })
    for (const [name, value] of Object.entries(headers)) request.headers.set(name, value)
    return statusOf(createPipelineFromOptions(options).sendRequest(createDefaultHttpClient(), request))
  }
}

function withWretch(options) {
  return (url, { method, headers, body }) => {
    const request = wretch(url)
      .headers(headers)
      .middlewares([wretchRetry(options)])
    return statusOf((method === 'POST' ? request.post(body) : request.get()).res())
  }
}
