import { describe, expect, it } from 'vitest';
import { collectClaims } from '../../../../lambdas/approval/claims.ts';
import { decideApproval } from '../../../../lambdas/approval/decide-approval.ts';
import { DEFAULT_POLICY } from '../../../../lambdas/approval/policy.ts';
import { enumerate, RULES } from '../../../../lambdas/approval/rules/rules.ts';
import type { KeyKind } from '../../x509/request-factory.ts';
import { FAILURES, type Failure, KNOWN } from '../failures.ts';
import {
  BERLIN,
  type CsrFields,
  csrObject,
  dns,
  EC_USAGES,
  evidenceFor,
  ips,
  machine,
  NOW,
  RSA_USAGES,
  signingRequest,
} from '../fixtures.ts';

const cluster = { ...BERLIN, serviceCidrs: ['10.96.0.0/12'] };

function decide({
  csr: fields = {},
  sources = KNOWN,
  policy = {},
  claimedMinutesAgo = [],
}: Failure['examples'][number]) {
  const csr = signingRequest(csrObject(fields));
  const claims = collectClaims(NOW);
  claims.add(csr);
  for (const minutes of claimedMinutesAgo)
    for (const sans of [ips('10.0.0.2'), dns('node-1')])
      claims.add(
        signingRequest(csrObject({ name: `${sans[0]?.kind}-${minutes}`, ageSeconds: minutes * 60, request: { sans } })),
      );
  const request = { cluster, csr, siblings: { pending: 1, claims: claims.of(csr.username) } };
  return decideApproval(request, evidenceFor(cluster, sources), [{ ...DEFAULT_POLICY, ...policy }], NOW);
}

describe('a rule that fails', () => {
  const rows = FAILURES.flatMap((failure) => failure.examples.map((example) => ({ ...failure, example })));

  it.each(rows)('$rule: $when → $reason, hostile: $hostile', ({ example, rule, reason, hostile }) => {
    const check = decide(example).checks.find((candidate) => candidate.rule === rule);
    expect(check).toMatchObject({ rule, passed: false, reason, hostile });
    expect(check?.expected).toMatch(/./);
    expect(check?.found).toMatch(/./);
  });

  it.each(rows)('$rule: $when → never approves, and is denied only when hostile', ({ example, hostile }) => {
    expect(decide(example).verdict).toBe('leave');
    const { verdict, checks } = decide({ ...example, policy: { ...example.policy, onHostile: 'deny' } });
    expect(verdict).toBe(hostile || checks.some((check) => check.hostile === true) ? 'deny' : 'leave');
  });

  it('has an example for every rule', () => {
    expect([...new Set(FAILURES.map(({ rule }) => rule))]).toEqual(RULES.map(({ id }) => id));
  });
});

describe('a rule', () => {
  it.each<[KeyKind, readonly string[], string]>([
    ['p256', EC_USAGES, 'P-256'],
    ['p384', EC_USAGES, 'P-384'],
    ['p521', EC_USAGES, 'P-521'],
    ['rsa2048', RSA_USAGES, 'RSA 2048'],
    ['rsa3072', RSA_USAGES, 'RSA 3072'],
    ['ed25519', EC_USAGES, 'Ed25519'],
    ['mldsa44', EC_USAGES, 'ML-DSA-44'],
    ['mldsa65', EC_USAGES, 'ML-DSA-65'],
    ['mldsa87', EC_USAGES, 'ML-DSA-87'],
  ])('takes the key %s and says so', (key, usages, found) => {
    const { verdict, checks } = decide({ csr: { usages, request: { key } } });
    expect(verdict).toBe('approve');
    expect(checks.find(({ rule }) => rule === 'key')?.found).toBe(found);
  });

  it.each<[string, CsrFields]>([
    ['usages in any order, some twice', { usages: ['server auth', 'digital signature', 'server auth'] }],
    ['key encipherment with an ECDSA key', { usages: RSA_USAGES }],
    ['further groups', { groups: ['a', 'system:authenticated', 'b', 'system:nodes'] }],
    ['the shortest lifetime', { expirationSeconds: 600 }],
    ['the longest lifetime', { expirationSeconds: DEFAULT_POLICY.maxExpirationSeconds }],
    ['a subject with the common name first', { request: { subject: subject('cn', 'o') } }],
    ['a subject in UTF8String', { request: { subject: subject('o', 'cn', 'utf8String') } }],
    ['a critical subjectAltName', { request: { sansCritical: true } }],
    ['one name twice', { request: { sans: [...dns('node-1', 'NODE-1'), ...ips('10.0.0.1', '10.0.0.1')] } }],
  ])('takes %s', (_, csr) => {
    expect(decide({ csr }).verdict).toBe('approve');
  });

  it.each<[string, CsrFields, string]>([
    ['extensions', {}, 'subjectAltName'],
    ['extensions', { request: { sans: [] } }, 'none'],
    ['groups', {}, 'system:nodes, system:authenticated'],
    ['san-reserved', { request: { sans: dns('localhost') } }, 'localhost is loopback'],
  ])('%s: %j says what was found', (id, csr, found) => {
    expect(decide({ csr }).checks.find(({ rule }) => rule === id)?.found).toBe(found);
  });

  it('takes a node that is called by its address', () => {
    for (const [node, text] of [
      ['10.0.0.5', '10.0.0.5'],
      ['fd00::5', 'FD00:0::5'],
    ] as const) {
      const sources = { machines: [machine(node, { InternalIP: [text] })] };
      expect(decide({ csr: { node, request: { sans: ips(node) } }, sources }).verdict).toBe('approve');
    }
  });
});

function subject(first: 'o' | 'cn', second: 'o' | 'cn', form?: 'utf8String') {
  const attributes = {
    o: { oid: '2.5.4.10', value: 'system:nodes' },
    cn: { oid: '2.5.4.3', value: 'system:node:node-1' },
  };
  return [first, second].map((which) => [{ ...attributes[which], ...(form === undefined ? {} : { form }) }]);
}

it.each<[readonly string[], boolean, string]>([
  [[], true, 'none'],
  [['a', 'b'], true, '“a”, “b”'],
  [['a', 'b', 'c', 'd', 'e'], false, 'a, b, c, d, e'],
  [['a', 'b', 'c', 'd', 'e', 'f'], false, 'a, b, c, d, e and 1 more'],
])('enumerates %j (quoted: %s)', (entries, quoted, text) => {
  expect(enumerate(entries, quoted)).toBe(text);
});
