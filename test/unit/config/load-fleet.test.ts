import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type ApprovalPolicy, DEFAULT_POLICY, everywhere } from '../../../lambdas/approval/policy.ts';
import { DEFAULT_AUDIT, DEFAULT_FLEET, DEFAULT_ROLLOUTS } from '../../../lambdas/config/fleet.ts';
import { FleetConfigError, parseFleet } from '../../../lambdas/config/load-fleet.ts';
import { DEFAULT_ROLLOUT_POLICY } from '../../../lambdas/rollout/policy.ts';
import { runs } from '../../runs.ts';
import { SECRET, validFleet } from './fleet-examples.ts';
import { fleet, problemsOf, refuses, refusesIn } from './parsing.ts';

const KEY = 'arn:aws:kms:eu-central-1:111122223333:key/6f1d0c5a-3b2e-4d7c-9a41-5e8f2b6c7d80';
const SHIPPED = readFileSync(new URL('../../../fleet.yaml', import.meta.url), 'utf8');

function policy(text: string): ApprovalPolicy | undefined {
  return fleet(`version: 1\npolicies:\n  - ${text}`).policies[0];
}

const DAY_MS = 86_400_000;
/** What an entry of discovery has that says nothing else. */
const FOUND = { role: 'certmarshal-spoke', sessionTags: {}, include: {}, exclude: { names: [] }, accessEntries: [] };
const AUTHORITY = {
  warning: { share: 0.1, floorMs: 365 * DAY_MS },
  critical: { share: 0.05, floorMs: 90 * DAY_MS },
};

describe('parseFleet', () => {
  it.each([
    ['nothing but a version', 'version: 1'],
    [
      'empty sections',
      'version: 1\ndiscovery:\nmanagementClusters:\nclusters:\nlanes:\nhub:\npolicies:\n  # none yet\n',
    ],
    ['an empty list of clusters', 'version: 1\nclusters: []\n'],
    ['an empty policy', 'version: 1\npolicies: [{}]\n'],
  ])('means the default policy by %s', (_, text) => {
    expect(fleet(text)).toEqual(DEFAULT_FLEET);
  });

  it('means the EKS clusters of the own account and Region by the file we ship, and writes nothing yet', () => {
    expect(fleet(SHIPPED)).toEqual({
      ...DEFAULT_FLEET,
      discovery: [{ ...FOUND, accounts: ['self'], regions: ['self'] }],
      policies: [{ ...DEFAULT_POLICY, mode: everywhere('observe') }],
    });
  });

  it('looks for workload clusters where EKS Anywhere keeps them, unless the file says where', () => {
    const { managementClusters } = fleet(
      `version: 1\nmanagementClusters:\n  - { name: m, kubeconfigSecret: '${SECRET}' }\n`,
    );
    expect(managementClusters[0]?.workloadClusters.namespaces).toEqual(['eksa-system']);
    expect(managementClusters[0]?.namespace).toBe('eksa-system');
    expect(managementClusters[0]?.workloadClusters.exclude).toEqual({ names: [] });
  });

  it.each(['A', 'a/b', '..', '""', 'x'.repeat(64), '7', '[a]'])('takes %s for no namespace', (namespace) => {
    const entry = `{ name: a, provider: eks-anywhere, kubeconfigSecret: '${SECRET}', namespace: ${namespace} }`;
    const read = parseFleet(`version: 1\nclusters:\n  - ${entry}\n`, 'fleet.yaml');
    expect(read.ok).toBe(false);
    expect(JSON.stringify(read)).toContain('clusters[0].namespace: ');
  });

  it('reads every key', () => {
    const text = `
version: 1
discovery:
  - accounts: [self]
    regions: [us-gov-west-1]
    accessEntries: [dublin-prod]
    auditSecrets: true
  - accounts: [self, '011122223333']
    regions: [eu-central-1, us-gov-east-1]
    role: sweeper
    externalId: id:1/2
    sessionTags: { team: platform }
    include: { names: ['*-prod'], tags: { certmarshal: 'true', empty: '' } }
    exclude: { tags: { 'aws:cloudformation:stack-name': old } }
    lane: onprem
managementClusters:
  - name: berlin-mgmt
    namespace: platform
    kubeconfigSecret: ${SECRET}
    authenticatorId: 0f5b1f0a-7d3c-4e0b-9a53-2f6f0c1d2e3a
    lane: onprem
    serviceCidrs: [10.96.0.0/12]
    eksAnywhereNamespace: platform
    kubeletMetrics: true
    workloadClusters:
      namespaces: [eksa-system, team-a]
      include: { names: [berlin-*] }
      exclude: { names: ['*-test'] }
      kubeconfigSecrets: { berlin-prod: ${SECRET} }
      eksAnywhereNamespaces: { berlin-prod: team-b }
      kubeconfigsFromManagementCluster: true
lanes:
  - name: onprem
    vpcId: vpc-0a1b2c3d
    subnetIds: [subnet-0a1b2c3d4e5f60718]
    securityGroupIds: [sg-0a1b2c3d]
    handshakes: false
hub: { account: '999988887777', region: eu-central-1, kmsKeyArn: ${KEY}, reservedConcurrency: 20, architecture: x86_64, webhook: true }
clusters:
  - name: berlin-prod
    id: berlin-prod-2
    provider: eks-anywhere
    kubeconfigSecret: ${SECRET}
    authenticatorId: 1A5B1F0A-7d3c-4e0b-9a53-2f6f0c1d2e3a
    managementKubeconfigSecret: &management ${SECRET}
    namespace: team-a
    serviceCidrs: [10.96.0.0/12, "fd00:96::/108"]
    lane: onprem
  - { name: dublin, provider: eks, kubeconfigSecret: *management, auditSecrets: true, kubeletMetrics: false }
audit:
  every: 2h
  thresholds:
    - { warning: { share: 0.3, floor: 30d }, critical: { share: 0.1 } }
    - { classes: [cluster-ca, etcd-ca], warning: { share: 0.1, floor: 365d }, critical: { share: 0.05, floor: 90d } }
monitoring:
  alarms:
    ClusterUnreadable: { threshold: 20m, severity: warning }
    OldestSweep: { threshold: 10m }
    SweepTimeout: { threshold: 0.5 }
    PlanHeartbeat: { severity: off }
  maintenance:
    - { clusters: ['berlin-*', mgmt/ns/*], reason: disks, from: 2026-12-05T20:00:00+01:00, until: 2026-12-05T20:00:00Z }
    - { clusters: [dublin], weekly: { days: [sat, sun], from: 22:00, until: 02:00, timeZone: Europe/Berlin } }
  objective: 0.99
  daily: { at: 08:30, timeZone: Europe/Dublin }
  subscribe: { critical: [oncall@example.com] }
  reportLinks: false
  dashboard: false
journal:
  objectLock: { mode: compliance, days: 30 }
rollouts:
  clusters: [{ clusters: [berlin-*] }]
recovery:
  - { cluster: dublin, until: 2026-12-05T20:00:00Z, pin: authority }
policies:
  - name: strict
    clusters: [berlin-*, dublin]
    providers: [eks-anywhere]
    signers: [kubernetes.io/kubelet-serving]
    evidence: [machine, patterns]
    patterns: { cidrs: [10.0.0.0/16], dnsNames: ["{node}.corp.example.com"] }
    keys: { ecdsaCurves: [P-256], rsaMinBits: 3072, ed25519: false, mlDsa: false }
    maxExpiration: 30d
    age: { min: 30s, max: 10m }
    mode: observe
    onHostile: deny
`;
    const { version: _, ...written } = parse(text);
    expect(fleet(text)).toEqual({
      ...written,
      discovery: written.discovery.map((entry: object) => ({ ...FOUND, ...entry })),
      clusters: written.clusters.map((cluster: { name: string }) => ({
        id: cluster.name,
        namespace: 'eksa-system',
        lane: 'default',
        ...cluster,
      })),
      audit: {
        everyMinutes: 120,
        thresholds: {
          default: { warning: { share: 0.3, floorMs: 30 * DAY_MS }, critical: { share: 0.1, floorMs: 0 } },
          classes: { ...DEFAULT_AUDIT.thresholds.classes, 'cluster-ca': AUTHORITY, 'etcd-ca': AUTHORITY },
        },
        accept: [],
      },
      monitoring: {
        ...written.monitoring,
        auditEveryMinutes: 120,
        alarms: {
          ClusterUnreadable: { threshold: 1_200, severity: 'warning' },
          OldestSweep: { threshold: 600, severity: 'critical' },
          SweepTimeout: { threshold: 0.5, severity: 'warning' },
          PlanHeartbeat: { threshold: 1, severity: 'off' },
        },
        maintenance: [
          {
            clusters: ['berlin-*', 'mgmt/ns/*'],
            reason: 'disks',
            when: { from: '2026-12-05T20:00:00+01:00', until: '2026-12-05T20:00:00Z' },
          },
          { clusters: ['dublin'], when: written.monitoring.maintenance[1].weekly },
        ],
      },
      rollouts: { ...DEFAULT_ROLLOUTS, clusters: [{ ...DEFAULT_ROLLOUT_POLICY, clusters: ['berlin-*'] }] },
      recovery: [{ cluster: 'dublin', until: '2026-12-05T20:00:00Z', server: { pin: 'authority' } }],
      policies: [
        {
          ...written.policies[0],
          maxExpiration: undefined,
          maxExpirationSeconds: 2_592_000,
          age: { eks: { minSeconds: 30, maxSeconds: 600 }, 'eks-anywhere': { minSeconds: 30, maxSeconds: 600 } },
          mode: everywhere('observe'),
        },
      ],
    });
  });

  it('keeps the defaults beside what a policy says', () => {
    expect(policy('name: x')).toEqual({ ...DEFAULT_POLICY, name: 'x' });
    expect(policy('keys: { ed25519: false }')?.keys).toEqual({ ...DEFAULT_POLICY.keys, ed25519: false });
    expect(policy('age: { max: 10m }')?.age).toEqual({
      eks: { minSeconds: 120, maxSeconds: 600 },
      'eks-anywhere': { minSeconds: 0, maxSeconds: 600 },
    });
    expect(policy('age: { min: 3m }')?.age).toEqual({
      eks: { minSeconds: 180, maxSeconds: 900 },
      'eks-anywhere': { minSeconds: 180, maxSeconds: 900 },
    });
  });

  it('measures the age window against the providers of the policy only', () => {
    const window = policy('{ providers: [eks-anywhere], age: { max: 1m } }')?.age['eks-anywhere'];
    expect(window).toEqual({ minSeconds: 0, maxSeconds: 60 });
  });

  it('gives plain data that survives JSON', () => {
    fc.assert(
      fc.property(validFleet, (file) => {
        const read = fleet(JSON.stringify(file));
        expect(JSON.parse(JSON.stringify(read))).toEqual(read);
      }),
      { seed: 5 },
    );
  });
});

const C = `version: 1\nclusters:\n  - name: a\n    provider: eks\n    kubeconfigSecret: ${SECRET}\n    `;
const P = 'version: 1\npolicies:\n  - ';
const SECRET_REMEDY =
  'write the complete ARN of a Secrets Manager secret, as "aws secretsmanager describe-secret" prints it, with the six characters at its end';
const NAME_REMEDY = 'use at most 100 letters, digits, "-", "_" and ".", and start with a letter or digit';
const GLOB_REMEDY = 'use letters, digits, "-", "_", "." and at most four "*", which stands for any characters';
const DURATION_FORM = 'a whole number and a unit, for example 90s, 15m, 2h or 366d';
const POLICY_KEYS = 'name, clusters, providers, signers, evidence, patterns, keys, maxExpiration, age, mode, onHostile';

describe('parseFleet', () => {
  refuses([
    ['', '1:1: the file is empty; begin it with "version: 1"'],
    ['# fleet\n', '1:1: the file is empty; begin it with "version: 1"'],
    ['- a\n', '1:1: the file is a list; begin it with "version: 1"'],
    ['hello', '1:1: the file is text; begin it with "version: 1"'],
    ['clusters: []\n', '1:1: version: missing; write 1'],
    ['version: 2\n', '1:10: version: write 1, not 2'],
    ['version: "1"\n', '1:10: version: write 1, not text'],
    ['version: 1\ncluster: []\n', '2:1: cluster: unknown key; did you mean "clusters"?'],
    [`${P}mode: observe\n    mode: enforce`, '4:5: key "mode" appears twice; keep one of the two'],
    ['version: 1\nclusters: [\n', '2:11: this "[" is not closed; add "]"'],
    ['version: 1\nclusters: [berlin]', '2:12: clusters[0]: write a section with keys, not text'],
    [C.replace('name: a', 'name: a b'), `3:11: clusters[0].name: "a b" cannot name a cluster; ${NAME_REMEDY}`],
    [
      C.replace('name: a', 'name: "\\e[31m"'),
      `3:11: clusters[0].name: "\\u{1b}[31m" cannot name a cluster; ${NAME_REMEDY}`,
    ],
    [C.replace('name: a', 'name: 7'), '3:11: clusters[0].name: write the name of the cluster, not 7'],
    [
      C.replace('eks', 'eksanywhere'),
      '4:15: clusters[0].provider: "eksanywhere" is not known here; did you mean "eks-anywhere"?',
    ],
    [C.replace('eks', 'gke'), '4:15: clusters[0].provider: "gke" is not known here; write one of eks, eks-anywhere'],
    [C.replace('    provider: eks\n', ''), '3:5: clusters[0].provider: missing; write one of eks, eks-anywhere'],
    [
      'version: 1\nclusters:\n  - { name: a, provider: eks }',
      `3:5: clusters[0].kubeconfigSecret: missing; ${SECRET_REMEDY}; an EKS cluster needs none: list its account and Region under discovery instead, and its name under include.names`,
    ],
    [C.replace('-Ab12Cd', ''), `5:23: clusters[0].kubeconfigSecret: ${SECRET_REMEDY}`],
    [
      C.replace(SECRET, '{ token: hunter2 }'),
      '5:5: clusters[0].kubeconfigSecret: this is a section, maybe the kubeconfig itself; anyone who sees this file has its credentials, so revoke them, make new ones, and store it with certmarshal credentials create --store secretsmanager:NAME --yes',
    ],
    [C.replace(SECRET, 'hunter2'), `5:23: clusters[0].kubeconfigSecret: ${SECRET_REMEDY}`],
    [
      'version: 1\npolicies: [{ name: a }, { name: a }]',
      '2:33: policies[1].name: "a" is the name of policies[0] too; give each its own name',
    ],
    [
      'version: 1\npolicies:\n  - {}\n  - {}',
      '4:5: policies[1].name: "default" is the name of policies[0] too; give each its own name',
    ],
    [
      'version: 1\npolicies: []\n',
      '2:1: policies: an empty list; remove it for the built-in policy, or write a policy with mode: observe to approve nothing',
    ],
    [
      `${C}\npolicies:\n  - evidence: [machine, node]\n  - { name: b, evidence: [node], clusters: [b*] }\n  - { name: c, evidence: [node], providers: [eks-anywhere] }`,
      '8:25: policies[0].evidence[1]: trusts what a node reports about itself, which may be the address of a Service; write serviceCidrs at a',
    ],
  ]);

  refusesIn((text) => P + text, 'policies[0].', [
    ['timeout: 5s', `3:5: timeout: unknown key; known here: ${POLICY_KEYS}`],
    ['keys: { ed2551: true }', '3:13: keys.ed2551: unknown key; did you mean "ed25519"?'],
    ['<<: { mode: observe }', `3:5: <<: unknown key; known here: ${POLICY_KEYS}`],
    ['__proto__: 1', `3:5: __proto__: unknown key; known here: ${POLICY_KEYS}`],
    ['clusters: ["a?"]', `3:16: clusters[0]: "a?" is not a pattern of cluster names; ${GLOB_REMEDY}`],
    ['clusters: [""]', `3:16: clusters[0]: "" is not a pattern of cluster names; ${GLOB_REMEDY}`],
    ['clusters: ["*****"]', `3:16: clusters[0]: "*****" is not a pattern of cluster names; ${GLOB_REMEDY}`],
    ['clusters: a-*', '3:15: clusters: write a list, not text'],
    ['clusters: []', '3:5: clusters: an empty list; write at least one entry, or remove the key for its default'],
    ['providers: [vsphere]', '3:17: providers[0]: "vsphere" is not known here; write one of eks, eks-anywhere'],
    [
      'signers: [kubernetes.io/kube-apiserver-client-kubelet]',
      '3:15: signers[0]: kubernetes.io/kube-apiserver-client-kubelet is not allowed: its certificates are the identity of a node, so one wrong approval lets an attacker act as that node; write kubernetes.io/kubelet-serving',
    ],
    [
      'signers: [example.com/mine]',
      '3:15: signers[0]: "example.com/mine" is not known here; write kubernetes.io/kubelet-serving',
    ],
    ['evidence: [machines]', '3:16: evidence[0]: "machines" is not known here; did you mean "machine"?'],
    [
      'evidence: [renewal]',
      '3:16: evidence[0]: renewal is gone: the certificate that a node serves proves no name; write node, which trusts what kubelets report, or patterns',
    ],
    ['evidence: []', '3:5: evidence: an empty list; write at least one entry, or remove the key for its default'],
    ['evidence:', '3:5: evidence: write a list, not nothing'],
    [
      'patterns: { cidrs: [10.0.0.0/16] }',
      '3:5: patterns: never read, because evidence does not list patterns; add it there, or remove these',
    ],
    [
      'evidence: [machine, patterns]',
      '3:25: evidence[1]: patterns prove nothing, because there are none; write patterns.cidrs or patterns.dnsNames, or remove it',
    ],
    [
      'evidence: [node, hybrid]',
      '3:22: evidence[1]: proves nothing alone, because only EC2 shows which nodes are hybrid nodes; add ec2',
    ],
    [
      'evidence: [patterns]\n    patterns: { cidrs: [], dnsNames: [] }',
      '3:16: evidence[0]: patterns prove nothing, because there are none; write patterns.cidrs or patterns.dnsNames, or remove it',
    ],
    [
      'evidence: [patterns]\n    patterns: { cidrs: [0.0.0.0/0] }',
      '4:25: patterns.cidrs[0]: "0.0.0.0/0" covers every address; write the networks that are really in use',
    ],
    [
      'evidence: [patterns]\n    patterns: { cidrs: [10.0.0.0/7] }',
      '4:25: patterns.cidrs[0]: "10.0.0.0/7" is wider than /8; write the networks that are really in use, one by one',
    ],
    [
      'evidence: [patterns]\n    patterns: { dnsNames: ["*.example.com"] }',
      '4:28: patterns.dnsNames[0]: "*.example.com" has no {node}: any node could ask for a name that is tied to no node; write, for example, {node}.corp.example.com',
    ],
    ['keys: { rsaMinBits: "2048" }', '3:25: keys.rsaMinBits: write a whole number, not text'],
    ['keys: { rsaMinBits: 1024 }', '3:25: keys.rsaMinBits: 1024 bits are too few for RSA; write 2048 or more'],
    [
      'keys: { rsaMinBits: 32768 }',
      '3:25: keys.rsaMinBits: 32768 bits are more than any RSA key has; write 16384 or less',
    ],
    ['keys: { rsaMinBits: 1e300 }', '3:25: keys.rsaMinBits: write a number of fewer digits'],
    ['keys: { rsaMinBits: 2048.5 }', '3:25: keys.rsaMinBits: write a whole number, not 2048.5'],
    ['keys: { rsaMinBits: .nan }', '3:25: keys.rsaMinBits: write a whole number, not NaN'],
    ['keys: { ed25519: yes }', '3:22: keys.ed25519: write true or false, not text'],
    ['keys: { ecdsaCurves: [P256] }', '3:27: keys.ecdsaCurves[0]: "P256" is not known here; did you mean "P-256"?'],
    ['maxExpiration: 366', `3:20: maxExpiration: write ${DURATION_FORM}, not 366`],
    ['maxExpiration: 1y', `3:20: maxExpiration: "1y" is not a duration; write ${DURATION_FORM}`],
    [
      'maxExpiration: 599s',
      '3:20: maxExpiration: 599s is under 10m, the shortest lifetime Kubernetes issues; write 10m or more',
    ],
    [
      'age: { max: 901s }',
      '3:17: age.max: 901s is too long, because after 15m the kubelet has dropped the key; write 15m or less',
    ],
    [
      'age: { min: 15m }',
      '3:17: age.min: 15m leaves no time, because after 15m the kubelet has dropped the key; write less than 15m',
    ],
    [
      'age: { min: 5m, max: 5m }',
      '3:17: age.min: 5m is not below age.max, 5m; no request could be judged, so write a wider window',
    ],
    [
      'age: { max: 2m }',
      '3:17: age.max: 2m is not above age.min, 2m (the default on eks); no request could be judged, so write a wider window',
    ],
    ['mode: enfoce', '3:11: mode: "enfoce" is not known here; did you mean "enforce"?'],
    ['mode: false', '3:11: mode: write one of enforce, observe, not false'],
    ['onHostile: approve', '3:16: onHostile: "approve" is not known here; write one of leave, deny'],
  ]);

  refusesIn((text) => C + text, 'clusters[0].', [
    [
      'serviceCidrs: []',
      '6:5: serviceCidrs: an empty list; write at least one entry, or remove the key for its default',
    ],
    [`serviceCidrs: [${'10.0.0.0/8,'.repeat(17)}]`, '6:5: serviceCidrs: write at most 16 entries'],
    [
      'serviceCidrs: [10.96.0.0]',
      '6:20: serviceCidrs[0]: "10.96.0.0" is not a CIDR; write a network and the length of its prefix, for example 10.0.0.0/16 or fd00:12::/48',
    ],
  ]);

  it('everything at once, in the order of the lines', () => {
    const text = `version: 1
clusters:
  - name: a
    provider: eks
    kubeconfigSecret: ${SECRET}
  - name: a
    provider: eks
    kubeconfigsecret: ${SECRET}
polices: []
policies:
  - evidence: [machines, patterns]
    mode: enforce
    mode: observe
    age: { min: 10m, max: 9m }
    maxExpiration: 1s
  - evidence: [machine]
    signer: x
`;
    expect(problemsOf(text).map((line) => line.split(' ', 2).join(' '))).toEqual([
      '6:5: clusters[1].kubeconfigSecret:',
      '6:11: clusters[1].name:',
      '8:5: clusters[1].kubeconfigsecret:',
      '9:1: polices:',
      '11:16: policies[0].evidence[0]:',
      '11:26: policies[0].evidence[1]:',
      '11:26: policies[0].evidence[1]:',
      '13:5: key',
      '14:17: policies[0].age.min:',
      '15:20: policies[0].maxExpiration:',
      '16:5: policies[1].name:',
      '17:5: policies[1].signer:',
    ]);
  });

  it('what is wrong below an anchor where it is written, for each entry that is wrong', () => {
    const text = `${P}name: a\n    keys: &keys { ed25519: 1, mlDsa: true, mlDsa: true }\n  - { name: b, keys: *keys }`;
    expect(problemsOf(text)).toEqual([
      '4:28: policies[0].keys.ed25519: write true or false, not 1',
      '4:28: policies[1].keys.ed25519: write true or false, not 1',
      '4:44: key "mlDsa" appears twice; keep one of the two',
    ]);
  });

  it('the largest list that fits, with a problem in every entry', () => {
    expect(problemsOf(`${P}evidence: [${'x,'.repeat(49_000)}]`)).toHaveLength(49_000);
  });
});

const WORDS =
  'version: 1,clusters:,policies:,discovery:,managementClusters:,lanes:,hub:,name: a,accounts: ,regions: ,[self,tags: ,include: ,kubeconfigSecrets: ,lane: ,evidence: ,[patterns],patterns: ,<<: ,__proto__: ,  - ,    ,: ,- '
    .split(',')
    .concat([
      '{',
      '}',
      '[',
      ']',
      '|',
      '>',
      '"',
      "'",
      '#',
      '~',
      '? ',
      '\n',
      '\t',
      '\0',
      '\r',
      '&a ',
      '*a',
      '!x ',
      '1e999',
      '0x1',
    ]);

it('gives a value for every text', () => {
  const words = fc.constantFrom(...WORDS);
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(words, { maxLength: 40 }).map((parts) => parts.join('')),
    fc.json(),
    fc
      .tuple(fc.nat({ max: SHIPPED.length }), fc.nat({ max: 20 }), words)
      .map(([at, length, word]) => SHIPPED.slice(0, at) + word + SHIPPED.slice(at + length)),
  );
  fc.assert(
    fc.property(text, (candidate) => {
      const parsed = parseFleet(candidate, 'f');
      if (parsed.ok) return;
      expect(parsed.problems.length).toBeGreaterThan(0);
      for (const { line, column, message } of parsed.problems) {
        expect(Math.min(line, column)).toBeGreaterThan(0);
        expect(line).toBeLessThanOrEqual(candidate.split(/\r\n|\n/).length);
        expect(message).toMatch(/^[^\p{Cc}]+$/u);
      }
    }),
    { seed: 6, numRuns: runs(300) },
  );
});

describe('FleetConfigError', () => {
  it('lists every problem', () => {
    const parsed = parseFleet('version: 2\nx: 1\n', 'conf/fleet.yaml');
    const problems = parsed.ok ? [] : parsed.problems;
    expect(new FleetConfigError(problems).message).toBe(
      `2 problems in the fleet configuration
conf/fleet.yaml:1:10: version: write 1, not 2
conf/fleet.yaml:2:1: x: unknown key; known here: version, discovery, managementClusters, clusters, lanes, hub, audit, monitoring, journal, rollouts, recovery, policies`,
    );
    expect(new FleetConfigError(problems.slice(1)).message).toMatch(/^1 problem in/);
  });
});
