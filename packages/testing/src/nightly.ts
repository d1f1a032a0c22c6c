// How much of what takes long a run tries.

/** Whether the run tries everything: `.ci/run --nightly`. */
export const isNightly: boolean = process.env.NIGHTLY === 'true'

/** All of these cases at night, and every tenth otherwise, from the first. */
export function sampled<Case>(cases: readonly Case[]): Case[] {
  return cases.filter((_, i) => isNightly || i % 10 === 0)
}

/** So many rounds at night, and a tenth otherwise. */
export function rounds(count: number): number {
  return isNightly ? count : Math.ceil(count / 10)
}
