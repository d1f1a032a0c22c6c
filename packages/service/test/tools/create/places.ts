import path from 'node:path'
import t from 'tap'
import { placesOf, withPlaces } from '../../../tools/create/places.js'

const at = (name: string) => path.resolve('/shop', name)
const document = at('v1/shop.yaml')
const files = [document, ...['common/errors.yaml', 'v1/toy.yaml', 'common/a b.yaml'].map(at)]
const places = placesOf(document, files, '/shop')

t.test('a file is where it was below the folder that was named, and the document at the top', async (t) => {
  t.strictSame(
    [...places],
    [
      [document, 'openapi.yaml'],
      [at('common/errors.yaml'), 'common/errors.yaml'],
      [at('v1/toy.yaml'), 'v1/toy.yaml'],
      [at('common/a b.yaml'), 'common/a b.yaml'],
    ],
  )
  t.strictSame([...placesOf(document, [document, at('v1/toy.yaml')]).values()], ['openapi.yaml', 'toy.yaml'])
})

t.test('a file outside of the folder, or with the name of the document, has no place', async (t) => {
  t.throws(() => placesOf(document, files), {
    message: /refers to \/shop\/common\/errors\.yaml, outside of \/shop\/v1/,
  })
  t.throws(() => placesOf(document, [document, at('v1/openapi.yaml')]), { message: /rename that file/ })
  t.strictSame([...placesOf(document, [document, at('v1/..a.yaml')]).values()], ['openapi.yaml', '..a.yaml'])
})

const inDocument: [title: string, text: string, written: string][] = [
  ['a $ref', "$ref: '../common/errors.yaml#/A'", "$ref: 'common/errors.yaml#/A'"],
  [
    'one below its key',
    'X-A:\n  $ref: "../common/errors.yaml#/A"\n',
    'X-A:\n  $ref: "common/errors.yaml#/A"\n',
  ],
  ['one on a line of its own', '$ref:\n  ../common/errors.yaml', '$ref:\n  common/errors.yaml'],
  ['one without quotes', '- $ref: ../common/errors.yaml#/A\n', '- $ref: common/errors.yaml#/A\n'],
  ['one to a whole file', '{$ref: ../common/errors.yaml}', '{$ref: common/errors.yaml}'],
  ['one in JSON', '{"$ref":"../common/errors.yaml#/A"}', '{"$ref":"common/errors.yaml#/A"}'],
  ['one to a file beside the document', '$ref: toy.yaml#/A', '$ref: v1/toy.yaml#/A'],
  ['one in percent-encoding', '$ref: ../common/a%20b.yaml#/A', '$ref: common/a%20b.yaml#/A'],
  ['one to the document', '$ref: ./shop.yaml#/A', '$ref: openapi.yaml#/A'],
  ['a mapping', 'dog: ../common/errors.yaml#/Dog', 'dog: common/errors.yaml#/Dog'],
  ['one within a file', "$ref: '#/A'", "$ref: '#/A'"],
  ['a URL', '$ref: https://a.example/toy.yaml#/A', '$ref: https://a.example/toy.yaml#/A'],
  ['a file that is none of the document', '$ref: ../other.yaml', '$ref: ../other.yaml'],
  ['a text that is like one', 'example: toy.yaml', 'example: toy.yaml'],
  ['half an escape', '$ref: 50%.yaml', '$ref: 50%.yaml'],
]

for (const [title, text, written] of inDocument)
  t.test(`the document refers to what it did before: ${title}`, async (t) =>
    t.equal(withPlaces(text, document, places), written),
  )

t.test('another file refers to the document by its new name, and to others as before', async (t) => {
  const written = (text: string, name: string) => withPlaces(text, at(name), places)
  t.equal(written("$ref: '../v1/shop.yaml#/A'", 'common/errors.yaml'), "$ref: '../openapi.yaml#/A'")
  t.equal(written("$ref: './a%20b.yaml'", 'common/errors.yaml'), "$ref: './a%20b.yaml'")
  t.equal(written("$ref: '../common/errors.yaml'", 'v1/toy.yaml'), "$ref: '../common/errors.yaml'")
})
