// A span for each request, exported by OpenTelemetry's own packages, which read their variables (OTEL_*) themselves. @fastify/otel is
// not used: it makes a span of each hook and handler, and ends none of a request whose connection is gone.

import { setTimeout as delay } from 'node:timers/promises'
import {
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
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../config.js'
import type { Contract } from '../contract/types.js'
import type { Lifetimes } from '../http/lifetime.js'

export interface TracedParts {
  readonly config: Pick<Config, 'isAddressLogged' | 'shutdownTimeoutMs'>
  readonly contract: Pick<Contract, 'title' | 'version'>
  readonly lifetimes: Lifetimes
  readonly log: Logger
}

// Of the time that a stop has, for the last spans: a collector that is away must not make it late.
const flushShare = 0.2

/**
 * Traces every request of a server but probes, as a part of the trace that its `traceparent` names (W3C Trace Context). The server's
 * close exports what is left.
 */
export function addTracing(app: FastifyInstance, { config, contract, lifetimes, log }: TracedParts): void {
  const provider = createProvider(contract, log)
  const tracer = provider.getTracer(contract.title, contract.version)
  const propagator = new W3CTraceContextPropagator()
  const spans = new WeakMap<FastifyRequest, Span>()

  app.addHook('onRequest', (request, reply, done) => {
    const parent = propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter)
    const span = tracer.startSpan(request.method, { kind: SpanKind.SERVER }, parent)
    spans.set(request, span)
    if (trace.getSpanContext(parent) === undefined) {
      const { traceId } = span.spanContext()
      request.log = reply.log = request.log.child({ traceId }) // the log knows that of a caller by itself
    }
    done()
  })
  const end = (request: FastifyRequest, reply: FastifyReply) => {
    const span = spans.get(request)
    if (span === undefined || request.matched?.config?.isProbe) return
    describe(span, request, reply.sent ? reply.statusCode : undefined)
    if (config.isAddressLogged) span.setAttribute('client.address', request.ip)
    span.end()
  }
  app.addHook('onResponse', (request, reply, done) => {
    end(request, reply)
    done()
  })
  lifetimes.onAborted(end)
  app.addHook('onClose', async () => {
    const late = delay(config.shutdownTimeoutMs * flushShare, false, { ref: false })
    const isFlushed = await Promise.race([provider.shutdown().then(() => true), late])
    if (!isFlushed) log.warn('the last traces are lost: the collector did not take them in time')
  })
}

// By the semantic conventions for HTTP, but for `url.path`: a URL as sent may hold a key.
function describe(span: Span, { method, matched }: FastifyRequest, status: number | undefined): void {
  const route = matched?.url
  if (route !== undefined) span.updateName(`${method} ${route}`).setAttribute('http.route', route)
  span.setAttributes({ 'http.request.method': method, 'url.scheme': 'http' })
  if (status === undefined) {
    span.setAttribute('error.type', 'aborted')
    return
  }
  span.setAttribute('http.response.status_code', status)
  if (status < 500) return // the caller's errors are none of a server
  span.setAttribute('error.type', String(status)).setStatus({ code: SpanStatusCode.ERROR })
}

function createProvider({ title, version }: TracedParts['contract'], log: Logger): BasicTracerProvider {
  // What is wrong with a variable is told as it is read; what becomes of exports, by the exporter below.
  const tell = (message: string) => log.warn({ reason: message }, 'tracing is not as it was asked for')
  const none = () => {}
  diag.setLogger({ error: tell, warn: tell, info: none, debug: none, verbose: none }, DiagLogLevel.WARN)
  try {
    const named = resourceFromAttributes({ 'service.name': title, 'service.version': version })
    const exporter = new TellingExporter(new OTLPTraceExporter(), log)
    return new BasicTracerProvider({
      resource: defaultResource()
        .merge(named)
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor(exporter)],
    })
  } finally {
    diag.disable()
  }
}

/** Says once that a collector takes no spans, and once that it does again. */
class TellingExporter implements SpanExporter {
  #isAway = false

  constructor(
    readonly inner: SpanExporter,
    readonly log: Logger,
  ) {}

  export(spans: ReadableSpan[], then: (result: ExportResult) => void): void {
    this.inner.export(spans, (result) => {
      const isAway = result.code === ExportResultCode.FAILED
      if (isAway && !this.#isAway)
        this.log.warn({ reason: reasonOf(result.error) }, 'traces cannot be exported')
      if (!isAway && this.#isAway) this.log.info('traces are exported again')
      this.#isAway = isAway
      then(result)
    })
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown()
  }
}

// Node's error of a host with several addresses has no message.
function reasonOf(error: Error | undefined): string {
  return error?.message || String((error as NodeJS.ErrnoException | undefined)?.code)
}
