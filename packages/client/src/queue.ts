// The calls of a client, by key. They start in order, and what the server tells one call applies to all. No
// more calls are in flight than the window has requests left, and after a 429 all wait for the end of the
// window. If each call learned this by itself, they would be refused by the hundred.

import type { Clock } from './clock.js'
import { ApiError, isOfCredential } from './error.js'
import { readRateLimit, readRetryAfter } from './rate-limit.js'

/** A call that wants to send a request. */
export interface Caller {
  /** The name of the operation. */
  readonly operation: string
  /** The turn of the call: callers with a lower number go first. */
  readonly turn: number
  /** How many requests the call counts as. */
  readonly cost: number
  readonly signal: AbortSignal
  /** The call fails if it would have to wait longer, in milliseconds. */
  readonly waitMaxMs: number
}

/** How many calls are in flight at once, and who is told that all wait. */
export interface QueueOptions {
  readonly inFlightMax: number
  readonly clock: Clock
  /** Is called when all calls of a key begin to wait. */
  onWait(waitMs: number): void
}

type Outcome = Response | ApiError

/** What the server said last, valid until the window resets. */
interface Told {
  /** How many requests the window has left; -1 after a 429. */
  readonly left: number
  readonly untilMs: number
  /** The 429, and until when it is the result of calls that do not wait for the end of the window. */
  readonly refusal?: { readonly error: ApiError; readonly untilMs: number }
}

interface Waiting extends Caller {
  /** Ends the wait: the call may send its request, or has been refused. */
  end(refusal?: ApiError): void
}

// After this time, one of these calls is sent again, because the key may have got a higher plan.
const refusalMs = 10_000
// Spreads the requests of clients that wait for the same reset.
const spreadMs = 250

/** The queues of a client, one for each key. */
export class CallQueues {
  readonly #queues = new Map<string, CallQueue>()
  #turns = 0

  constructor(readonly options: QueueOptions) {}

  /** Returns the turn of a new call. */
  nextTurn(): number {
    return this.#turns++
  }

  /** Returns the queue of a key. */
  of(key: string): CallQueue {
    const found = this.#queues.get(key)
    if (found !== undefined) return found
    for (const [other, queue] of this.#queues) if (queue.isIdle) this.#queues.delete(other)
    const queue = new CallQueue(this.options, key !== '')
    this.#queues.set(key, queue)
    return queue
  }
}

/** Decides when the calls of one key send their requests. */
class CallQueue {
  #inFlight = 0
  #costInFlight = 0
  #waiting: Waiting[] = []
  #told: Told | undefined
  #timer: { readonly untilMs: number; readonly controller: AbortController } | undefined

  constructor(
    readonly options: QueueOptions,
    readonly isKeyed: boolean,
  ) {}

  /** True if no call uses the queue, and nothing that the server said still applies. */
  get isIdle(): boolean {
    return this.#inFlight === 0 && this.#waiting.length === 0 && this.#holding() === undefined
  }

  /**
   * Runs `send` when it is the caller's turn. Instead, it may return what another call got: the refusal of
   * the credential, or a 429 if the caller does not wait long enough. Rejects with the reason of the caller's
   * signal.
   */
  async run(caller: Caller, send: () => Promise<Outcome>): Promise<Outcome> {
    const refusal = await this.#wait(caller)
    if (refusal !== undefined) return refusal
    const before = this.#told
    try {
      const outcome = await send()
      if (this.isKeyed && outcome instanceof ApiError && isOfCredential(outcome)) this.#settle(outcome)
      else this.#learn(outcome, before)
      return outcome
    } finally {
      this.#inFlight--
      this.#costInFlight -= caller.cost
      this.#startNext()
      if (this.#blocking() !== undefined)
        this.#waiting = this.#waiting.filter((each) => !this.#endImpatient(each))
      this.#setTimer()
    }
  }

  // Ends waiting calls with the refusal of their credential, without sending them: they would be refused,
  // too, and each refusal counts against all callers at the same address. The headers tell the quota of the
  // address, so they are not learned.
  #settle(error: ApiError): void {
    for (const each of this.#waiting.splice(0)) each.end(of(error, each.operation))
  }

  #wait(caller: Caller): Promise<ApiError | undefined> {
    const { signal } = caller
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        this.#setTimer()
        reject(signal.reason)
      }
      const end = (refusal?: ApiError) => {
        signal.removeEventListener('abort', leave)
        if (refusal === undefined) {
          this.#inFlight++
          this.#costInFlight += caller.cost
        }
        resolve(refusal)
      }
      const waiting = { ...caller, end }
      signal.addEventListener('abort', leave, { once: true })
      if (this.#endImpatient(waiting)) return
      this.#enqueue(waiting)
      this.#startNext()
      this.#setTimer()
    })
  }

  // Inserts a call by its turn: a call that was refused and comes again goes before calls that have not been
  // sent yet.
  #enqueue(waiting: Waiting): void {
    let at = this.#waiting.length
    while (at > 0 && (this.#waiting[at - 1] as Waiting).turn > waiting.turn) at--
    this.#waiting.splice(at, 0, waiting)
  }

  #startNext(): void {
    for (let [first] = this.#waiting; first !== undefined && this.#allows(first); [first] = this.#waiting)
      this.#waiting.shift()?.end()
  }

  // After a wait, the first call finds out how many requests the new window allows.
  #allows({ cost }: Caller): boolean {
    if (this.#inFlight >= this.options.inFlightMax) return false
    const holding = this.#holding()
    if (holding !== undefined) return this.#costInFlight + cost <= holding.left
    return this.#told === undefined || this.#told.left > 0 || this.#inFlight === 0
  }

  // Without a known 429, there is nothing to refuse the call with: one call is sent, and the others wait for
  // its response.
  #endImpatient(waiting: Waiting): boolean {
    const told = this.#blocking(waiting)
    const nowMs = this.options.clock.now()
    if (told === undefined || told.untilMs - nowMs <= waiting.waitMaxMs + spreadMs) return false
    const { refusal } = told
    if (refusal !== undefined && nowMs < refusal.untilMs) waiting.end(of(refusal.error, waiting.operation))
    else if (this.#inFlight === 0) waiting.end()
    else return false
    return true
  }

  // If the state has changed since the request was sent, the response may be older than the state. It then
  // counts only if it leaves fewer requests.
  #learn(outcome: Outcome, before: Told | undefined): void {
    const told = this.#read(outcome)
    const holding = this.#holding()
    const isFewer = told !== undefined && holding !== undefined && told.left < holding.left
    if (before !== this.#told && holding !== undefined && !isFewer) return
    this.#told = told
  }

  #read(outcome: Outcome): Told | undefined {
    const { clock } = this.options
    const response = outcome instanceof ApiError ? outcome.response : outcome
    if (response === undefined) return undefined
    const nowMs = clock.now()
    const until = (waitMs: number) => nowMs + waitMs + spreadMs * clock.random()
    const retryAfterMs = readRetryAfter(response.headers.get('Retry-After'), nowMs)
    if (outcome instanceof ApiError && response.status === 429 && retryAfterMs !== undefined) {
      const refusal = { error: outcome, untilMs: nowMs + refusalMs }
      return { left: -1, untilMs: until(retryAfterMs), refusal }
    }
    const rateLimit = readRateLimit(response.headers)
    if (rateLimit === undefined) return undefined
    return {
      left: rateLimit.remaining,
      untilMs: until(rateLimit.resetsAt.getTime() - dateOf(response, nowMs)),
    }
  }

  #holding(): Told | undefined {
    return this.#told !== undefined && this.options.clock.now() < this.#told.untilMs ? this.#told : undefined
  }

  // Returns the state that all calls wait for, since they start in order: the first waiting call, or `other`,
  // costs more than the window has left.
  #blocking(other?: Caller): Told | undefined {
    const holding = this.#holding()
    const cost = Math.max(1, this.#waiting[0]?.cost ?? 1, other?.cost ?? 1)
    return holding !== undefined && holding.left < cost ? holding : undefined
  }

  #setTimer(): void {
    const untilMs = this.#waiting.length > 0 ? this.#blocking()?.untilMs : undefined
    if (untilMs === this.#timer?.untilMs) return
    const isNew = this.#timer === undefined
    this.#timer?.controller.abort()
    this.#timer = undefined
    if (untilMs !== undefined) this.#startTimer(untilMs, isNew)
  }

  #startTimer(untilMs: number, isNew: boolean): void {
    const { clock, onWait } = this.options
    const controller = new AbortController()
    const waitMs = untilMs - clock.now()
    this.#timer = { untilMs, controller }
    // Asynchronous, so that a callback that throws takes no place in the queue with it.
    if (isNew) void Promise.resolve(waitMs).then(onWait).catch(ignore)
    const wake = () => {
      this.#timer = undefined
      this.#told = { left: 0, untilMs: Number.NEGATIVE_INFINITY } // even if the clock was set back
      this.#startNext()
      this.#setTimer()
    }
    clock.wait(waitMs, controller.signal).then(wake, ignore)
  }
}

function ignore(): void {}

// `X-RateLimit-Reset` is a time of day, and the client's clock may be wrong. So the clock counts only within
// the second after `Date`. Browsers hide `Date` from other origins.
function dateOf({ headers }: Response, nowMs: number): number {
  const date = Date.parse(headers.get('Date') ?? '')
  return Number.isNaN(date) ? nowMs : Math.min(Math.max(nowMs, date), date + 1_000)
}

function of({ code, message, response, body, cause }: ApiError, operation: string): ApiError {
  return new ApiError(code, message, { operation, body, cause, ...(response && { response }) })
}
