import { METHODS } from 'node:http'
import t from 'tap'
import { methodFaults, methodsRead } from '../../src/document/methods.js'

const listed = ['GET', 'POST', 'PROPFIND', 'QUERY']

for (const version of ['20.19.1', '20.19.2', '22.0.0', '22.1.0']) {
  t.test(`Node ${version} lists QUERY, but does not read it`, async (t) => {
    t.strictSame([...methodsRead(listed, version)], ['GET', 'POST', 'PROPFIND'])
  })
}

for (const version of ['20.19.3', '20.20.0', '22.2.0', '22.12.0', '24.0.0', '26.1.0']) {
  t.test(`Node ${version} reads what it lists`, async (t) => {
    t.strictSame([...methodsRead(listed, version)], listed)
    t.strictSame([...methodsRead(['GET'], version)], ['GET'])
  })
}

const item = { get: {}, query: {}, additionalOperations: { PROPFIND: {}, COPY: {}, query: {} } }

t.test('an operation whose method Node does not read is a fault at its place', async (t) => {
  const { node } = process.versions
  t.strictSame(methodFaults(item, methodsRead(listed, '22.1.0')), [
    {
      method: 'query',
      text: 'the method query belongs in the field query of the path',
      at: ['additionalOperations', 'query'],
    },
    {
      method: 'QUERY',
      text: `the method QUERY is not one that Node ${node} reads: 20.19.3 and 22.2 do`,
      at: ['query'],
    },
    {
      method: 'COPY',
      text: 'the method COPY is not one that Node reads',
      at: ['additionalOperations', 'COPY'],
    },
  ])
  const { additionalOperations: _, ...others } = item
  t.strictSame(methodFaults(others, methodsRead(METHODS.concat('QUERY'), '22.2.0')), [])
})
