import { globSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { PROVIDERS } from '../../../lambdas/identifiers.ts';
import { EVIDENCE_SOURCE_IDS } from '../../../lambdas/tables/evidence-sources.ts';

export const SECRET = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/berlin-Ab12Cd';

const ROOT = new URL('../../../', import.meta.url).pathname;

/** Every `fleet.yaml` that people read: the one we ship, with and without its commented examples, examples/, and the documentation. */
export function writtenFleets(): readonly (readonly [where: string, text: string])[] {
  const shipped = readFileSync(`${ROOT}fleet.yaml`, 'utf8');
  const pages = ['README.md', 'ARCHITECTURE.md', ...globSync('docs/**/*.md', { cwd: ROOT })];
  const examples = pages.flatMap((page) =>
    [...read(page).matchAll(/^```ya?ml\n(.*?)^```/gms)]
      .map(([, text = '']) => text)
      .filter((text) => /^version: 1$/m.test(text))
      .map((text, index) => [`${page}, example ${index + 1}`, text] as const),
  );
  return [
    ['fleet.yaml', shipped],
    ['fleet.yaml with its examples', uncommented(shipped)],
    ...exampleFiles(),
    ...examples,
  ];
}

/** The files of examples/. */
export function exampleFiles(): readonly (readonly [file: string, text: string])[] {
  return globSync('examples/*', { cwd: ROOT })
    .toSorted()
    .map((file) => [file, readFileSync(`${ROOT}${file}`, 'utf8')] as const);
}

function read(page: string): string {
  return globSync(page, { cwd: ROOT }).length === 0 ? '' : readFileSync(`${ROOT}${page}`, 'utf8');
}

/** Examples are comments that hold a key; an example of patterns needs its evidence, one of other accounts the place of the hub. */
function uncommented(text: string): string {
  return text
    .replaceAll(/^( +)# ( *(?:- )?[\w-]+:(?: .*)?)$/gm, '$1$2')
    .replace('evidence: [machine, ec2]', 'evidence: [machine, ec2, patterns]')
    .replace(/^# hub:\n(?:# .*\n)+/m, (section) => section.replaceAll(/^# /gm, ''));
}

const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/);
const glob = fc.stringMatching(/^[a-z0-9-]{1,20}\*?[a-z.]{0,20}$/);
const lists = <T>(items: readonly T[]) => fc.subarray([...items], { minLength: 1 });
const tags = fc.dictionary(fc.stringMatching(/^[a-z][a-z:/-]{0,127}$/), fc.stringMatching(/^[\w .:/=+@-]{0,256}$/), {
  maxKeys: 5,
  noNullPrototype: true,
});
const selection = fc.record(
  { names: fc.array(glob, { minLength: 1, maxLength: 5 }), tags: tags.filter((some) => Object.keys(some).length > 0) },
  { requiredKeys: [] },
);
const laneName = fc.constantFrom('onprem', 'frankfurt');
const lane = fc.oneof(laneName, fc.constant('default'));
const serviceCidrs = fc.constant(['10.96.0.0/12', 'fd00:96::/108']);
const uuid = fc.uuid();
const resourceId = (kind: string) => fc.stringMatching(/^[0-9a-f]{17}$/).map((id) => `${kind}-${id}`);

const discoveryEntry = (accounts: readonly string[]) =>
  fc.record(
    {
      accounts: lists(accounts),
      regions: lists(['self', 'eu-central-1', 'us-gov-west-1', 'ap-southeast-2', 'eusc-de-east-1']),
      role: fc.stringMatching(/^[\w+=,.@-]{1,64}$/),
      externalId: fc.stringMatching(/^[\w+=,.@:/-]{2,50}$/),
      sessionTags: tags.filter((some) => !Object.keys(some).some((key) => key.startsWith('aws:'))),
      include: selection,
      exclude: selection,
      lane: laneName,
    },
    { requiredKeys: ['accounts'] },
  );

const managementClusters = fc.uniqueArray(
  fc.record(
    {
      name: name.map((text) => `m${text}`.slice(0, 100)),
      kubeconfigSecret: fc.constant(SECRET),
      authenticatorId: uuid,
      lane,
      serviceCidrs,
      workloadClusters: fc.record(
        {
          exclude: fc.constant({ names: ['-*'] }),
          kubeconfigSecrets: fc.dictionary(name, fc.constant(SECRET), { maxKeys: 3, noNullPrototype: true }),
          eksAnywhereNamespaces: fc.dictionary(name, fc.constant('default'), { maxKeys: 3, noNullPrototype: true }),
          kubeconfigsFromManagementCluster: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['name', 'kubeconfigSecret', 'serviceCidrs'] },
  ),
  { selector: (cluster) => cluster.name, maxLength: 3 },
);

const laneEntry = (laneOf: string) =>
  fc.record({
    name: fc.constant(laneOf),
    vpcId: resourceId('vpc'),
    subnetIds: fc.uniqueArray(resourceId('subnet'), { minLength: 1, maxLength: 16 }),
    securityGroupIds: fc.uniqueArray(resourceId('sg'), { minLength: 1, maxLength: 5 }),
  });

/** A valid file, as the data that its YAML would mean. */
const severity = fc.constantFrom('critical', 'warning', 'off');
const clock = fc.integer({ min: 0, max: 1_439 }).map((minutes) => {
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
});

export const validFleet = fc.record(
  {
    version: fc.constant(1),
    discovery: fc.tuple(discoveryEntry(['self', '111122223333']), discoveryEntry(['012345678901'])),
    managementClusters,
    clusters: fc.uniqueArray(
      fc.record(
        {
          name,
          id: name.map((text) => `c${text}`.slice(0, 100)),
          provider: fc.constantFrom(...PROVIDERS),
          kubeconfigSecret: fc.constant(SECRET),
          authenticatorId: uuid,
          managementKubeconfigSecret: fc.constant(SECRET),
          serviceCidrs,
          lane,
        },
        { requiredKeys: ['name', 'id', 'provider', 'kubeconfigSecret', 'serviceCidrs'] },
      ),
      { selector: (cluster) => cluster.id, maxLength: 5 },
    ),
    lanes: fc.tuple(laneEntry('onprem'), laneEntry('frankfurt')),
    hub: fc.record(
      {
        account: fc.constant('999988887777'),
        region: fc.constant('eu-central-1'),
        kmsKeyArn: uuid.map((id) => `arn:aws:kms:eu-central-1:111122223333:key/${id}`),
        reservedConcurrency: fc.integer({ min: 1, max: 1000 }),
        webhook: fc.boolean(),
      },
      { requiredKeys: ['account', 'region'] },
    ),
    monitoring: fc.record(
      {
        alarms: fc.record(
          {
            ClusterUnreadable: fc.record(
              { threshold: fc.integer({ min: 2, max: 10_080 }).map((minutes) => `${minutes}m`), severity },
              { requiredKeys: [] },
            ),
            RequestsStuck: fc.record({ threshold: fc.integer({ min: 1, max: 1_000_000 }), severity }),
            SweepTimeout: fc.record({ threshold: fc.constantFrom(0.1, 0.5, 0.99) }),
            PlanHeartbeat: fc.record({ severity }),
          },
          { requiredKeys: [] },
        ),
        maintenance: fc.array(
          fc.record({
            clusters: fc.array(glob, { minLength: 1, maxLength: 3 }),
            weekly: fc.record({
              days: lists(['mon', 'sat', 'sun']),
              from: clock,
              until: clock,
              timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires'),
            }),
          }),
          { maxLength: 3 },
        ),
        objective: fc.constantFrom(0.95, 0.99, 0.9999),
        subscribe: fc.record(
          {
            critical: fc.constant(['oncall@example.com']),
            pager: fc.constant(['https://events.pagerduty.com/integration/KEY/enqueue', 'team@example.com']),
          },
          { requiredKeys: [] },
        ),
        reportLinks: fc.boolean(),
        dashboard: fc.boolean(),
        runbooks: fc.constantFrom('https://git.example.com/runbooks', 'https://wiki.example.com:8443/a/b'),
      },
      { requiredKeys: [] },
    ),
    rollouts: fc.record(
      {
        atOnce: fc.integer({ min: 1, max: 10 }),
        pause: fc.integer({ min: 10, max: 10_000 }).map((minutes) => `${minutes}m`),
        clusters: fc.tuple(
          fc.record(
            {
              clusters: fc.constant(['berlin-*', 'mgmt/ns/*']),
              begin: fc.oneof(fc.constant('45d'), fc.record({ days: fc.integer({ min: 30, max: 300 }) })),
              stop: fc.oneof(
                fc.constant('7d'),
                fc.record({ days: fc.integer({ min: 7, max: 29 }), share: fc.constantFrom(0.01, 0.2) }),
              ),
              windows: fc.array(
                fc.oneof(
                  fc.record({
                    days: lists(['mon', 'sat', 'sun']),
                    from: clock,
                    until: clock,
                    timeZone: fc.constantFrom('UTC', 'Europe/Berlin'),
                  }),
                  fc.constant({ from: '2026-12-05T20:00:00+01:00', until: '2026-12-06T20:00:00Z' }),
                ),
                { minLength: 1, maxLength: 3 },
              ),
              etcd: fc.constantFrom('assist', 'auto-experimental'),
              accepted: fc.subarray(['single-replica', 'no-surge', 'spare-capacity', 'etcd-backup']),
            },
            { requiredKeys: ['clusters'] },
          ),
        ),
      },
      { requiredKeys: [] },
    ),
    recovery: fc.tuple(
      fc.record(
        {
          cluster: name,
          until: fc.constant('2026-12-05T20:00:00+01:00'),
          pin: fc.constant('authority'),
          expiredAtMost: fc.constantFrom('1s', '90d', '366d'),
          nodes: fc.constant(['cp-1', 'cp-2']),
        },
        { requiredKeys: ['cluster', 'until', 'pin'] },
      ),
    ),
    journal: fc.record(
      {
        objectLock: fc.record({
          mode: fc.constantFrom('governance', 'compliance'),
          days: fc.integer({ min: 1, max: 3_650 }),
        }),
      },
      { requiredKeys: [] },
    ),
    policies: fc.uniqueArray(
      fc.record(
        {
          name,
          clusters: fc.array(glob, { minLength: 1, maxLength: 5 }),
          providers: lists(PROVIDERS),
          signers: fc.constant(['kubernetes.io/kubelet-serving']),
          evidence: lists(EVIDENCE_SOURCE_IDS.filter((source) => source !== 'patterns' && source !== 'hybrid')),
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
  { requiredKeys: ['version', 'lanes', 'hub'] },
);
