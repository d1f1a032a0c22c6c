// build.cjs replaces this file in dist/ by one with the version of the code that it has built. A server that
// bundles the engine cannot look at the engine's code, and would refuse each plan.

export const builtVersion: string | undefined = undefined
