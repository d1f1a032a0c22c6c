// OpenTelemetry tracing: one span per request. OpenTelemetry reads its variables (OTEL_*) itself.
// @fastify/otel is not used: it makes a span for each hook, and never ends those of an aborted request.

import { randomUUID } from 'node:crypto'
import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Attributes,
  DiagLogLevel,
  defaultTextMapGetter,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base'
import type { Contract } from 'contract-engine'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Config, OtlpFiles } from '../config.js'
import type { Lifetimes } from '../http/lifetime.js'
import { clientAddress } from '../lib/address.js'
import { CollectorAgent } from './collector-agent.js'

export interface TracedParts {
  readonly config: Pick<Config, 'isAddressLogged' | 'shutdownTimeoutMs' | 'otlpFiles'>
  readonly contract: Pick<Contract, 'title' | 'version'>
  readonly lifetimes: Lifetimes
  readonly log: Logger
}

// The share of SHUTDOWN_TIMEOUT_MS for exporting the last spans, so that an unavailable collector cannot
// exceed it.
const flushShare = 0.2

/**
 * Traces every request except probes, in the trace of its `traceparent` (W3C Trace Context) or a new one.
 * Closing the server exports the remaining spans.
 */
export function addTracing(app: FastifyInstance, { config, contract, lifetimes, log }: TracedParts): void {
  const provider = createProvider(contract, config, log)
  const tracer = provider.getTracer(contract.title, contract.version)
  const propagator = new W3CTraceContextPropagator()
  const spans = new WeakMap<FastifyRequest, Span>()

  app.addHook('onRequest', (request, reply, done) => {
    const parent = propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter)
    const span = tracer.startSpan(spanName(request.method), { kind: SpanKind.SERVER }, parent)
    spans.set(request, span)
    if (trace.getSpanContext(parent) === undefined) {
      const { traceId } = span.spanContext()
      request.log = reply.log = request.log.child({ traceId }) // the request log adds the caller's itself
    }
    done()
  })
  lifetimes.onEnd((request) => {
    const span = spans.get(request)
    if (span === undefined || request.matched?.config.isProbe) return
    setAttributes(span, request, request.lifetime?.status)
    const { streamedBytes } = request.lifetime ?? {}
    if (streamedBytes !== undefined) span.setAttribute('http.response.size', streamedBytes)
    if (config.isAddressLogged) span.setAttribute('client.address', clientAddress(request))
    span.end()
  })
  app.addHook('onClose', async () => {
    const timeout = delay(config.shutdownTimeoutMs * flushShare, 'timeout', { ref: false })
    // If the collector refuses the last spans, the shutdown goes on.
    const reason = await Promise.race([provider.shutdown().then(() => undefined, reasonOf), timeout])
    if (reason !== undefined) log.warn({ reason }, 'trace export failed, last spans lost')
  })
}

// The semantic conventions for HTTP, except `url.path`: a URL as sent may contain a key.
function setAttributes(span: Span, request: FastifyRequest, status: number | undefined): void {
  const { method, protocol } = request
  const route = request.matched?.url
  if (route !== undefined) span.updateName(`${spanName(method)} ${route}`).setAttribute('http.route', route)
  // Behind a trusted proxy, `protocol` is the client's.
  span.setAttributes({ ...methodAttributes(method), 'url.scheme': protocol })
  if (status === undefined) {
    span.setAttribute('error.type', 'aborted')
    return
  }
  span.setAttribute('http.response.status_code', status)
  if (status < 500) return // client errors are not errors of a server span
  span.setAttribute('error.type', String(status)).setStatus({ code: SpanStatusCode.ERROR })
}

// The methods of RFC 9110 and 5789. A client may send others that Node knows, such as PROPFIND.
const knownMethods = new Set('CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT TRACE'.split(' '))

function spanName(method: string): string {
  return knownMethods.has(method) ? method : 'HTTP'
}

function methodAttributes(method: string): Attributes {
  return knownMethods.has(method)
    ? { 'http.request.method': method }
    : { 'http.request.method': '_OTHER', 'http.request.method_original': method }
}

function createProvider(
  { title, version }: TracedParts['contract'],
  { otlpFiles }: TracedParts['config'],
  log: Logger,
): BasicTracerProvider {
  // Only while OpenTelemetry reads its variables, to report invalid ones. LoggingExporter reports failed
  // exports.
  const warn = (message: string) => log.warn({ reason: message }, 'invalid opentelemetry configuration')
  const ignore = () => {}
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN)
  try {
    const service = resourceFromAttributes({
      'service.name': title,
      'service.version': version,
      'service.instance.id': randomUUID(),
    })
    const exporter = new LoggingExporter(createExporter(otlpFiles), log)
    return new BasicTracerProvider({
      resource: defaultResource()
        .merge(service)
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor(exporter)],
    })
  } finally {
    diag.disable()
  }
}

function createExporter(files: OtlpFiles): OTLPTraceExporter {
  if (Object.keys(files).length === 0) return new OTLPTraceExporter()
  return new OTLPTraceExporter({
    httpAgentOptions: (protocol) =>
      protocol === 'https:' ? new CollectorAgent(files) : new http.Agent({ keepAlive: true }),
  })
}

/** Logs the first failed export, and the first successful one after it. */
class LoggingExporter implements SpanExporter {
  #isFailing = false

  constructor(
    readonly inner: SpanExporter,
    readonly log: Logger,
  ) {}

  export(spans: ReadableSpan[], then: (result: ExportResult) => void): void {
    this.inner.export(spans, (result) => {
      const isFailing = result.code === ExportResultCode.FAILED
      if (isFailing && !this.#isFailing)
        this.log.warn({ reason: reasonOf(result.error) }, 'trace export failed')
      if (!isFailing && this.#isFailing) this.log.info('trace export works again')
      this.#isFailing = isFailing
      then(result)
    })
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown()
  }
}

// Node's AggregateError for a host with several addresses has no message.
function reasonOf(error: Error | undefined): string {
  return error?.message || String((error as NodeJS.ErrnoException | undefined)?.code)
}
