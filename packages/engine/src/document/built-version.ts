// Replaced in dist/ by build.cjs, with the version of the code that it has built. A server that bundles the
// engine cannot look at its code, and would refuse each plan.

export const builtVersion: string | undefined = undefined
