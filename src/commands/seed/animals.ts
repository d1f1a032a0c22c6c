// Random animals that look like a store's: common names, breeds that match their category, frequent and rare
// categories. The same seed gives the same animals.

import type { PetStatus } from '../../../generated/types.js'

/** An animal to add. */
export interface Animal {
  readonly name: string
  readonly categoryId: number
  readonly status: string | null
}

// By category id, from 1: the percentage of animals, and the breeds.
const categories: readonly (readonly [share: number, breeds: string])[] = [
  [30, 'Beagle,Border Collie,Boxer,Corgi,Dachshund,Dalmatian,Greyhound,Labrador,Poodle,Pug,Spaniel,Whippet'],
  [26, 'Abyssinian,Bengal,Birman,British Shorthair,Burmese,Maine Coon,Persian,Ragdoll,Siamese,Sphynx'],
  [12, 'Angora,Dutch,Dwarf Lop,English Spot,Flemish Giant,Lionhead,Netherland Dwarf,Rex'],
  [8, 'Budgerigar,Canary,Cockatiel,Conure,Lovebird,Macaw,Parrotlet,Zebra Finch'],
  [7, 'Campbell Hamster,Chinchilla,Degu,Fancy Mouse,Gerbil,Syrian Hamster'],
  [6, 'Abyssinian Guinea Pig,American Guinea Pig,Peruvian Guinea Pig,Teddy Guinea Pig'],
  [5, 'Angelfish,Betta,Clownfish,Discus,Goldfish,Guppy,Koi,Neon Tetra'],
  [3, 'Box Turtle,Hermann’s Tortoise,Musk Turtle,Red-eared Slider'],
  [2, 'Bearded Dragon,Ball Python,Chameleon,Corn Snake,Leopard Gecko'],
  [1, 'Alpaca,Fjord Horse,Pygmy Goat,Shetland Pony,Valais Blacknose'],
]
const givenNames =
  `Ada,Alfie,Amber,Angus,Apollo,Archie,Ariel,Aske,Bailey,Bandit,Bärli,Basil,Bean,Bella,Benji,Biscuit,Blue,Bo,
Boris,Bramble,Bruno,Buddy,Caspian,Charlie,Chester,Chloé,Cinnamon,Cleo,Clover,Coco,Cookie,Cosmo,Daisy,Dante,
Dexter,Diego,Dolly,Duke,Ella,Elsa,Ember,Fauna,Felix,Fern,Figaro,Finn,Fiona,Florence,Frida,George,Ginger,Gizmo,
Grace,Gulliver,Gus,Harley,Hazel,Henry,Honey,Hugo,Indigo,Iris,Ivy,Jack,Jasper,Jazz,Juno,Kiki,Kiwi,Leo,Lili,
Loki,Lola,Louie,Lucky,Lucy,Luna,Maggie,Mango,Maple,Marlowe,Max,Merlin,Mia,Milo,Minnie,Misty,Mocha,Molly,Momo,
Monty,Nala,Niko,Noodle,Nova,Olive,Oliver,Oreo,Oscar,Otis,Otto,Pablo,Peanut,Pearl,Penny,Pepper,Percy,Phoebe,
Pickle,Pip,Pixel,Pluto,Poppy,Quincy,Radar,Remy,Rex,Rocky,Romeo,Rosie,Ruby,Rusty,Sadie,Sage,Sam,Saffron,Scout,
Shadow,Simba,Skye,Smokey,Snowball,Sophie,Sprout,Stella,Sushi,Tango,Teddy,Thor,Tilly,Toby,Tofu,Tulip,Uma,Vera,
Violet,Waffles,Walnut,Willow,Winnie,Wren,Yuki,Zara,Zelda,Ziggy,Zoë`.split(/,\n?/)

// The percentage of animals with each status. A few have none.
const statuses: readonly (readonly [share: number, status: PetStatus | null])[] = [
  [60, 'available'],
  [25, 'sold'],
  [12, 'pending'],
  [3, null],
]

/** Generates the animals of a seed, endlessly. */
export function* animals(seed: number): Generator<Animal, never> {
  const random = createRandom(seed)
  const choose = <Each>(list: readonly Each[]): Each => list[Math.floor(random() * list.length)] as Each
  const kinds = spread(
    categories.map(([share, breeds], index) => [share, [index + 1, breeds.split(',')] as const]),
  )
  const states = spread(statuses)
  for (;;) {
    const [categoryId, breeds] = choose(kinds)
    const name = random() < 0.3 ? choose(givenNames) : `${choose(givenNames)} the ${choose(breeds)}`
    yield { name, categoryId, status: choose(states) }
  }
}

// Repeats each element by its share, for a uniform choice.
function spread<Each>(shares: readonly (readonly [share: number, each: Each])[]): Each[] {
  return shares.flatMap(([share, each]) => Array<Each>(share).fill(each))
}

// Mulberry32: small, fast, and good enough for sample data. Returns numbers in [0, 1).
function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
