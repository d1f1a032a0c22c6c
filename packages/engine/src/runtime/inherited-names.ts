// Properties named like those every JavaScript object inherits, such as `constructor` and `toString`: reading
// an absent one would find the inherited value.

import type { Schema } from '../document/contract.js'

/** Whether a schema declares such a property. */
export function hasInheritedName({ properties = {} }: Schema): boolean {
  return Object.keys(properties as object).some((name) => name in Object.prototype)
}

/** Removes the prototype of an object that is read. */
export function removePrototype(value: object): void {
  Object.setPrototypeOf(value, null)
}
