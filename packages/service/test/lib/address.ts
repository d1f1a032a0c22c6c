import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { clientAddress, networkOf, readAddress } from '../../src/lib/address.js'

const cases: [text: string, address: string | undefined, network?: string][] = [
  ['192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:567', '192.0.2.1'],
  ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
  ['2001:db8:0:0::1', '2001:db8::1', '2001:db8::'],
  ['[2001:db8::1]', '2001:db8::1', '2001:db8::'],
  ['[2001:db8::1]:80', '2001:db8::1', '2001:db8::'],
  ['fe80::1%eth0', 'fe80::1', 'fe80::'],
  ['[fe80::1%25]:80', 'fe80::1', 'fe80::'],
  ['::1', '::1', '::'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['[::ffff:c000:201]:80', '192.0.2.1'],
  ['64:ff9b::192.0.2.1', '192.0.2.1'],
  ['64:ff9b:1::192.0.2.1', '192.0.2.1'],
  ['2002:c000:201:7::1', '192.0.2.1'],
  ['2001:0:4136:e378:8000:63bf:3fff:fdfe', '192.0.2.1'],
  ...[
    '',
    'unknown',
    '_hidden',
    'a.example',
    '192.0.2',
    '192.0.2.256',
    '192.0.2.1:',
    '192.0.2.1:80:80',
    '192.0.2.1%eth0',
    '0300.0.2.1',
    '0xc0000201',
    '192.0.2.1, 192.0.2.2',
    '[192.0.2.1',
    '2001:db8::1::2',
    `fe80::1%${'x'.repeat(15_000)}`,
    'x'.repeat(15_000),
  ].map((text): [string, undefined] => [text, undefined]),
]

for (const [text, address, network = address] of cases)
  t.test(`${JSON.stringify(text.slice(0, 40))} is ${address ?? 'no address'}`, async (t) => {
    t.equal(readAddress(text), address)
    if (address !== undefined) t.equal(networkOf(address), network)
  })

t.test('a client whose proxy reports no address has the address of the proxy', async (t) => {
  const socket = { remoteAddress: '::ffff:192.0.2.9' }
  t.equal(clientAddress({ ip: '192.0.2.1', socket }), '192.0.2.1')
  t.equal(clientAddress({ ip: 'unknown', socket }), '192.0.2.9')
  t.equal(clientAddress({ ip: 'unknown', socket: {} }), 'unknown')
})

t.test('an address keeps nothing else of its header in memory', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const usedAfter = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const headers = 2_000
  const rest = 15_000
  const before = usedAfter()
  const kept = Array.from({ length: headers }, (_, i) => {
    const header = Buffer.from(`203.0.113.${100 + (i % 100)}, ${'x'.repeat(rest)}`).toString()
    return readAddress(header.slice(0, header.indexOf(',')))
  })
  t.ok(usedAfter() - before < (headers * rest) / 10)
  t.equal(kept.length, headers)
})
