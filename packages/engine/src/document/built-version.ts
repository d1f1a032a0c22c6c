// build.cjs replaces this file in dist/ by one with the version of the code that it has built, for bundles.

export const builtVersion: string | undefined = undefined
