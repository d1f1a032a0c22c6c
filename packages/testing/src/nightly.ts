// Decides how many of the slow cases a run tries.

/** True if the run tries everything: `.ci/run --nightly`. */
export const isNightly: boolean = process.env.NIGHTLY === 'true'

/** Returns all cases in a nightly run; otherwise every tenth, beginning with the first. */
export function sampled<Case>(cases: readonly Case[]): Case[] {
  return cases.filter((_, i) => isNightly || i % 10 === 0)
}

/** Returns the number of rounds in a nightly run; otherwise a tenth of it. */
export function rounds(count: number): number {
  return isNightly ? count : Math.ceil(count / 10)
}
