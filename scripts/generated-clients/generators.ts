// The generators that are tried: what each needs, how it makes a client of the contract, and how the session with it is run. The
// commands are those of docs/generated-clients.md.

import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { contractFile } from '../../src/paths.js'

/** A command with its arguments. */
export type Step = readonly [command: string, ...args: string[]]

/** One generator, with the folder of this one that holds its session. */
export interface Generator {
  readonly name: string
  readonly folder: string
  /** The programs that it needs in PATH. */
  readonly programs: readonly string[]
  /** Whether it needs the jar of openapi-generator. */
  readonly isOfJar: boolean
  /** What is done in a directory that begins as a copy of the folder; the last step is the session. */
  steps(jar: string): readonly Step[]
}

// Answers may gain fields, and sets of values may gain some.
const growing = 'disallowAdditionalPropertiesIfNotPresent=false'

const compileWithMaven: Step = [
  'mvn',
  ...['--batch-mode', '--quiet', 'compile', 'dependency:build-classpath', '-Dmdep.outputFile=classpath'],
]

const installPackages: Step = ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund']

// The session is compiled for its types, and run.
const inTypeScript: readonly Step[] = [
  [
    'npx',
    ...['tsc', '--noEmit', '--strict', '--target', 'es2023'],
    ...['--lib', 'es2023,dom', '--module', 'preserve', 'session.ts'],
  ],
  ['npx', 'tsx', 'session.ts'],
]

/** All of them. */
export const generators: readonly Generator[] = [
  {
    name: 'openapi-generator, go',
    folder: 'go',
    programs: ['java', 'go'],
    isOfJar: true,
    steps: (jar) => [
      [
        ...openapiGenerator(jar, 'go', 'animals'),
        ...['--template-dir', 'templates', '--model-name-mappings', 'NewPet=PetInput'],
        ...properties(growing, 'enumClassPrefix=true', 'packageName=animals', 'withGoMod=false'),
      ],
      ['go', 'run', '.'],
    ],
  },
  {
    name: 'openapi-generator, python',
    folder: 'python',
    programs: ['java', 'python3'],
    isOfJar: true,
    steps: (jar) => [
      [
        ...openapiGenerator(jar, 'python', 'client'),
        ...['--template-dir', 'templates'],
        ...properties(growing, 'enumUnknownDefaultCase=true', 'packageName=animal_store'),
      ],
      ...inEnvironment('./client'),
    ],
  },
  {
    name: 'openapi-generator, java',
    folder: 'java',
    programs: ['java', 'javac', 'mvn'],
    isOfJar: true,
    steps: (jar) => [
      [
        ...openapiGenerator(jar, 'java', '.'),
        ...['--library', 'native'],
        ...properties(growing, 'enumUnknownDefaultCase=true', 'hideGenerationTimestamp=true'),
      ],
      compileWithMaven,
      ['sh', '-c', 'java -Dfile.encoding=UTF-8 -cp "target/classes:$(cat classpath)" Session.java'],
    ],
  },
  {
    name: 'openapi-generator, kotlin',
    folder: 'kotlin',
    programs: ['java', 'mvn'],
    isOfJar: true,
    steps: (jar) => [
      [
        ...openapiGenerator(jar, 'kotlin', '.'),
        ...['--library', 'jvm-okhttp4'],
        ...properties('enumUnknownDefaultCase=true', 'serializationLibrary=jackson'),
      ],
      compileWithMaven,
      ['sh', '-c', 'java -Dfile.encoding=UTF-8 -cp "target/classes:$(cat classpath)" SessionKt'],
    ],
  },
  {
    name: 'openapi-generator, rust',
    folder: 'rust',
    programs: ['java', 'cargo'],
    isOfJar: true,
    // It adds the value for those to come, and reads none as it.
    steps: (jar) => [
      [
        ...openapiGenerator(jar, 'rust', 'client'),
        ...properties('enumUnknownDefaultCase=true', 'supportMiddleware=true', 'packageName=animals'),
      ],
      ['sh', '-c', `sed -i.bak 's/rename = "unknown_default_open_api"/other/' client/src/models/*.rs`],
      ['cargo', 'run', '--quiet'],
    ],
  },
  {
    name: 'openapi-generator, typescript-fetch',
    folder: 'typescript-fetch',
    programs: ['java', 'npm'],
    isOfJar: true,
    steps: (jar) => [
      [
        ...openapiGenerator(jar, 'typescript-fetch', 'client'),
        ...['--type-mappings', 'long=bigint', '--language-specific-primitives', 'bigint'],
      ],
      installPackages,
      ...inTypeScript,
    ],
  },
  {
    name: 'oapi-codegen',
    folder: 'oapi-codegen',
    programs: ['curl', 'oapi-codegen', 'go'],
    isOfJar: false,
    steps: () => [
      ['sh', '-c', 'mkdir animals && curl -fsS "$ORIGIN/openapi-3.0.yaml" -o openapi-3.0.yaml'],
      [
        'oapi-codegen',
        ...[
          '-generate',
          'types,client',
          '-package',
          'animals',
          '-o',
          'animals/client.go',
          'openapi-3.0.yaml',
        ],
      ],
      ['go', 'mod', 'tidy'],
      ['go', 'run', '.'],
    ],
  },
  {
    name: 'progenitor',
    folder: 'progenitor',
    programs: ['curl', 'cargo'],
    isOfJar: false,
    // It takes `default` for a good answer.
    steps: () => [
      [
        'sh',
        '-c',
        'curl -fsS "$ORIGIN/openapi-3.0.yaml" | sed "s/^ *default:$/        4XX:/" > openapi-3.0.yaml',
      ],
      ['cargo', 'run', '--quiet'],
    ],
  },
  {
    name: 'openapi-python-client',
    folder: 'openapi-python-client',
    programs: ['openapi-python-client', 'python3'],
    isOfJar: false,
    steps: () => [
      [
        'openapi-python-client',
        ...['generate', '--path', contractFile, '--output-path', 'client', '--meta', 'setup'],
        ...['--custom-template-path', 'templates'],
      ],
      ...inEnvironment('./client'),
    ],
  },
  {
    name: 'orval',
    folder: 'orval',
    programs: ['npm'],
    isOfJar: false,
    steps: () => [['cp', contractFile, 'openapi.yaml'], installPackages, ['npx', 'orval'], ...inTypeScript],
  },
  {
    name: 'hey-api',
    folder: 'hey-api',
    programs: ['npm'],
    isOfJar: false,
    steps: () => [
      ['cp', contractFile, 'openapi.yaml'],
      installPackages,
      ['npx', 'openapi-ts'],
      ...inTypeScript,
    ],
  },
]

function openapiGenerator(jar: string, generator: string, output: string): Step {
  const tests = ['--global-property', 'apiTests=false,modelTests=false,apiDocs=false,modelDocs=false']
  return ['java', '-jar', jar, 'generate', '-g', generator, '-i', contractFile, '-o', output, ...tests]
}

function properties(...each: string[]): string[] {
  return ['--additional-properties', each.join(',')]
}

// A virtual environment with a client in it, and the session there.
function inEnvironment(client: string): Step[] {
  return [
    ['python3', '-m', 'venv', 'venv'],
    ['venv/bin/pip', 'install', '--quiet', client],
    ['venv/bin/python', 'session.py'],
  ]
}

/** Why a generator cannot be tried here; nothing where it can. */
export function missing({ programs, isOfJar }: Generator, jar: string | undefined): string | undefined {
  const absent = programs.filter((program) => spawnSync(program, ['--help'], { stdio: 'ignore' }).error)
  if (absent.length > 0) return `no ${absent.join(', ')} in PATH`
  return isOfJar && jar === undefined ? 'no --jar' : undefined
}

/** The folder of a generator's session. */
export function folderOf(generator: Generator): string {
  return path.join(import.meta.dirname, generator.folder)
}
