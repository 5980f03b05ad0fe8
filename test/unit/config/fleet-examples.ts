import { globSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { EVIDENCE_SOURCES, PROVIDERS } from '../../../lambdas/approval/policy.ts';

export const SECRET = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/berlin-Ab12Cd';

const ROOT = new URL('../../../', import.meta.url).pathname;

/** Every `fleet.yaml` that people read: the one we ship, with and without its commented examples, and those of the documentation. */
export function writtenFleets(): readonly (readonly [where: string, text: string])[] {
  const shipped = readFileSync(`${ROOT}fleet.yaml`, 'utf8');
  const pages = ['README.md', 'ARCHITECTURE.md', ...globSync('docs/**/*.md', { cwd: ROOT })];
  const examples = pages.flatMap((page) =>
    [...read(page).matchAll(/^```ya?ml\n(.*?)^```/gms)]
      .map(([, text = '']) => text)
      .filter((text) => /^version: 1$/m.test(text))
      .map((text, index) => [`${page}, example ${index + 1}`, text] as const),
  );
  return [['fleet.yaml', shipped], ['fleet.yaml with its examples', uncommented(shipped)], ...examples];
}

function read(page: string): string {
  return globSync(page, { cwd: ROOT }).length === 0 ? '' : readFileSync(`${ROOT}${page}`, 'utf8');
}

/** Examples are comments that hold a key; an example of patterns needs its evidence. */
function uncommented(text: string): string {
  return text
    .replaceAll(/^( +)# ( *(?:- )?\w+:(?: .*)?)$/gm, '$1$2')
    .replace('evidence: [machine, ec2]', 'evidence: [machine, ec2, patterns]');
}

const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/);
const lists = <T>(items: readonly T[]) => fc.subarray([...items], { minLength: 1 });

/** A valid file, as the data that its YAML would mean. */
export const validFleet = fc.record(
  {
    version: fc.constant(1),
    clusters: fc.uniqueArray(
      fc.record(
        {
          name,
          provider: fc.constantFrom(...PROVIDERS),
          kubeconfigSecret: fc.constant(SECRET),
          managementKubeconfigSecret: fc.constant(SECRET),
          serviceCidrs: fc.constant(['10.96.0.0/12', 'fd00:96::/108']),
        },
        { requiredKeys: ['name', 'provider', 'kubeconfigSecret', 'serviceCidrs'] },
      ),
      { selector: (cluster) => cluster.name, maxLength: 5 },
    ),
    policies: fc.uniqueArray(
      fc.record(
        {
          name,
          clusters: fc.array(fc.stringMatching(/^[a-z0-9-]{1,20}\*?[a-z.]{0,20}$/), { minLength: 1, maxLength: 5 }),
          providers: lists(PROVIDERS),
          signers: fc.constant(['kubernetes.io/kubelet-serving']),
          evidence: lists(EVIDENCE_SOURCES.filter((source) => source !== 'patterns')),
          keys: fc.record(
            {
              ecdsaCurves: fc.subarray(['P-256', 'P-384', 'P-521']),
              rsaMinBits: fc.integer({ min: 2048, max: 16_384 }),
              ed25519: fc.boolean(),
              mlDsa: fc.boolean(),
            },
            { requiredKeys: [] },
          ),
          maxExpiration: fc.integer({ min: 1, max: 400 }).map((days) => `${days}d`),
          age: fc.record(
            {
              min: fc.integer({ min: 0, max: 299 }).map((seconds) => `${seconds}s`),
              max: fc.integer({ min: 5, max: 15 }).map((minutes) => `${minutes}m`),
            },
            { requiredKeys: [] },
          ),
          mode: fc.constantFrom('enforce', 'observe'),
          onHostile: fc.constantFrom('leave', 'deny'),
        },
        { requiredKeys: ['name'] },
      ),
      { minLength: 1, selector: (policy) => policy.name, maxLength: 5 },
    ),
  },
  { requiredKeys: ['version'] },
);
