// Properties named like those that every JavaScript object inherits, such as `constructor` and `toString`: a
// reader of an absent one would find the inherited value.

import type { Schema } from '../document/contract.js'

/** True if a schema declares such a property. */
export function hasInheritedName({ properties = {} }: Schema): boolean {
  return Object.keys(properties as object).some((name) => name in Object.prototype)
}

/** Removes the prototype of an object, so that it inherits nothing. */
export function removePrototype(value: object): void {
  Object.setPrototypeOf(value, null)
}
