// Replaced in dist/ by build.cjs, with the version of the code that it has built, for bundles.

export const builtVersion: string | undefined = undefined
