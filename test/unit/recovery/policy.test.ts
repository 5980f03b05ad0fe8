import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideApproval, gateReason } from '../../../lambdas/approval/decide-approval.ts';
import { ownerFromInstance } from '../../../lambdas/approval/evidence/ec2.ts';
import { indexEvidence, type Owner } from '../../../lambdas/approval/evidence/evidence.ts';
import {
  DEFAULT_POLICY,
  type EnginePolicy,
  KUBELET_CLIENT_SIGNER,
  KUBELET_SERVING_SIGNER,
} from '../../../lambdas/approval/policy.ts';
import { RULES } from '../../../lambdas/approval/rules/rules.ts';
import { asleep } from '../../../lambdas/recovery/liveness.ts';
import { recoveryPolicy, recoveryRules } from '../../../lambdas/recovery/policy.ts';
import { onlyNewest } from '../../../lambdas/recovery/recover-nodes.ts';
import { readSigningRequest, type SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { RECOVERY_REASONS, type Reason } from '../../../lambdas/tables/reasons.ts';
import { verdictSentence } from '../../../lambdas/words/verdict-words.ts';
import { BERLIN, CLIENT_USAGES, csrObject, DUBLIN, EC_USAGES, instance, signingRequest } from '../approval/fixtures.ts';
import { extension, OID } from '../x509/request-factory.ts';
import {
  ASLEEP,
  asked,
  BOOTSTRAPPER,
  BOOTSTRAPPER_GROUPS,
  type ClientCsrFields,
  clientCsr,
  controlPlaneMachine,
  decisionOn,
  judge,
  NODE_GROUPS,
  NOW,
  readingsOf,
  recoveryOf,
  type World,
  worldOf,
} from './fixtures.ts';

const MINUTE = 60_000;
const RULE_IDS = recoveryRules(worldOf()).map(({ id }) => id);
const decided = (requests: readonly SigningRequest[]) =>
  onlyNewest(requests.map((csr) => decisionOn(csr))).map(({ csr, verdict }) => [csr.name, verdict.reason]);
const own = (node = 'cp-1') => ({ node, username: `system:node:${node}`, groups: NODE_GROUPS });
const lease = (renewTime: unknown) => ({ metadata: { name: 'cp-1' }, spec: { renewTime } });
const renewed = (agoMs: number) => lease(new Date(NOW - agoMs).toISOString());
const node = (status: string) => ({ metadata: { name: 'cp-1' }, status: { conditions: [{ type: 'Ready', status }] } });

describe('a request that is recovered', () => {
  const bootstrapGroups = ['system:bootstrappers', 'system:authenticated'];
  const fiveMinutes = new Map([['cp-1', asleep(node('Unknown'), renewed(5 * MINUTE), NOW)]]);
  it.each<[name: string, csr: ClientCsrFields, context?: Partial<World>]>([
    ['from a bootstrap token', {}],
    ['from the node itself', own()],
    ['with an RSA key and key encipherment', { usages: CLIENT_USAGES, request: { key: 'rsa2048' } }],
    ['with its usages in any order', { usages: ['client auth', 'digital signature'] }],
    ['with a lifetime of a year', { expirationSeconds: 365 * 86_400 }],
    ['authenticated by a token', { extra: { 'authentication.kubernetes.io/credential-id': ['JTI=1'] } }],
    ['with the shortest lifetime', { expirationSeconds: 3_600 }],
    ['of any age', { ageSeconds: 30 * 86_400 }],
    ['while one approval is left', {}, { approved: new Map([['cp-1', 1]]) }],
    ['when another node has spent its own', {}, { approved: new Map([['cp-2', 9]]) }],
    ['of a node whose Lease was last renewed 5 minutes ago', {}, { liveness: fiveMinutes }],
    [
      'of a token without groups of its own',
      { groups: bootstrapGroups },
      { recovery: recoveryOf({ bootstrapGroups: [] }) },
    ],
  ])('%s', (_, csr, context = {}) => {
    const verdict = judge(asked(csr), worldOf(context));
    expect(verdict).toMatchObject({
      verdict: 'approve',
      reason: 'Recovered',
      policy: 'recovery',
      mode: 'enforce',
      hostile: false,
    });
    expect(verdictSentence(verdict.facts)).toBe(
      'recovery until 2026-03-02T12:20:00.000Z, by fleet.yaml: cp-1 ← Machine eksa-system/berlin-cp-1',
    );
    expect(verdict.checks.map(({ rule }) => rule)).toEqual(RULE_IDS);
  });

  it('of an EC2 instance of the control plane', () => {
    const made = instance('i-0a', '10.0.1.1');
    const name = made.PrivateDnsName;
    const tagged = (value: string) => ({
      ...made,
      Tags: [...made.Tags, { Key: 'sigs.k8s.io/cluster-api-provider-aws/role', Value: value }],
    });
    const reasonWith = (item: unknown) => {
      const owner = ownerFromInstance(item, DUBLIN.name);
      return judge(
        asked({ node: name }),
        worldOf({
          recovery: recoveryOf({ nodes: [name] }),
          readings: [{ source: 'ec2', ok: true, lookedAt: 1, owners: owner === undefined ? [] : [owner] }],
          liveness: new Map([[name, ASLEEP]]),
        }),
      ).reason;
    };
    expect(reasonWith(tagged('control-plane'))).toBe('Recovered');
    expect(reasonWith(tagged('node'))).toBe('NotControlPlane');
    expect(reasonWith(made)).toBe('NotControlPlane');
    expect(reasonWith({ ...tagged('control-plane'), Tags: tagged('control-plane').Tags.slice(1) })).toBe(
      'EvidenceMissing',
    );
    expect(reasonWith({ ...tagged('control-plane'), State: { Name: 'stopped' } })).toBe('EvidenceMissing');
  });
});

interface Change {
  readonly csr?: ClientCsrFields;
  readonly context?: Partial<World>;
  readonly now?: number;
  /** Other rules that cannot help failing too. */
  readonly also?: readonly string[];
}

const failing = (rule: string, reason: Reason, changes: Readonly<Record<string, Change>>) =>
  Object.entries(changes).map(([name, change]) => ({ rule, name, reason, ...change }));
const living = (object: unknown, found?: unknown) => ({
  context: { liveness: new Map([['cp-1', asleep(object, found, NOW)]]) },
});
const reading = (...readings: World['readings']) => ({ context: { readings } });
const subject = (...relative: readonly (readonly { oid: string; value: string }[])[]) => ({ subject: [...relative] });
const credentials = (...ids: readonly string[]) => ({
  csr: { ...own(), extra: { 'authentication.kubernetes.io/credential-id': ids } },
});
const O = { oid: OID.organization, value: 'system:nodes' };
const CN = { oid: OID.commonName, value: 'system:node:cp-1' };
const NO_NODE = ['named', 'control-plane', 'ended'];
const UNREAD = ['signature', 'key', 'common-name', 'organization', 'subject', 'extensions', ...NO_NODE];
const URI = { kind: 'uniformResourceIdentifier', value: 'spiffe://x' } as const;
const CONSTRAINTS = extension(OID.basicConstraints, Buffer.from([0x30, 0]));
const TWICE = readingsOf(controlPlaneMachine('cp-1'), controlPlaneMachine('cp-1', { name: 'again' }));
const GOING = controlPlaneMachine('cp-1', { deleting: true, name: 'berlin-old' });
const FOREIGN = { ...controlPlaneMachine('cp-1'), spec: { clusterName: 'dublin' } };

const FAILING = [
  ...failing('until', 'RecoveryOver', {
    'at its end': { now: NOW + 20 * MINUTE },
    'with an end that is none': { context: { recovery: recoveryOf({ until: 'soon' }) } },
  }),
  ...failing('request', 'RequestMalformed', { 'no PKCS#10': { csr: { pem: Buffer.from('x') }, also: UNREAD } }),
  ...failing('common-name', 'CommonNameMismatch', {
    'no node in the common name': { csr: { request: { commonName: 'kubernetes-admin' } }, also: NO_NODE },
    'two common names': { csr: { request: subject([O], [CN], [CN]) }, also: ['subject', ...NO_NODE] },
  }),
  ...failing('named', 'NodeNotNamed', { 'a control plane node that is not named': { csr: { node: 'cp-3' } } }),
  ...failing('requester', 'RequesterNotAllowed', {
    'another node’s common name, from a node': { csr: { ...own('cp-2'), node: 'cp-1' }, also: ['groups'] },
    'a person': { csr: { username: 'mia' } },
    'a short token': { csr: { username: 'system:bootstrap:abcde' } },
    'a long token': { csr: { username: 'system:bootstrap:abcdefg' } },
    'a token in capitals': { csr: { username: 'system:bootstrap:ABCDEF' } },
    'a token and a line break': { csr: { username: 'system:bootstrap:abcdef\n' } },
  }),
  ...failing('groups', 'GroupsNotExact', {
    'a bootstrap token with a further group': { csr: { groups: [...BOOTSTRAPPER_GROUPS, 'system:masters'] } },
    'a bootstrap token without the group of the recovery': { csr: { groups: BOOTSTRAPPER_GROUPS.slice(0, 2) } },
    'a bootstrap token with a group twice': { csr: { groups: [...BOOTSTRAPPER_GROUPS, 'system:authenticated'] } },
    'a node with a further group': { csr: { ...own(), groups: [...NODE_GROUPS, 'system:masters'] } },
    'a node with the groups of a bootstrap token': { csr: { ...own(), groups: BOOTSTRAPPER_GROUPS } },
    'no groups': { csr: { groups: [] } },
  }),
  ...failing('usages', 'UsagesNotAllowed', {
    'server auth': { csr: { usages: ['digital signature', 'client auth', 'server auth'] } },
    'client auth alone': { csr: { usages: ['client auth'] } },
    'ML-DSA to encipher': { csr: { usages: CLIENT_USAGES, request: { key: 'mldsa44' } } },
  }),
  ...failing('expiration', 'ExpirationTooLong', { 'ten years': { csr: { expirationSeconds: 3650 * 86_400 } } }),
  ...failing('expiration', 'ObjectMalformed', { 'five minutes': { csr: { expirationSeconds: 300 } } }),
  ...failing('expiration', 'ExpirationTooShort', {
    'less than the hour of a count': { csr: { expirationSeconds: 3_599 } },
  }),
  ...failing('signature', 'SignatureInvalid', {
    'another key than signed it': { csr: { request: { tamper: 'signature' } } },
  }),
  ...failing('key', 'KeyNotAllowed', { 'a small key': { csr: { request: { key: 'rsa1024' } } } }),
  ...failing('organization', 'OrganizationMismatch', {
    'that of an administrator': { csr: { request: { organizations: ['system:masters'] } } },
    'a second one': { csr: { request: { organizations: ['system:nodes', 'system:masters'] } }, also: ['subject'] },
  }),
  ...failing('subject', 'SubjectNotAllowed', {
    'an organizational unit': { csr: { request: subject([O], [CN], [{ oid: '2.5.4.11', value: 'x' }]) } },
  }),
  ...failing('extensions', 'SanNotAllowed', {
    'a DNS name': { csr: { request: { sans: [{ kind: 'dNSName', value: 'cp-1' }] } } },
    'an IP': { csr: { request: { sans: [{ kind: 'iPAddress', value: '10.0.0.1' }] } } },
    'a URI': { csr: { request: { sans: [URI] } } },
    'another extension': { csr: { request: { extensions: [CONSTRAINTS] } } },
  }),
  ...failing('control-plane', 'NotControlPlane', {
    'a worker': reading(...readingsOf(controlPlaneMachine('cp-1', { worker: true }))),
  }),
  ...failing('control-plane', 'MachineGoing', {
    'a Machine that is being deleted': reading(...readingsOf(controlPlaneMachine('cp-1', { deleting: true }))),
    'and another of the node': reading(...readingsOf(controlPlaneMachine('cp-1'), GOING)),
  }),
  ...failing('control-plane', 'EvidenceAmbiguous', {
    'two Machines of the node': reading(...TWICE),
    'and no instance of it': reading(...TWICE, { source: 'ec2', ok: true, lookedAt: 0, owners: [] }),
  }),
  ...failing('control-plane', 'EvidenceMissing', {
    'no Machine of the node': reading(...readingsOf(controlPlaneMachine('cp-2'))),
    'a Machine of another cluster': reading(...readingsOf(FOREIGN)),
    'no source': reading(),
  }),
  ...failing('control-plane', 'EvidenceUnreadable', {
    'a source that cannot be read, beside one that proves': reading(...worldOf().readings, {
      source: 'ec2',
      ok: false,
      problem: 'denied',
      remedy: 'Grant it.',
    }),
  }),
  ...failing('ended', 'StillValid', {
    'a Node that is Ready': living(node('True')),
    'a Lease of 4 minutes ago': living(node('Unknown'), renewed(5 * MINUTE - 1)),
    'a Lease renewed in the future': living(node('Unknown'), renewed(-60 * MINUTE)),
    'a certificate that it asked with': credentials('X509SHA256=00'),
    'a certificate among what it asked with': credentials('JTI=1', 'X509SHA256=00'),
  }),
  ...failing('ended', 'NodeMissing', { 'no Node': living(undefined) }),
  ...failing('ended', 'NodeUnreadable', {
    'a Node that cannot be read': living(node('Unknown'), lease('soon')),
    'a Node that was not looked at': { context: { liveness: new Map() } },
  }),
  ...failing('approvals', 'ApprovalsSpent', {
    'all approvals spent': { context: { approved: new Map([['cp-1', 2]]) } },
    'a list that was not read to the end': { context: { approved: undefined } },
  }),
];

/** Who asks, and for which node. */
const WHO: readonly string[] = ['named', 'requester', 'groups'];

describe('a request that is left', () => {
  it.each(FAILING)('$rule: $name', ({ rule, reason, csr = {}, context = {}, now = NOW, also = [] }) => {
    const verdict = judge(asked(csr), worldOf(context), now);
    expect(verdict).toMatchObject({ verdict: 'leave', reason });
    const failed = verdict.checks.filter(({ passed }) => !passed).map((check) => check.rule);
    const expected = new Set([rule, ...also]);
    // Then the signature is not looked at.
    if (WHO.some((id) => expected.has(id))) expected.add('signature');
    expect(new Set(failed)).toEqual(expected);
  });

  it.each<ClientCsrFields>([{ node: 'cp-9' }, { username: 'mallory' }, { groups: ['system:authenticated'] }])(
    'has no signature verified where who asks is not allowed: %j',
    (csr) => {
      const { checks } = judge(asked(csr));
      expect(checks.find(({ rule }) => rule === 'signature')).toMatchObject({
        passed: false,
        found: 'not verified: the node is not named, or the requester is not allowed',
        hostile: false,
      });
    },
  );

  it.each([
    [['a'], '“a”'],
    [['a', 'b', 'c', 'd', 'e'], '“a”, “b”, “c”, “d”, “e”'],
    [['a', 'b', 'c', 'd', 'e', 'f'], '“a”, “b”, “c”, “d”, “e” and 1 more'],
  ])('shows at most five of the usages %j', (usages, found) => {
    const { checks } = judge(asked({ usages }));
    expect(checks.find(({ rule }) => rule === 'usages')).toMatchObject({ found });
  });

  it.each<[string, string, ClientCsrFields, Partial<World>]>([
    ['named', 'no node', { request: { commonName: 'kubernetes-admin' } }, {}],
    ['control-plane', 'no management cluster and no AWS account is read', {}, { readings: [] }],
  ])('says under the rule %s what it lacks: %s', (id, found, csr, context) => {
    const { checks } = judge(asked(csr), worldOf(context));
    expect(checks.find(({ rule }) => rule === id)).toMatchObject({ passed: false, found });
  });

  it('has a row for every rule, and for every reason that only a recovery has', () => {
    expect(new Set(FAILING.map(({ rule }) => rule))).toEqual(new Set(RULE_IDS));
    const given = new Set([...FAILING.map(({ reason }) => reason), 'Recovered', 'NotKubeletClient']);
    expect(Object.keys(RECOVERY_REASONS).filter((reason) => !given.has(reason))).toEqual([]);
  });

  it('shares its rules about the request with every signer', () => {
    const shared = ['request', 'signature', 'key', 'organization', 'subject', 'expiration'];
    expect(RULES.map(({ id }) => id)).toEqual(expect.arrayContaining(shared));
  });

  it('says in words what a rule expects that depends on a policy', () => {
    const { checks } = judge(asked());
    const expected = `3600 to ${DEFAULT_POLICY.maxExpirationSeconds} s, or none`;
    expect(checks.find(({ rule }) => rule === 'expiration')).toMatchObject({ expected });
  });

  it.each<[Reason, string, ClientCsrFields]>([
    ['ClockSkew', 'created in the future', { ageSeconds: -301 }],
    ['ObjectMalformed', 'created before the year 0, which RFC 3339 cannot write', { ageSeconds: 100_000_000_000 }],
    [
      'ObjectMalformed',
      'with credentials that are no list',
      { extra: { 'authentication.kubernetes.io/credential-id': 'X' } },
    ],
  ])('%s: %s', (reason, _, csr) => {
    expect(judge(asked(csr))).toMatchObject({ verdict: 'leave', reason });
  });

  it('is one of whose node more instances are shown than are looked at, though one of these runs', () => {
    const owners = Array.from({ length: 9 }, (_, index): Owner => {
      const live: Owner = {
        source: 'ec2',
        object: `i-${index}`,
        nodes: ['cp-1'],
        dnsNames: [],
        addresses: [],
        controlPlane: true,
      };
      return index === 0 || index === 8 ? live : { ...live, notLive: 'is stopped' };
    });
    const world = (shown: readonly Owner[]) =>
      worldOf({ readings: [{ source: 'ec2', ok: true, lookedAt: 9, owners: shown }] });
    expect(judge(asked(), world(owners)).reason).toBe('EvidenceAmbiguous');
    expect(judge(asked(), world(owners.slice(0, 8))).reason).toBe('Recovered');
  });

  it('is left, and nothing else is, where the judge has a bug', () => {
    const request = asked();
    const broken = {
      ...request,
      get credentials(): never {
        throw new TypeError('a bug');
      },
    };
    expect(judge(broken)).toEqual({
      verdict: 'leave',
      reason: 'JudgeFailed',
      facts: { cause: 'fault', problem: 'TypeError: a bug' },
      hostile: false,
      checks: [],
      names: [],
    });
  });

  it('lets no count of NaN approve', () => {
    const context = worldOf({ approved: new Map([['cp-1', Number.NaN]]) });
    expect(judge(asked(), context).verdict).toBe('leave');
  });
});

describe('a request that is ignored', () => {
  it.each([
    ['NotKubeletClient', { signerName: 'kubernetes.io/kubelet-serving' }],
    ['NotKubeletClient', { signerName: 'kubernetes.io/kube-apiserver-client' }],
    ['Deleting', { deleting: true }],
    ['AlreadyApproved', { conditions: ['Approved'] }],
    ['AlreadyDenied', { conditions: ['Denied'] }],
    ['AlreadyFailed', { conditions: ['Failed'] }],
    ['AlreadyIssued', { certificate: 'eA==' }],
  ] as const)('%s', (reason, fields) => {
    const csr = asked(fields);
    expect(gateReason(csr, KUBELET_CLIENT_SIGNER)?.reason).toBe(reason);
    expect(judge(csr).verdict).not.toBe('approve');
  });
});

describe('policies of two signers', () => {
  const { readings, ...context } = worldOf();
  const recovery = recoveryPolicy(context);
  /** What fleet.yaml refuses. */
  const careless: EnginePolicy = { ...DEFAULT_POLICY, signers: [KUBELET_SERVING_SIGNER, KUBELET_CLIENT_SIGNER] };
  const decide = (csr: SigningRequest, ...policies: readonly EnginePolicy[]) =>
    decideApproval({ cluster: BERLIN, csr, siblings: { pending: 1 } }, indexEvidence(readings), policies, NOW);
  const serving = signingRequest(csrObject({ node: 'cp-1' }));

  it('judge only the requests for their own, in whatever order', () => {
    for (const policies of [
      [recovery, careless],
      [careless, recovery],
    ]) {
      expect(decide(asked(), ...policies)).toMatchObject({ reason: 'Recovered', policy: 'recovery' });
      expect(decide(serving, ...policies)).toMatchObject({ reason: 'Proven', policy: 'default' });
    }
  });

  it('leave the requests for another', () => {
    expect(decide(asked(), careless)).toMatchObject({ verdict: 'ignore', reason: 'NotKubeletServing' });
    expect(decide(serving, recovery)).toMatchObject({ verdict: 'leave', reason: 'NoPolicySelected' });
    // A node that asks for client auth in a serving request, and the other way round.
    expect(decide(asked({ signerName: KUBELET_SERVING_SIGNER, ...own() }), careless, recovery).verdict).toBe('leave');
    expect(decide(asked({ usages: EC_USAGES }), careless, recovery).verdict).toBe('leave');
  });
});

describe('several requests', () => {
  it('approves the newest of a node, and is not misled by newer ones that do not pass', () => {
    const requests = [
      clientCsr({ name: 'old', ageSeconds: 100 }),
      clientCsr({ name: 'new', ageSeconds: 50 }),
      clientCsr({ name: 'hostile', ageSeconds: 1, username: 'mallory' }),
      clientCsr({ name: 'other', node: 'cp-2', ageSeconds: 200 }),
    ].map(signingRequest);
    expect(decided(requests)).toEqual([
      ['old', 'Superseded'],
      ['new', 'Recovered'],
      ['hostile', 'RequesterNotAllowed'],
      ['other', 'Recovered'],
    ]);
  });

  it('takes the last name of two of the same second, in every order', () => {
    const requests = ['csr-a', 'csr-b'].map((name) => asked({ name }));
    for (const given of [requests, requests.toReversed()]) {
      const approved = decided(given).filter(([, reason]) => reason === 'Recovered');
      expect(approved).toEqual([['csr-b', 'Recovered']]);
    }
  });
});

describe('whether a node is asleep', () => {
  it.each<[string, unknown, unknown, Reason | undefined]>([
    ['no Node', undefined, undefined, 'NodeMissing'],
    ['a Node that goes', { metadata: { deletionTimestamp: 'x' } }, undefined, 'NodeMissing'],
    ['Ready', node('True'), undefined, 'StillValid'],
    ['Unknown', node('Unknown'), undefined, undefined],
    [
      'another condition that is True',
      { status: { conditions: [{ type: 'MemoryPressure', status: 'True' }] } },
      undefined,
      undefined,
    ],
    ['a Lease of a minute ago', node('Unknown'), lease('2026-03-02T11:59:00.123456Z'), 'StillValid'],
    ['a Lease of an hour ago', node('Unknown'), lease('2026-03-02T11:00:00.123456Z'), undefined],
    ['Ready, and a Lease of an hour ago', node('True'), renewed(60 * MINUTE), 'StillValid'],
    ['a Lease without a time', node('Unknown'), { spec: {} }, undefined],
    ['a Lease whose time is none', node('Unknown'), lease('soon'), 'NodeUnreadable'],
    ['a Lease whose time is a number', node('Unknown'), lease(5), 'NodeUnreadable'],
  ])('%s', (_, object, found, reason) => {
    expect(asleep(object, found, NOW)).toMatchObject(
      reason === undefined ? { passed: true } : { passed: false, reason },
    );
  });
});

describe('mutations', () => {
  const SEED = 20_261_122;

  it('never approves what differs in one thing or several from what a kubelet sends', () => {
    const changes = FAILING.filter(({ now }) => now === undefined);
    fc.assert(
      fc.property(fc.subarray([...changes], { minLength: 1, maxLength: 4 }), (chosen) => {
        const csr = chosen.reduce<ClientCsrFields>(
          (made, change) => ({ ...made, ...change.csr, request: { ...made.request, ...change.csr?.request } }),
          {},
        );
        const context = chosen.reduce((made, change) => ({ ...made, ...change.context }), worldOf());
        expect(judge(asked(csr), context).verdict).toBe('leave');
      }),
      { seed: SEED, numRuns: 600 },
    );
  });

  it('never approves other bytes than those of a request for the node, and never throws', () => {
    const good = clientCsr();
    const der = Buffer.from(good.spec.request, 'base64');
    fc.assert(
      fc.property(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const bytes = Buffer.from(der);
        bytes[at] = (bytes[at] ?? 0) ^ change;
        const object = { ...good, spec: { ...good.spec, request: bytes.toString('base64') } };
        expect(judge(signingRequest(object)).verdict).not.toBe('approve');
      }),
      { seed: SEED, numRuns: 600, examples: [[0, 1]] },
    );
  });

  it('never approves other usernames or groups', () => {
    const groups = fc.subarray(['system:nodes', 'system:masters', ...BOOTSTRAPPER_GROUPS]);
    const username = fc.oneof(
      fc.constantFrom(BOOTSTRAPPER, 'system:node:cp-1', 'system:node:cp-2', 'system:node:', 'kubernetes-admin'),
      fc.string({ maxLength: 30 }),
      fc.stringMatching(/^system:bootstrap:[a-zA-Z0-9]{5,7}$/),
    );
    fc.assert(
      fc.property(username, groups, (user, given) => {
        const verdict = judge(asked({ username: user, groups: given }));
        const expected = new Set(user === 'system:node:cp-1' ? NODE_GROUPS : BOOTSTRAPPER_GROUPS);
        const mayAsk = user === 'system:node:cp-1' || /^system:bootstrap:[a-z0-9]{6}$/.test(user);
        const isExact = given.length === expected.size && given.every((group) => expected.has(group));
        expect(verdict.verdict).toBe(mayAsk && isExact ? 'approve' : 'leave');
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  it('has an answer for any JSON', () => {
    const good = clientCsr();
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(good.spec), 'extra'), fc.jsonValue(), (field, value) => {
        const read = readSigningRequest({ ...good, spec: { ...good.spec, [field]: value } });
        const verdict = read.ok ? judge(read.csr).verdict : 'leave';
        // Nothing is no extra, and no usages, groups or lifetime that matter.
        expect(verdict === 'approve' && !['extra', 'expirationSeconds'].includes(field)).toBe(false);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });
});
