// Realistic sample animals: common names, breeds that match their category, frequent and rare categories.
// PostgreSQL picks them from these lists. The same seed gives the same animals.

import type { Sql } from 'contract-service/command'
import type { PetStatus } from '../../../generated/types.js'

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
const percentOfShortNames = 30

// Each entry repeated by its percentage, so a uniform choice follows the percentages.
const categoryIds = spread(categories.map(([share], index) => [share, index + 1]))
const breeds = categories.map(([, names]) => names)
const breedCounts = breeds.map((names) => names.split(',').length)
const states = spread(statuses)

/**
 * Adds the animals with these numbers, in order. A hash of the seed and the animal's number makes all of its
 * choices. Unlike random(), the hash is the same in all versions of PostgreSQL, and for any division of the
 * animals among statements.
 */
export async function insertAnimals(sql: Sql, seed: number, from: number, to: number): Promise<void> {
  await sql`
    insert into pets (name, category_id, status)
    select
      given || case when hash % 100 < ${percentOfShortNames} then '' else ' the ' || breed end,
      category_id,
      (${states}::text[])[1 + hash / 100 % 100]
    from generate_series(${from}::bigint, ${to}::bigint) as number
    cross join lateral (
      select hashint8extended(number, ${seed}::bigint) & ${2n ** 63n - 1n}::bigint as hash) as hashed
    cross join lateral (
      select (${givenNames}::text[])[1 + hash / 10000 % ${givenNames.length}] as given,
        (${categoryIds}::int[])[1 + hash / 10000000 % 100] as category_id) as chosen
    cross join lateral (
      select split_part((${breeds}::text[])[category_id], ',', (1 + hash / 1000000000
        % (${breedCounts}::int[])[category_id])::int) as breed) as named`
}

function spread<Each>(shares: readonly (readonly [share: number, each: Each])[]): Each[] {
  return shares.flatMap(([share, each]) => Array<Each>(share).fill(each))
}
