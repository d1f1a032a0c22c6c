// The generators: the tools each needs, and the commands that generate a client and run its session. The
// commands are those of README.md.

import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { contractFile, projectRoot } from 'contract-service/internal/lib/paths'

/** A command with its arguments. */
export type Step = readonly [command: string, ...args: string[]]

/** A generator. Its session is in the folder of its name, for openapi-generator of that after the comma. */
export interface Generator {
  readonly name: string
  /** The programs it needs in PATH. Those that need `java` need the jar of openapi-generator, too. */
  readonly programs: readonly string[]
  /** The commands to run in a copy of the folder; the last one is the session. */
  steps(jar: string): readonly Step[]
}

const page = path.join(projectRoot, 'scripts/comparisons/generated-clients/README.md')

// Allows new fields in responses.
const allowNewFields = 'disallowAdditionalPropertiesIfNotPresent=false'

const installPackages: Step = ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund']

// Type-checks the session and runs it.
const runTypeScript: readonly Step[] = [
  [
    'npx',
    ...['tsc', '--noEmit', '--strict', '--target', 'es2023'],
    ...['--lib', 'es2023,dom', '--module', 'preserve', 'session.ts'],
  ],
  ['npx', 'tsx', 'session.ts'],
]

// Installs the client in a virtual environment and runs the session there.
const runInEnvironment: readonly Step[] = [
  ['python3', '-m', 'venv', 'venv'],
  ['venv/bin/pip', 'install', '--quiet', './client'],
  ['venv/bin/python', 'session.py'],
]

export const generators: readonly Generator[] = [
  openapiGenerator('go', ['go'], {
    output: 'animals',
    options: [
      ...['--template-dir', 'templates', '--model-name-mappings', 'NewPet=PetInput'],
      ...properties(allowNewFields, 'enumClassPrefix=true', 'packageName=animals', 'withGoMod=false'),
    ],
    next: [['go', 'run', '.']],
  }),
  openapiGenerator('python', ['python3'], {
    output: 'client',
    options: [
      ...['--template-dir', 'templates'],
      ...properties(allowNewFields, 'enumUnknownDefaultCase=true', 'packageName=animal_store'),
    ],
    next: runInEnvironment,
  }),
  openapiGenerator('java', ['javac', 'mvn'], {
    output: '.',
    options: [
      ...['--library', 'native'],
      ...properties(allowNewFields, 'enumUnknownDefaultCase=true', 'hideGenerationTimestamp=true'),
    ],
    next: runWithMaven('Session.java'),
  }),
  openapiGenerator('kotlin', ['mvn'], {
    output: '.',
    options: [
      ...['--library', 'jvm-okhttp4'],
      ...properties('enumUnknownDefaultCase=true', 'serializationLibrary=jackson'),
    ],
    next: runWithMaven('SessionKt'),
  }),
  // The clients of Ruby and PHP refuse unknown values of an enum: sed has them returned.
  openapiGenerator('ruby', ['ruby'], {
    output: 'client',
    options: properties('gemName=animals', 'moduleName=Animals'),
    next: [
      shell(`sed -i.bak 's/raise "Invalid ENUM value.*/value/' client/lib/animals/models/*.rb`),
      ['ruby', 'session.rb'],
    ],
  }),
  openapiGenerator('php', ['php'], {
    output: 'client',
    options: properties('invokerPackage=Animals'),
    next: [
      shell(
        `sed -i.bak 's/throw .*"Invalid value for enum.*/return $data;/' client/lib/ObjectSerializer.php`,
      ),
      ['php', 'session.php'],
    ],
  }),
  openapiGenerator('rust', ['cargo'], {
    output: 'client',
    options: properties('enumUnknownDefaultCase=true', 'supportMiddleware=true', 'packageName=animals'),
    // The generator adds a value for unknown ones, but does not map them to it: sed does.
    next: [
      ['sh', '-c', `sed -i.bak 's/rename = "unknown_default_open_api"/other/' client/src/models/*.rs`],
      ['cargo', 'run', '--quiet'],
    ],
  }),
  openapiGenerator('typescript-fetch', ['npm'], {
    output: 'client',
    options: ['--type-mappings', 'long=bigint', '--language-specific-primitives', 'bigint'],
    next: [installPackages, ...runTypeScript],
  }),
  {
    name: 'oapi-codegen',
    programs: ['curl', 'oapi-codegen', 'go'],
    steps: () => [
      ['sh', '-c', 'mkdir animals && curl -fsS "$ORIGIN/openapi-3.0.yaml" -o openapi-3.0.yaml'],
      [
        'oapi-codegen',
        ...['-generate', 'types,client', '-package', 'animals'],
        ...['-o', 'animals/client.go', 'openapi-3.0.yaml'],
      ],
      ['go', 'mod', 'tidy'],
      ['go', 'run', '.'],
    ],
  },
  {
    name: 'progenitor',
    programs: ['curl', 'cargo'],
    // progenitor treats `default` as a success.
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
    programs: ['openapi-python-client', 'python3'],
    steps: () => [
      [
        'openapi-python-client',
        ...['generate', '--path', contractFile, '--output-path', 'client', '--meta', 'setup'],
        ...['--custom-template-path', 'templates'],
      ],
      ...runInEnvironment,
    ],
  },
  {
    name: 'orval',
    programs: ['npm'],
    steps: () => [['cp', contractFile, 'openapi.yaml'], installPackages, ['npx', 'orval'], ...runTypeScript],
  },
  {
    name: 'hey-api',
    programs: ['npm'],
    steps: () => [
      ['cp', contractFile, 'openapi.yaml'],
      installPackages,
      ['npx', 'openapi-ts'],
      ...runTypeScript,
    ],
  },
  {
    name: 'fastmcp',
    programs: ['python3'],
    steps: () => [
      ['python3', '-m', 'venv', 'venv'],
      ['venv/bin/pip', 'install', '--quiet', 'fastmcp==4.2.3'],
      ['venv/bin/python', 'session.py'],
    ],
  },
  {
    name: 'streams-npm',
    programs: ['npm'],
    steps: () => [installPackages, ['npx', 'openapi-ts'], ['npx', 'orval'], ['npx', 'tsx', 'session.ts']],
  },
  {
    name: 'streams-go',
    programs: ['go'],
    steps: () => [
      [
        'cp',
        path.join(projectRoot, 'scripts/comparisons/generated-clients/streams-npm/streams.yaml'),
        'streams.yaml',
      ],
      ['mkdir', 'toys'],
      [
        'go',
        ...['run', 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'],
        ...['-generate', 'types,client', '-package', 'toys', '-o', 'toys/client.go', 'streams.yaml'],
      ],
      [
        'go',
        ...['run', 'github.com/ogen-go/ogen/cmd/ogen@v1.24.0', '--config', 'ogen.yml'],
        ...['--target', 'ogen', '--package', 'ogen', 'streams.yaml'],
      ],
      ['go', 'get', 'github.com/ogen-go/ogen@v1.24.0'],
      ['go', 'mod', 'tidy'],
      ['go', 'run', '.'],
    ],
  },
  {
    name: 'merge-patch',
    programs: ['npm', 'python3'],
    steps: () => [
      installPackages,
      ['python3', '-m', 'venv', 'venv'],
      ['venv/bin/pip', 'install', '--quiet', '-r', 'requirements.txt'],
      ['node', 'session.mjs', page],
    ],
  },
  // Not of clients, but of the helpers that callers put around theirs.
  {
    name: 'helpers-npm',
    programs: ['npm'],
    steps: () => [installPackages, ['node', 'session.mjs', page]],
  },
  {
    name: 'helpers-python',
    programs: ['python3'],
    steps: () => [
      ['python3', '-m', 'venv', 'venv'],
      ['venv/bin/pip', 'install', '--quiet', '-r', 'requirements.txt'],
      ['venv/bin/python', 'session.py', page],
    ],
  },
  {
    name: 'helpers-go',
    programs: ['go'],
    steps: () => [
      ['go', 'mod', 'tidy'],
      ['go', 'run', '.', page],
    ],
  },
  {
    name: 'openapi-mcp-generator',
    programs: ['curl', 'npm', 'sed'],
    steps: () => [
      installPackages,
      shell('curl -fsS "$ORIGIN/openapi.json" -o openapi.json'),
      shell('npx openapi-mcp-generator --input openapi.json --output plain --base-url "$URL"'),
      // The tools get int64 as text: they read their arguments with JSON.parse.
      shell(
        `sed 's/"type":"integer","format":"int64"/"type":"string","format":"int64"/g' openapi.json > text.json`,
      ),
      shell('npx openapi-mcp-generator --input text.json --output exact --base-url "$URL" --custom-auth'),
      ['cp', 'exact.ts', 'exact/src/auth.ts'],
      ...runTypeScript,
    ],
  },
]

function shell(command: string): Step {
  return ['sh', '-c', command]
}

interface Generation {
  readonly output: string
  readonly options: readonly string[]
  /** The steps after the generation. */
  readonly next: readonly Step[]
}

function openapiGenerator(
  folder: string,
  programs: readonly string[],
  { output, options, next }: Generation,
): Generator {
  const tests = ['--global-property', 'apiTests=false,modelTests=false,apiDocs=false,modelDocs=false']
  const settings = ['-g', folder, '-i', contractFile, '-o', output, ...tests, ...options]
  return {
    name: `openapi-generator, ${folder}`,
    programs: ['java', ...programs],
    steps: (jar) => [['java', '-jar', jar, 'generate', ...settings], ...next],
  }
}

function properties(...each: string[]): string[] {
  return ['--additional-properties', each.join(',')]
}

function runWithMaven(main: string): Step[] {
  return [
    [
      'mvn',
      ...['--batch-mode', '--quiet', 'compile', 'dependency:build-classpath', '-Dmdep.outputFile=classpath'],
    ],
    ['sh', '-c', `java -Dfile.encoding=UTF-8 -cp "target/classes:$(cat classpath)" ${main}`],
  ]
}

/** Returns what a generator lacks here, or undefined. */
export function missing({ programs }: Generator, jar: string | undefined): string | undefined {
  const absent = programs.filter((program) => spawnSync(program, ['--help'], { stdio: 'ignore' }).error)
  if (absent.length > 0) return `no ${absent.join(', ')} in PATH`
  return programs.includes('java') && jar === undefined ? 'no --jar' : undefined
}

/** Returns the folder of a generator's session. */
export function folderOf({ name }: Generator): string {
  return path.join(
    projectRoot,
    'scripts/comparisons/generated-clients',
    name.replace('openapi-generator, ', ''),
  )
}
