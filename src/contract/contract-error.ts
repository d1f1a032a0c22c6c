import { OperatorError } from '../operator-error.js'

/** The contract is unusable; the message has one line per problem. */
export class ContractError extends OperatorError {
  override name = 'ContractError'
}
