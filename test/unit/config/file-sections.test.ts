import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseFleet } from '../../../lambdas/config/load-fleet.ts';
import { runs } from '../../runs.ts';
import { exampleFiles, SECRET, validFleet } from './fleet-examples.ts';
import { accepts, problemsOf, refuses, refusesIn } from './parsing.ts';

const D = 'version: 1\ndiscovery:\n  - ';
/** Below a discovery of other accounts. */
const PLACE = "\nhub: { account: '999988887777', region: eu-central-1 }";
const M = `version: 1\nmanagementClusters:\n  - name: m\n    kubeconfigSecret: ${SECRET}\n    `;
const W = `${M}workloadClusters:\n      `;
const C = `version: 1\nclusters:\n  - name: a\n    provider: eks-anywhere\n    kubeconfigSecret: ${SECRET}\n    `;
const L = 'version: 1\nlanes:\n  - name: onprem\n    vpcId: vpc-0a1b2c3d\n    subnetIds: [subnet-0a1b2c3d]\n    ';
const LANE = `${L}securityGroupIds: [sg-0a1b2c3d]\n`;
const H = 'version: 1\nhub: ';

const UNQUOTED =
  "write the account id in quotes, for example '111122223333': without them YAML reads a number, and leading zeros are lost";
const SECRET_REMEDY =
  'write the complete ARN of a Secrets Manager secret, as "aws secretsmanager describe-secret" prints it, with the six characters at its end';
const NAME_REMEDY = 'use at most 100 letters, digits, "-", "_" and ".", and start with a letter or digit';
const TAG_CHARACTERS = 'letters, digits, spaces and any of _ . : / = + - @';
const LEFT_OUT = 'is excluded by the names of include or exclude, so it is never swept; change these';
const NO_UUID =
  'is not a UUID, as EKS Anywhere creates it; write the clusterID of ConfigMap kube-system/aws-iam-authenticator';
const UUID = '0f5b1f0a-7d3c-4e0b-9a53-2f6f0c1d2e3a';
const SHARED =
  'and a token for one would be valid for both; give each its own, or leave it out and put a token of a ServiceAccount in the kubeconfig';
const EMPTY_LIST = 'an empty list; write at least one entry, or remove the key for its default';
const ONE_EACH = 'list each account and Region once';

describe('discovery', () => {
  refuses([
    ['version: 1\ndiscovery: {}', '2:1: discovery: write a list, not a section'],
    [
      `${D}accounts: ['111122223333']\n    regions: [eu-west-1, eu-west-2]\n  - accounts: ['444455556666', '111122223333']\n    regions: [eu-west-2]${PLACE}`,
      `5:32: discovery[1].accounts[1]: discovery[0] already covers 111122223333/eu-west-2; ${ONE_EACH}`,
    ],
    [`${D}role: a\n  - role: b`, `4:5: discovery[1].accounts[0]: discovery[0] already covers self/self; ${ONE_EACH}`],
    [
      `${D}regions: &all [eu-west-1, eu-west-2, eu-west-3, eu-north-1, eu-south-1]\n  - regions: *all`,
      `4:5: discovery[1].accounts[0]: discovery[0] already covers self/eu-west-1, self/eu-west-2, self/eu-west-3 and 2 more; ${ONE_EACH}`,
    ],
    [
      `${D}accounts: ['111122223333']\n    externalId: one\n  - accounts: ['111122223333']\n    regions: [eu-west-1]\n    externalId: two${PLACE}`,
      '5:5: discovery[1].role: discovery[0] assumes certmarshal-spoke of 111122223333 with another externalId or other sessionTags; write the same here, or name another role',
    ],
    [
      `${LANE}discovery: [{ lane: onprm }]`,
      '7:21: discovery[0].lane: "onprm" is not a lane of this file; did you mean "onprem"?',
    ],
  ]);

  refusesIn((text) => D + text, 'discovery[0].', [
    ['accounts: []', `3:5: accounts: ${EMPTY_LIST}`],
    ['accounts: [111122223333]', `3:16: accounts[0]: ${UNQUOTED}`],
    ['accounts: [011122223333]', `3:16: accounts[0]: ${UNQUOTED}`],
    ['accounts: [~]', '3:16: accounts[0]: write an account id in quotes, or self, not nothing'],
    ['accounts: [retail]', '3:16: accounts[0]: "retail" is not an account id; write twelve digits in quotes, or self'],
    [
      "accounts: ['11122223333']",
      '3:16: accounts[0]: "11122223333" is not an account id; write twelve digits in quotes, or self',
    ],
    [`accounts: [self, '111122223333', self]${PLACE}`, '3:38: accounts[2]: "self" appears twice; keep one of the two'],
    [
      'regions: [eu-central-1a]',
      '3:15: regions[0]: "eu-central-1a" is not the name of a Region; write, for example, eu-central-1, or self',
    ],
    ['regions: [eu-west-1, eu-west-1]', '3:26: regions[1]: "eu-west-1" appears twice; keep one of the two'],
    [
      `regions: [${Array.from({ length: 51 }, (_, index) => `eu-west-${index}`).join()}]`,
      '3:5: regions: write at most 50 entries',
    ],
    [
      'role: arn:aws:iam::111122223333:role/x',
      '3:11: role: "arn:aws:iam::111122223333:role/x" is not the name of a role; write it alone, without ARN and path, with at most 64 letters, digits and any of _ + = , . @ -',
    ],
    [
      'externalId: x',
      '3:17: externalId: "x" is not an external id; use 2 to 1,224 letters, digits and any of _ + = , . @ : / -',
    ],
    ['externalId: 4711', '3:17: externalId: write an external id in quotes, not 4711'],
    [
      "sessionTags: { 'AWS:x': y }",
      '3:20: sessionTags.AWS:x: "AWS:x" begins with aws:, which AWS reserves; write another key',
    ],
    [
      "sessionTags: { 'a!': y }",
      `3:20: sessionTags.a!: "a!" cannot be the key of a tag; use 1 to 128 ${TAG_CHARACTERS}`,
    ],
    [
      `sessionTags: { a: ${'b'.repeat(257)} }`,
      `3:23: sessionTags.a: "${'b'.repeat(100)}…" cannot be the value of a tag; use at most 256 ${TAG_CHARACTERS}`,
    ],
    [
      'sessionTags: { team: a, Team: b }',
      '3:35: sessionTags.Team: STS treats it as the same tag as team; keep one of the two',
    ],
    [
      `sessionTags: { ${Array.from({ length: 51 }, (_, index) => `k${index}: v`).join()} }`,
      '3:5: sessionTags: more than 50 tags; STS accepts no more for one session',
    ],
    [
      'include: { tags: { certmarshal: true } }',
      "3:37: include.tags.certmarshal: write the value of the tag in quotes, for example 'true', not true",
    ],
    ['exclude: { tags: {} }', '3:16: exclude.tags: an empty section; write at least one tag, or remove the key'],
    ['exclude: { names: [] }', `3:16: exclude.names: ${EMPTY_LIST}`],
    ['include: { tags: [a] }', '3:16: include.tags: write a section with keys, not a list'],
    ['include: { name: [a] }', '3:16: include.name: unknown key; did you mean "names"?'],
    [
      `kubeconfigSecret: ${SECRET}`,
      '3:5: kubeconfigSecret: unknown key; known here: accounts, regions, role, externalId, sessionTags, include, exclude, lane, auditSecrets, kubeletMetrics, accessEntries',
    ],
    ['accessEntries: [a, a]', '3:24: accessEntries[1]: "a" appears twice; keep one of the two'],
    [
      'regions: [self, eu-west-1]\n    accessEntries: [a]',
      '4:5: accessEntries: only an entry of one account and one Region can have them; give these clusters such an entry',
    ],
    [
      "include: { names: ['*-prod'] }\n    accessEntries: [a-prod, a-test]",
      `4:29: accessEntries[1]: "a-test" ${LEFT_OUT}, or remove it here`,
    ],
    [
      "exclude: { names: ['*-prod'] }\n    accessEntries: [a-prod, a-test]",
      `4:21: accessEntries[0]: "a-prod" ${LEFT_OUT}, or remove it here`,
    ],
    [
      'lane: default',
      '3:11: lane: clusters whose endpoint is private, or has an allow list, cannot be reached from the default lane, which is outside of every VPC; name one of lanes, or remove this',
    ],
    ['lane: onprem', '3:11: lane: "onprem" is not a lane of this file; add it to lanes'],
  ]);

  accepts([
    ['one Region of two accounts', `${D}accounts: ['111122223333']\n  - accounts: [self]${PLACE}`],
    ['two Regions of one account', `${D}regions: [eu-west-1]\n  - regions: [eu-west-2]`],
    ['an exclude that says nothing', `${D}exclude: {}`],
    ['no access entry', `${D}accessEntries: []`],
    [
      'one role for two Regions, whatever the order of its tags is',
      `${D}accounts: ['111122223333']\n    sessionTags: { a: x, b: y }\n  - accounts: ['111122223333']\n    regions: [eu-west-1]\n    sessionTags: { b: y, a: x }${PLACE}`,
    ],
    [
      'external ids for other accounts only',
      `${D}regions: [eu-west-1]\n  - accounts: [self, '111122223333']\n    externalId: one${PLACE}`,
    ],
    ['every part of AWS', `${D}regions: [cn-north-1, us-gov-east-1, us-isob-east-1, eusc-de-east-1, ap-southeast-10]`],
  ]);
});

describe('managementClusters', () => {
  refuses([
    [
      'version: 1\nmanagementClusters: [{ name: m }]',
      `2:22: managementClusters[0].kubeconfigSecret: missing; ${SECRET_REMEDY}`,
    ],
    [
      M.replace('name: m', 'name: m/x'),
      `3:11: managementClusters[0].name: "m/x" cannot name a management cluster; ${NAME_REMEDY}`,
    ],
    [
      `${M}serviceCidrs: [10.96.0.0/12]\n  - { name: m, kubeconfigSecret: "${SECRET}" }`,
      '6:13: managementClusters[1].name: "m" is the name of managementClusters[0] too; give each its own name',
    ],
    [
      `${M}\npolicies:\n  - evidence: [node]`,
      '7:16: policies[0].evidence[0]: trusts what a node reports about itself, which may be the address of a Service; write serviceCidrs at m',
    ],
  ]);

  refusesIn((text) => W + text, 'managementClusters[0].workloadClusters.', [
    ['namespaces: []', `6:7: namespaces: ${EMPTY_LIST}`],
    [
      'namespaces: [eksa-system, kube_system]',
      '6:33: namespaces[1]: "kube_system" cannot name a namespace; use at most 63 lowercase letters, digits and "-", and start and end with a letter or digit',
    ],
    ['namespaces: [a, b, a]', '6:7: namespaces: a namespace appears twice; keep one of the two'],
    ['include: { tags: { a: b } }', '6:18: include.tags: unknown key; known here: names'],
    ['kubeconfigSecrets: { a: hunter2 }', `6:31: kubeconfigSecrets.a: ${SECRET_REMEDY}`],
    [
      `kubeconfigSecrets: { a/b: "${SECRET}" }`,
      `6:28: kubeconfigSecrets.a/b: "a/b" cannot name a workload cluster; ${NAME_REMEDY}`,
    ],
    [
      `include: { names: [b*] }\n      kubeconfigSecrets: { a: "${SECRET}" }`,
      `7:31: kubeconfigSecrets.a: this cluster ${LEFT_OUT}, or remove its secret`,
    ],
    [
      `exclude: { names: [a] }\n      kubeconfigSecrets: { a: "${SECRET}" }`,
      `7:31: kubeconfigSecrets.a: this cluster ${LEFT_OUT}, or remove its secret`,
    ],
    [
      'exclude: { names: [a] }\n      eksAnywhereNamespaces: { a: default }',
      `7:35: eksAnywhereNamespaces.a: this cluster ${LEFT_OUT}, or remove its namespace`,
    ],
    [
      'eksAnywhereNamespaces: { a: team/a }',
      '6:35: eksAnywhereNamespaces.a: "team/a" cannot name a namespace; use at most 63 lowercase letters, digits and "-", and start and end with a letter or digit',
    ],
    [
      'kubeconfigsFromManagement: true',
      '6:7: kubeconfigsFromManagement: unknown key; did you mean "kubeconfigsFromManagementCluster"?',
    ],
  ]);

  refusesIn((text) => M + text, 'managementClusters[0].', [
    ['authenticatorId: berlin', `5:22: authenticatorId: "berlin" ${NO_UUID}`],
    ['lane: defualt', '5:11: lane: "defualt" is not a lane of this file; did you mean "default"?'],
  ]);

  it('needs no addresses of Services for clusters that are found, or for a policy of EKS only', () => {
    expect(problemsOf(`${D}accounts: [self]\npolicies:\n  - evidence: [node]`)).toEqual([]);
    expect(problemsOf(`${M}\npolicies:\n  - { evidence: [node], providers: [eks] }`)).toEqual([]);
    expect(problemsOf(`${M}serviceCidrs: [10.96.0.0/12]\npolicies:\n  - evidence: [node]`)).toEqual([]);
  });
});

describe('clusters', () => {
  const again = (rest: string) => `${C}\n  - { provider: eks, kubeconfigSecret: "${SECRET}", ${rest} }`;

  refuses([
    [again('name: a'), '7:131: clusters[1].name: "a" is the id of clusters[0] too; give one of them an id'],
    [again('name: b, id: a'), '7:138: clusters[1].id: "a" is the id of clusters[0] too; give one of them another id'],
    [
      `${M}\nclusters:\n  - { name: m, provider: eks, kubeconfigSecret: "${SECRET}" }`,
      '7:13: clusters[0].name: "m" is the id of managementClusters[0] too; give one of them an id',
    ],
    [
      `${C}authenticatorId: ${UUID}\n${again(`name: b, authenticatorId: ${UUID}`).slice(C.length)}`,
      `8:151: clusters[1].authenticatorId: "${UUID}" is the authenticatorId of clusters[0] too, ${SHARED}`,
    ],
    [
      `${M}authenticatorId: ${UUID}\nclusters:\n  - { name: b, provider: eks-anywhere, kubeconfigSecret: "${SECRET}", authenticatorId: ${UUID.toUpperCase()} }`,
      `7:160: clusters[0].authenticatorId: "${UUID.toUpperCase()}" is the authenticatorId of managementClusters[0] too, ${SHARED}`,
    ],
  ]);

  refusesIn((text) => C + text, 'clusters[0].', [
    ['id: m/ns/a', `6:9: id: "m/ns/a" cannot be the id of a cluster; ${NAME_REMEDY}`],
    ['authenticatorId: a', `6:22: authenticatorId: "a" ${NO_UUID}`],
    [
      'authenticatorId: a/b',
      '6:22: authenticatorId: "a/b" is not a cluster id of aws-iam-authenticator; write a UUID on eks-anywhere, the name of the cluster on eks',
    ],
    ['lane: 7', '6:11: lane: write the name of a lane, not 7'],
    ['lane: x', '6:11: lane: "x" is not a lane of this file; add it to lanes'],
  ]);

  it('accepts two of one name whose ids differ, and the name as authenticator id on EKS', () => {
    expect(problemsOf(again('name: a, id: b, authenticatorId: a, lane: default'))).toEqual([]);
  });
});

describe('lanes', () => {
  refuses([
    [
      LANE.replace('onprem', 'default'),
      '3:11: lanes[0].name: "default" is the built-in lane outside of every VPC; give this one another name',
    ],
    [
      LANE.replace('onprem', 'On_prem'),
      '3:11: lanes[0].name: "On_prem" cannot name a lane; use at most 32 lower-case letters, digits and "-", and start with a letter',
    ],
    [
      `${LANE}  - { name: onprem, vpcId: vpc-0a1b2c3d, subnetIds: [subnet-0a1b2c3d], securityGroupIds: [sg-0a1b2c3d] }`,
      '7:13: lanes[1].name: "onprem" is the name of lanes[0] too; give each its own name',
    ],
    [
      LANE.replace('vpc-0a1b2c3d', 'subnet-0a1b2c3d'),
      '4:12: lanes[0].vpcId: "subnet-0a1b2c3d" is not the id of a VPC; write, for example, vpc-0a1b2c3d4e5f60718',
    ],
    [
      LANE.replace('[subnet-0a1b2c3d]', '[subnet-1]'),
      '5:17: lanes[0].subnetIds[0]: "subnet-1" is not the id of a subnet; write, for example, subnet-0a1b2c3d4e5f60718',
    ],
    [LANE.replace('[subnet-0a1b2c3d]', '[]'), `5:5: lanes[0].subnetIds: ${EMPTY_LIST}`],
    [L, '3:5: lanes[0].securityGroupIds: missing; write a list'],
    [
      `version: 1\nlanes: [${Array.from({ length: 21 }, (_, index) => `{ name: l${index}, vpcId: vpc-0a1b2c3d, subnetIds: [subnet-0a1b2c3d], securityGroupIds: [sg-0a1b2c3d] }`).join()}]`,
      '2:1: lanes: write at most 20 entries',
    ],
  ]);

  refusesIn((text) => L + text, 'lanes[0].', [
    [
      'securityGroupIds: [default]',
      '6:24: securityGroupIds[0]: "default" is not the id of a security group; write, for example, sg-0a1b2c3d4e5f60718',
    ],
    [
      'securityGroupIds: [sg-0a1b2c3d, sg-0a1b2c3d]',
      '6:37: securityGroupIds[1]: "sg-0a1b2c3d" appears twice; keep one of the two',
    ],
    [
      `securityGroupIds: [${Array.from({ length: 6 }, (_, index) => `sg-0000000${index}`).join()}]`,
      '6:5: securityGroupIds: write at most 5 entries',
    ],
  ]);
});

describe('hub', () => {
  refuses([
    [
      `${D}accounts: ['111122223333', self]`,
      '1:1: hub: write account and region, those that certmarshal is deployed to: the roles in 111122223333 trust its roles by name',
    ],
    [
      `${H}{ account: '999988887777' }\ndiscovery: [{ accounts: ['111122223333', '222233334444', '333344445555', '444455556666', '999988887777'] }]`,
      '2:1: hub: write account and region, those that certmarshal is deployed to: the roles in 111122223333, 222233334444, 333344445555 and 1 more trust its roles by name',
    ],
    [`${H}{ region: eu-central-1 }`, '2:1: hub: account and region go together; write both or neither'],
    [
      `version: 1\nclusters: ${JSON.stringify(Array.from({ length: 1_000 }, (_, index) => ({ name: `c${index}`, provider: 'eks', kubeconfigSecret: SECRET.replace('berlin', `c${index}`) })))}`,
      '1:1: the fleet names 1000 secrets with kubeconfigs. To allow exactly these takes 15 policies and there is room for 10: divide the fleet between two stacks (cdk deploy -c fleet=FILE in another account or Region)',
    ],
    [`${H}[]`, '2:1: hub: write a section with keys, not a list'],
  ]);

  refusesIn((text) => H + text, 'hub.', [
    [
      '{ kmsKeyArn: "arn:aws:kms:eu-central-1:111122223333:alias/x" }',
      '2:19: kmsKeyArn: "arn:aws:kms:eu-central-1:111122223333:alias/x" is not the ARN of a KMS key; write that of the key itself, for example arn:aws:kms:eu-central-1:111122223333:key/6f1d0c5a-0000-4000-8000-000000000000, not of an alias',
    ],
    ['{ reservedConcurrency: 0 }', '2:29: reservedConcurrency: 0 would stop every sweep; write 1 or more'],
    [
      '{ reservedConcurrency: 1001 }',
      '2:29: reservedConcurrency: 1001 is more than an account has; write 1000 or less',
    ],
    ['{ webhook: on }', '2:17: webhook: write true or false, not text'],
    ['{ webhooks: true }', '2:8: webhooks: unknown key; did you mean "webhook"?'],
  ]);

  it('accepts a multi-Region key', () => {
    expect(problemsOf(`${H}{ kmsKeyArn: "arn:aws-cn:kms:cn-north-1:111122223333:key/mrk-${'0'.repeat(32)}" }`)).toEqual(
      [],
    );
  });
});

describe('every section', () => {
  it('reports what is wrong in each at once', () => {
    const text = `version: 1
discovery:
  - accounts: [111122223333, self, self]
    sessionTags: { a: 1, A: b }
    lane: x
managementClusters:
  - { name: m, lane: x, workloadClusters: { include: { names: [b] }, kubeconfigSecrets: { a: x } } }
clusters:
  - { name: m, lane: x }
lanes:
  - { name: default, subnetIds: [subnet-0a1b2c3d, subnet-0a1b2c3d] }
hub: { webhook: 1 }
`;
    expect(problemsOf(text).map((line) => line.split(' ', 2).join(' '))).toEqual([
      '3:16: discovery[0].accounts[0]:',
      '3:36: discovery[0].accounts[2]:',
      '4:23: discovery[0].sessionTags.a:',
      '4:29: discovery[0].sessionTags.A:',
      '5:11: discovery[0].lane:',
      '7:5: managementClusters[0].kubeconfigSecret:',
      '7:22: managementClusters[0].lane:',
      '7:94: managementClusters[0].workloadClusters.kubeconfigSecrets.a:',
      '7:94: managementClusters[0].workloadClusters.kubeconfigSecrets.a:',
      '9:5: clusters[0].kubeconfigSecret:',
      '9:5: clusters[0].provider:',
      '9:13: clusters[0].name:',
      '9:22: clusters[0].lane:',
      '11:5: lanes[0].securityGroupIds:',
      '11:5: lanes[0].vpcId:',
      '11:13: lanes[0].name:',
      '11:51: lanes[0].subnetIds[1]:',
      '12:17: hub.webhook:',
    ]);
  });

  it('asks the rules about several values also where a list is too long or a number is none', () => {
    const lane = '{ name: onprem, vpcId: vpc-0a1b2c3d, subnetIds: [subnet-0a1b2c3d], securityGroupIds: [sg-0a1b2c3d] }';
    const text = `version: 1
lanes: [${Array.from({ length: 21 }, () => lane).join()}]
policies:
  - keys: { rsaMinBits: 2048.5 }
  - { evidence: [patterns] }
`;
    const problems = problemsOf(text);
    expect(problems).toContain('2:1: lanes: write at most 20 entries');
    expect(problems.filter((problem) => problem.includes('is the name of lanes[0] too'))).toHaveLength(20);
    expect(problems.slice(-3).map((line) => line.split(' ', 2).join(' '))).toEqual([
      '4:25: policies[0].keys.rsaMinBits:',
      '5:5: policies[1].name:',
      '5:18: policies[1].evidence[0]:',
    ]);
  });

  it('takes any value anywhere', () => {
    const places = fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(validFleet, places, fc.jsonValue(), (file, steps, value) => {
        const parsed = parseFleet(JSON.stringify(replaced(file, steps, value)), 'f');
        expect(parsed.ok || parsed.problems.length > 0).toBe(true);
      }),
      { seed: 9, numRuns: runs(200) },
    );
  });

  it('takes any word in place of a part of an example', () => {
    const texts = exampleFiles().map(([, text]) => text);
    const bits = fc.constantFrom('', '~', '[', '{}', '1', '\n  - ', ': ', '*x', '&x ', '__proto__: ', 'a: ', "'", '\0');
    fc.assert(
      fc.property(fc.constantFrom(...texts), fc.nat(), fc.nat({ max: 30 }), bits, (text, at, length, word) => {
        const start = at % text.length;
        const parsed = parseFleet(text.slice(0, start) + word + text.slice(start + length), 'f');
        expect(parsed.ok || parsed.problems.length > 0).toBe(true);
      }),
      { seed: 10, numRuns: runs(150) },
    );
  });
});

/** The data with one value deep inside replaced. */
function replaced(data: unknown, [step = 0, ...rest]: readonly number[], value: unknown): unknown {
  const keys = Object.keys(Object(data));
  const key = keys[step % Math.max(1, keys.length)];
  if (typeof data !== 'object' || data === null || key === undefined) return value;
  const inside: unknown =
    rest.length === 0 ? value : replaced(Object.entries(data)[keys.indexOf(key)]?.[1], rest, value);
  return Array.isArray(data)
    ? data.map((entry: unknown, index) => (String(index) === key ? inside : entry))
    : { ...data, [key]: inside };
}

describe('what is in place of the ARN of a secret', () => {
  const S = 'version: 1\nclusters:\n  - name: a\n    provider: eks-anywhere\n    kubeconfigSecret: ';
  it.each([
    [
      'a kubeconfig',
      `${S}|\n      apiVersion: v1\n      clusters: []\n`,
      'this is a kubeconfig; anyone who sees this file',
    ],
    ['a kubeconfig as a section', `${S}{ apiVersion: v1 }`, 'this is a section, maybe the kubeconfig itself'],
    [
      'a file',
      `${S}./berlin.yaml`,
      'this is a file, which the functions do not have; store it with certmarshal credentials',
    ],
    ['EKS cluster', `${S}arn:aws:eks:eu-central-1:111122223333:cluster/x`, 'which needs no secret; list its account'],
    ['a name', `${S}certmarshal/berlin`, SECRET_REMEDY],
  ])('%s', (_, text, expected) => {
    expect(problemsOf(text)).toEqual([expect.stringContaining(expected)]);
  });

  it('is never shown', () => {
    expect(problemsOf(`${S}|\n      apiVersion: v1\n      token: hunter2\n`).join()).not.toContain('hunter2');
  });
});

it('says once that a list is wanted', () => {
  expect(problemsOf(`${L}securityGroupIds: sg-0a1b2c3d`)).toEqual([
    expect.stringContaining('lanes[0].securityGroupIds: write a list, not text'),
  ]);
});

it('takes an abbreviation for the longer word', () => {
  expect(problemsOf(C.replace('eks-anywhere', 'eksa'))).toEqual([
    expect.stringContaining('did you mean "eks-anywhere"?'),
  ]);
});
