import { describe, expect, it } from 'vitest';
import { collectClaims } from '../../../lambdas/approval/claims.ts';
import { decide as decideAll } from '../../../lambdas/approval/decide.ts';
import { decideApproval, FLOOD_LIMIT, gateReason } from '../../../lambdas/approval/decide-approval.ts';
import { collectOpenRequests } from '../../../lambdas/approval/open-requests.ts';
import { type ApprovalPolicy, DEFAULT_POLICY, everywhere } from '../../../lambdas/approval/policy.ts';
import type { ClusterContext, Siblings } from '../../../lambdas/approval/request.ts';
import { RULES } from '../../../lambdas/approval/rules/rules.ts';
import type { SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { verdictDocument } from '../../../lambdas/words/verdict-words.ts';
import {
  BERLIN,
  type CsrFields,
  csrObject,
  DUBLIN,
  dns,
  evidenceFor,
  instance,
  ips,
  machine,
  NOW,
  signingRequest,
} from './fixtures.ts';

const policy = (change: Partial<ApprovalPolicy> = {}): ApprovalPolicy => ({ ...DEFAULT_POLICY, ...change });
const mine = evidenceFor(BERLIN, {
  machines: [machine('node-1', { InternalIP: ['10.0.0.1'], Hostname: ['node-1'] }), machine('node-2')],
});

interface Situation {
  readonly csr?: Partial<SigningRequest>;
  readonly siblings?: Siblings;
  readonly cluster?: ClusterContext;
  readonly policies?: readonly ApprovalPolicy[];
  readonly evidence?: typeof mine;
  readonly now?: number;
}

function decide(fields: CsrFields, situation: Situation = {}) {
  const { csr, siblings = { pending: 1 }, cluster = BERLIN, evidence = mine, now = NOW } = situation;
  const request = { cluster, siblings, csr: { ...signingRequest(csrObject(fields)), ...csr } };
  return verdictDocument(decideApproval(request, evidence, situation.policies ?? [DEFAULT_POLICY], now));
}

const read = (fields: CsrFields): SigningRequest => signingRequest(csrObject(fields));
const hostile: CsrFields = { request: { sans: dns('node-2') } };

describe('a verdict', () => {
  it('of approval says what was proven by what, and shows every check', () => {
    const verdict = decide({ request: { sans: [...dns('node-1'), ...ips('10.0.0.1')] } });
    expect(verdict).toMatchObject({
      verdict: 'approve',
      reason: 'Proven',
      message: 'node-1, 10.0.0.1 ← Machine eksa-system/md-0-node-1',
      policy: 'default',
      mode: 'enforce',
    });
    expect(verdict.checks.map(({ rule, passed }) => [rule, passed])).toEqual(RULES.map(({ id }) => [id, true]));
    const expected = (change: Partial<ApprovalPolicy['keys']>) =>
      decide({}, { policies: [policy({ keys: { ...DEFAULT_POLICY.keys, ...change } })] }).checks.map(
        (one) => one.expected,
      );
    const key = 'P-256, P-384, P-521, RSA ≥ 2048';
    expect(expected({})).toEqual(expect.arrayContaining([`${key}, Ed25519, ML-DSA`, 'exactly “system:node:node-1”']));
    expect(expected({ ed25519: false, mlDsa: false })).toContain(key);
    expect(verdict.names.map(({ name, proven }) => [name, proven])).toEqual([
      ['node-1', true],
      ['10.0.0.1', true],
    ]);
  });

  it('of approval counts names beyond six', () => {
    const addresses = Array.from({ length: 7 }, (_, index) => `10.0.0.${index + 1}`);
    const evidence = evidenceFor(BERLIN, { machines: [machine('node-1', { InternalIP: addresses })] });
    expect(decide({ request: { sans: ips(...addresses) } }, { evidence }).message).toBe(
      '10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, 10.0.0.5, 10.0.0.6 and 1 more ← Machine eksa-system/md-0-node-1',
    );
    expect(decide({ request: { sans: ips(...addresses.slice(0, 6)) } }, { evidence }).message).toMatch(
      /5, 10\.0\.0\.6 ←/,
    );
  });

  it.each([
    ['the address of another node', [...dns('node-1'), ...ips('10.0.0.2')], true],
    ['a name of it that spells one', dns('ec2-203-0-113-25.example'), true],
    ['its own address', ips('10.0.0.1'), false],
    ['the address of another node, while no source lists its own', ips('10.0.0.2'), false, {}],
  ])(
    'of a CSR too old to approve is hostile if it claims %s',
    (_, sans, isHostile, own = { InternalIP: ['10.0.0.1'] }) => {
      const other = { InternalIP: ['10.0.0.2'], ExternalDNS: ['ec2-203-0-113-25.example'] };
      const evidence = evidenceFor(BERLIN, {
        machines: [machine('node-1', own), machine('node-2', other)],
      });
      const csr = { createdAt: NOW - 21 * 60_000 };
      const claims = collectClaims(NOW);
      claims.add({ ...read({ request: { sans } }), ...csr });
      const siblings = { pending: 1, claims: claims.of('system:node:node-1') };
      const { reason, hostile: found } = decide({ request: { sans } }, { csr, siblings, evidence });
      expect([reason, found]).toEqual([isHostile ? 'SanNotOwned' : 'Orphaned', isHostile]);
    },
  );

  it('has the reason of the first rule that failed, and evaluates the others', () => {
    const fields = { request: { sans: dns('auth.evil.io') }, expirationSeconds: 400 * 86_400, groups: [] };
    const { reason, message, checks } = decide(fields);
    expect(reason).toBe('GroupsMissing');
    expect(message).toBe('groups: none; expected system:nodes and system:authenticated among the groups');
    expect(checks.filter(({ passed }) => !passed).map(({ rule }) => rule)).toEqual([
      'groups',
      'expiration',
      'san-proven',
    ]);
  });

  it('evaluates what it can of a request that cannot be decoded', () => {
    const { reason, checks } = decide({ pem: Buffer.from('garbage') });
    expect(reason).toBe('RequestMalformed');
    expect(checks.filter(({ passed }) => passed).map(({ rule }) => rule)).toEqual([
      'requester',
      'groups',
      'usages',
      'expiration',
      'san-standing',
    ]);
  });

  it('leaves a request whose spec.request was no base64', () => {
    expect(decide({}, { csr: { request: undefined } })).toMatchObject({
      verdict: 'leave',
      reason: 'RequestMalformed',
      message: expect.stringContaining('spec.request is missing, not base64, or too large'),
    });
  });

  it('is a verdict even where the judge fails', () => {
    const broken = {
      ...mine,
      ownersOf: () => {
        throw new TypeError('a bug\u001b[2J');
      },
    };
    const problem = 'TypeError: a bug\\u{1b}[2J';
    const said = { reason: 'JudgeFailed', facts: { cause: 'fault', problem }, message: problem, hostile: false };
    expect(decide({}, { evidence: broken })).toEqual({ verdict: 'leave', ...said, checks: [], names: [] });
  });

  it('prints nothing that a cluster could draw with', () => {
    const evil = 'system:node:\u001b[2Jx\u202e\n';
    const verdict = decide({ username: evil, groups: ['\u0007'], request: { commonName: evil, sans: dns('a\r\nb') } });
    expect(JSON.stringify(verdict)).not.toMatch(/\\u001b|\\u0007|\u202e|\\r|\\n/);
    expect(verdict.message).toContain('\\u{1b}');
  });
});

describe('gateReason', () => {
  it.each<[CsrFields, string | undefined]>([
    [{}, undefined],
    // Not a decision.
    [{ conditions: ['Seen', 'approved'] }, undefined],
    [{ conditions: ['Approved', 'Denied', 'Failed'] }, 'AlreadyFailed'],
    [{ conditions: ['Approved', 'Denied'] }, 'AlreadyDenied'],
    [{ conditions: ['Approved'], certificate: 'eA==' }, 'AlreadyIssued'],
    [{ conditions: ['Approved'], deleting: true }, 'Deleting'],
    [{ deleting: true, signerName: 'x' }, 'NotKubeletServing'],
    [{ username: 'jane', signerName: 'x' }, 'NotKubeletServing'],
  ])('names the most telling of several reasons, of %j %s', (fields, reason) => {
    expect(gateReason(read(fields))?.reason).toBe(reason);
  });

  it.each(['System:node:node-1', ' system:node:node-1', 'system:nodes:node-1', 'system:node', ''])(
    'takes the requester %j for no node',
    (username) => {
      expect(gateReason(read({ username, request: { commonName: 'webhook' } }))?.reason).toBe('RequesterNotNode');
    },
  );

  it.each<[string, CsrFields, string]>([
    ['the role of its node', { username: 'arn:aws:iam::111122223333:role/nodes' }, 'RequesterMisnamed'],
    ['a user of another mapping', { username: 'test', groups: ['system:masters'] }, 'RequesterMisnamed'],
    ['an operator that names a node', { username: 'system:serviceaccount:db:operator' }, 'RequesterNotNode'],
    ['a user with bytes that are none', { username: 'test', pem: Buffer.from('x') }, 'RequesterNotNode'],
  ])('tells a kubelet that the API server takes for another user from others: %s', (_, fields, reason) => {
    expect(verdictDocument(gateReason(read(fields))!)).toMatchObject({
      reason,
      message: expect.stringContaining(
        reason === 'RequesterMisnamed' ? 'common name is system:node:node-1, but requester is ' : 'requester is ',
      ),
    });
  });
});

describe('policies that select a request', () => {
  const SELECTING = [['*'], ['berlin'], ['b*'], ['*lin'], ['b*l*n'], ['oslo', 'ber*'], ['**']];
  const OTHERS = [[], ['oslo'], ['ber'], ['Berlin'], ['b.*'], ['berli?'], ['(b|x)erlin'], ['']];
  it.each([
    ...SELECTING.map((clusters) => [clusters, true] as const),
    ...OTHERS.map((clusters) => [clusters, false] as const),
  ])('are chosen by globs over the name of the cluster: %j → %s', (clusters, selected) => {
    const { reason } = decide({}, { policies: [policy({ clusters })] });
    expect(reason).toBe(selected ? 'Proven' : 'NoPolicySelected');
  });

  it('match a name with the characters of patterns as it stands', () => {
    const cluster = { ...BERLIN, name: 'a.b+c(d)[e]{f}^$|\\' };
    const policies = [policy({ clusters: ['a.b+c(d)[e]{f}^$|*'] })];
    expect(decide({}, { cluster, policies }).reason).not.toBe('NoPolicySelected');
    expect(decide({}, { cluster: { ...cluster, name: 'axb+c(d)[e]{f}^$|' }, policies }).reason).toBe(
      'NoPolicySelected',
    );
  });

  it('are chosen by provider and signer', () => {
    expect(decide({}, { policies: [policy({ providers: ['eks'] })] }).reason).toBe('NoPolicySelected');
    expect(decide({}, { policies: [policy({ signers: ['example.com/signer'] })] })).toMatchObject({
      verdict: 'leave',
      reason: 'NoPolicySelected',
      message: 'no policy selects cluster berlin (eks-anywhere)',
    });
  });
});

describe('several policies', () => {
  const machines = policy({ name: 'machines', evidence: ['machine'] });
  const instances = policy({ name: 'instances', evidence: ['ec2'] });

  it('approve when one of them does, in any order', () => {
    for (const policies of [
      [machines, instances],
      [instances, machines],
    ])
      expect(decide({}, { policies })).toMatchObject({ verdict: 'approve', policy: 'machines' });
  });

  it('approve by one that enforces rather than by one that observes', () => {
    const observing = policy({ name: 'observing', mode: everywhere('observe') });
    expect(decide({}, { policies: [observing, machines] })).toMatchObject({ policy: 'machines', mode: 'enforce' });
    const other = policy({ name: 'other', mode: everywhere('observe') });
    for (const policies of [
      [observing, instances],
      [observing, other],
    ])
      expect(decide({}, { policies })).toMatchObject({ verdict: 'approve', policy: 'observing', mode: 'observe' });
  });

  it('are not joined: half proven by each is not proven', () => {
    const evidence = evidenceFor(DUBLIN, {
      machines: [{ ...machine('i-1'), spec: { clusterName: 'dublin' }, metadata: { name: 'm' } }],
      instances: [instance('i-1', '10.0.1.23')],
    });
    const fields = { node: 'i-1', ageSeconds: 180, request: { sans: [...dns('i-1'), ...ips('10.0.1.23')] } };
    const strict = policy({ keys: { ...DEFAULT_POLICY.keys, ecdsaCurves: [] } });
    expect(decide(fields, { cluster: DUBLIN, evidence, policies: [machines, strict] }).verdict).toBe('leave');
    expect(decide(fields, { cluster: DUBLIN, evidence, policies: [machines, instances] }).verdict).toBe('approve');
  });

  it('explain by the one that came nearest', () => {
    const strict = policy({ name: 'strict', evidence: ['machine'], maxExpirationSeconds: 600 });
    const fields = { ...hostile, expirationSeconds: 3600 };
    for (const policies of [
      [strict, machines],
      [machines, strict],
    ])
      expect(decide(fields, { policies })).toMatchObject({ policy: 'machines', reason: 'SanNotOwned' });
    const alike = [policy({ name: 'first' }), policy({ name: 'second' })];
    expect(decide(fields, { policies: alike })).toMatchObject({ policy: 'first' });
  });
});

describe('denial', () => {
  const denying = policy({ name: 'denying', onHostile: 'deny' });
  const leaving = policy({ name: 'leaving' });

  it('is for what is provably hostile, where the policy opts in', () => {
    expect(decide(hostile, { policies: [denying] })).toMatchObject({ verdict: 'deny', reason: 'SanNotOwned' });
    expect(decide(hostile, { policies: [leaving] })).toMatchObject({ verdict: 'leave', reason: 'SanNotOwned' });
    expect(decide({ request: { sans: ips('10.0.0.9') } }, { policies: [denying] }).verdict).toBe('leave');
  });

  it.each([[denying], [leaving]])('has the reason that is hostile, not the first, with %o', (only) => {
    const late = { expirationSeconds: 400 * 86_400 };
    expect(decide({ ...hostile, ...late }, { policies: [only] }).reason).toBe('SanNotOwned');
    expect(decide({ ...late, request: { sans: dns('*.x.io') } }, { policies: [only] }).reason).toBe('SanWildcard');
  });

  it.each([[{ expirationSeconds: 400 * 86_400 }], [{ usages: ['server auth'] }], [{ groups: [] }]])(
    'says that another node owns a name, whatever else is wrong: %o',
    (also) => {
      const machines = [['node-1', '10.0.0.1'] as const, ['node-2', '10.0.0.2'] as const].map(([name, address]) =>
        machine(name, { InternalIP: [address], Hostname: [name] }),
      );
      const evidence = evidenceFor(BERLIN, { machines });
      const fields = {
        request: { sans: [...dns('*.evil.io', 'auth.evil.io', 'node-2'), ...ips('10.0.0.77')] },
        ...also,
      };
      for (const only of [denying, leaving])
        expect(decide(fields, { evidence, policies: [only] })).toMatchObject({
          reason: 'SanNotOwned',
          facts: { cause: 'of-another', name: { kind: 'dns', value: 'node-2' } },
          hostile: true,
        });
    },
  );

  it.each([
    ['one of two does not opt in', [denying, leaving]],
    ['one that judges younger requests only does not', [denying, policy({ age: window(0, 5) })]],
    ['one that judges older requests only does not', [denying, policy({ age: window(60, 900) })]],
    ['one of two finds nothing hostile', [denying, policy({ onHostile: 'deny', evidence: ['ec2'] })]],
  ])('needs every policy that selects the request: %s', (_, policies) => {
    for (const some of [policies, policies.toReversed()])
      expect(decide(hostile, { policies: some }).verdict).toBe('leave');
  });

  it('is not hindered by a policy for other clusters', () => {
    expect(decide(hostile, { policies: [denying, policy({ clusters: ['oslo'] })] }).verdict).toBe('deny');
  });

  it('yields to an approval', () => {
    expect(decide({}, { policies: [policy({ onHostile: 'deny', evidence: ['ec2'] }), leaving] }).verdict).toBe(
      'approve',
    );
  });

  it('is only observed as long as one policy observes', () => {
    const observing = policy({ onHostile: 'deny', mode: everywhere('observe') });
    expect(decide(hostile, { policies: [denying, observing] })).toMatchObject({ verdict: 'deny', mode: 'observe' });
    expect(decide(hostile, { policies: [denying, denying] })).toMatchObject({ verdict: 'deny', mode: 'enforce' });
  });
});

/** The same window for both providers. */
function window(minSeconds: number, maxSeconds: number): ApprovalPolicy['age'] {
  return { eks: { minSeconds, maxSeconds }, 'eks-anywhere': { minSeconds, maxSeconds } };
}

describe('age', () => {
  const node = 'i-1';
  const evidence = evidenceFor(DUBLIN, { instances: [instance(node, '10.0.1.23')] });
  const onEks = (milliseconds: number) =>
    decide({ node, ageSeconds: 0 }, { cluster: DUBLIN, evidence, now: NOW + milliseconds });
  const elsewhere = (milliseconds: number) => decide({ ageSeconds: 0 }, { now: NOW + milliseconds });

  it.each([
    // On EKS from 2 to 15 minutes.
    ['eks', -1000, 'TooYoung'],
    ['eks', 0, 'TooYoung'],
    ['eks', 119_999, 'TooYoung'],
    ['eks', 120_000, 'Proven'],
    ['eks', 900_000, 'Proven'],
    ['eks', 900_001, 'Orphaned'],
    ['eks', 86_400_000, 'Orphaned'],
    // Elsewhere from the first moment, with 5 minutes of tolerance.
    ['eks-anywhere', -300_001, 'ClockSkew'],
    ['eks-anywhere', -300_000, 'Proven'],
    ['eks-anywhere', 0, 'Proven'],
    ['eks-anywhere', 900_000, 'Proven'],
    ['eks-anywhere', 900_001, 'Orphaned'],
  ])('on %s at %d ms is judged: %s', (provider, milliseconds, reason) => {
    expect((provider === 'eks' ? onEks : elsewhere)(milliseconds).reason).toBe(reason);
  });

  it('out of the window is ignored, naming the window', () => {
    expect(onEks(30_000)).toMatchObject({
      verdict: 'ignore',
      message: '30 s old; judged between 120 and 900 s',
      policy: 'default',
      checks: [],
    });
  });

  it('is judged by those policies whose window it is in', () => {
    const early = policy({ name: 'early', age: window(0, 60) });
    const late = policy({ name: 'late', age: window(60, 900) });
    expect(decide({ ageSeconds: 59 }, { policies: [late, early] }).policy).toBe('early');
    expect(decide({ ageSeconds: 61 }, { policies: [early, late] }).policy).toBe('late');
  });

  it('that cannot be told leaves the request', () => {
    expect(decide({}, { csr: { createdAt: undefined } })).toMatchObject({
      verdict: 'leave',
      reason: 'ObjectMalformed',
    });
  });
});

describe('siblings', () => {
  it('supersede a request', () => {
    expect(decide({}, { siblings: { pending: 2, supersededBy: 'csr-2' } })).toMatchObject({
      verdict: 'ignore',
      reason: 'Superseded',
      message: 'csr-2 is newer',
    });
  });

  it('are a flood above the limit', () => {
    expect(decide({}, { siblings: { pending: FLOOD_LIMIT } }).verdict).toBe('approve');
    expect(decide({}, { siblings: { pending: FLOOD_LIMIT + 1 } })).toMatchObject({
      verdict: 'leave',
      reason: 'RequesterQuarantined',
    });
  });

  it('count as long as the policy that waits longest, and one that cannot be written back is left', () => {
    const csr = signingRequest(csrObject({}));
    const policies = [policy({ age: window(0, 60) }), policy({ age: window(0, 900) })];
    const subject = { name: csr.name, uid: csr.uid, resourceVersion: '1', metadata: {}, conditions: [] };
    const askedAt = Array.from({ length: FLOOD_LIMIT + 1 }, () => NOW - 900_000);
    const open = [subject, undefined].map((one) => ({ csr, subject: one, askedAt }));
    expect([...decideAll(BERLIN, { open, evidence: mine }, policies, NOW)].map(({ verdict }) => verdict)).toMatchObject(
      [
        { verdict: 'leave', reason: 'RequesterQuarantined' },
        { verdict: 'leave', reason: 'ObjectMalformed', hostile: false },
      ],
    );
  });

  it('of one requester who floods leave one quarantined row and everybody else approved', () => {
    const flood = Array.from({ length: 10_000 }, (_, index) => ({ name: `flood-${index}`, node: 'node-1' }));
    const others = Array.from({ length: 20 }, (_, index) => ({ name: `other-${index}`, node: `worker-${index}` }));
    const machines = [...others.map(({ node }) => node), 'node-1'].map((node) => machine(node));
    const [template] = [signingRequest(csrObject({ node: 'node-1' }))];
    const requests = [
      ...flood.map(({ name }) => ({ ...template, name, uid: name })),
      ...others.map((fields) => signingRequest(csrObject(fields))),
    ];
    const evidence = evidenceFor(BERLIN, { machines });
    const open = collectOpenRequests();
    const counts = new Map<string, number>();
    const count = (reason: string) => counts.set(reason, (counts.get(reason) ?? 0) + 1);
    for (const csr of requests)
      if (
        open.add(csr, { name: csr.name, uid: csr.uid, resourceVersion: '1', metadata: {}, conditions: [] }) !== 'kept'
      )
        count('Superseded');
    const observed = { open: open.all(), ignored: new Map(), unreadable: [], unreadableCount: 0, evidence };
    for (const { verdict } of decideAll(BERLIN, observed, [DEFAULT_POLICY], NOW)) count(verdict.reason);
    expect(Object.fromEntries(counts)).toEqual({ Superseded: 9999, RequesterQuarantined: 1, Proven: 20 });
  });
});
