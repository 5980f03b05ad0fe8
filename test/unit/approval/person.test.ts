import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { conditionByPerson } from '../../../lambdas/approval/act.ts';
import {
  becauseProblem,
  judgeForPerson,
  MAX_BECAUSE,
  overtakenBy,
  refusalOf,
  type Vouched,
} from '../../../lambdas/approval/person.ts';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import type { NameProof, Verdict } from '../../../lambdas/approval/verdict.ts';
import { runs } from '../../runs.ts';
import { BERLIN, csrObject, dns, evidenceFor, ips, machine, NOW, type Sources, signingRequest } from './fixtures.ts';

const SEED = 20_261_123;
const RUNS = runs(1_000);
/** What a terminal obeys, or turns around. */
const OBEYED = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

describe('the words of a person', () => {
  it.each<[string, string, boolean]>([
    ['enough', 'x'.repeat(10), true],
    ['the most', 'x'.repeat(MAX_BECAUSE), true],
    ['of any language', 'Адрес перенесён, заявка 4711 – 移动了', true],
    ['quotes and money', `it's "fine" $(reboot) \`id\``, true],
    ['none', '', false],
    ['too few', 'x'.repeat(9), false],
    ['too many', 'x'.repeat(MAX_BECAUSE + 1), false],
    ['blanks alone', ' '.repeat(50), false],
    ['few among blanks', `${' '.repeat(20)}ok${' '.repeat(20)}`, false],
    ['two lines', 'moved by hand\ncondition Denied', false],
    ['an escape', 'moved by hand \u001b[2J', false],
    ['an escape of one byte', 'moved by hand \u009b2J', false],
    ['what turns text around', 'moved by hand \u202etxt', false],
    ['what has no width', 'moved by\u200bhand', false],
    ['half a character', 'moved by hand \ud800', false],
  ])('%s', (_, because, fine) => {
    expect(becauseProblem(because) === undefined).toBe(fine);
  });

  it('are on the request as they were typed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 600 }), (because) => {
        fc.pre(becauseProblem(because) === undefined);
        const { message } = conditionByPerson({ decision: 'approve', by: 'ada', because });
        expect(message).toBe(`ada: ${because}`);
        expect(message).not.toMatch(OBEYED);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  it('and the user make a condition that is printable and bounded, for any text', () => {
    const anything = fc.string({ unit: 'binary', maxLength: 2_000 });
    fc.assert(
      fc.property(anything, anything, fc.constantFrom('approve', 'deny'), (by, because, decision) => {
        const condition = conditionByPerson({ decision, by, because });
        expect(condition.message).not.toMatch(OBEYED);
        expect(condition.message.length).toBeLessThanOrEqual(1_500);
        expect([condition.type, condition.reason]).toEqual(
          decision === 'approve'
            ? ['Approved', 'CertMarshalApprovedByPerson']
            : ['Denied', 'CertMarshalDeniedByPerson'],
        );
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });
});

const MACHINES = [
  machine('node-1', { InternalIP: ['10.0.0.1'], Hostname: ['node-1'] }),
  machine('node-2', { InternalIP: ['10.0.0.2'], Hostname: ['node-2'] }),
];

function judged(
  fields: Parameters<typeof csrObject>[0] = {},
  sources: Sources = { machines: MACHINES },
  policies: readonly ApprovalPolicy[] = [DEFAULT_POLICY],
): Verdict {
  return judgeForPerson(BERLIN, signingRequest(csrObject(fields)), evidenceFor(BERLIN, sources), policies, NOW);
}

const STOLEN = { request: { sans: [...dns('node-1', 'node-2')] } };

describe('the judgement that a person is shown', () => {
  it.each<[string, Parameters<typeof csrObject>[0]]>([
    ['in time', {}],
    ['that no kubelet waits for any more', { ageSeconds: 3_600 }],
    ['of this second', { ageSeconds: 0 }],
  ])('has every check of a request %s', (_, fields) => {
    expect(judged(fields)).toMatchObject({ verdict: 'approve', reason: 'Proven' });
    const stolen = judged({ ...fields, ...STOLEN });
    expect(stolen).toMatchObject({ verdict: 'leave', reason: 'SanNotOwned', hostile: true });
    expect(stolen.checks.length).toBeGreaterThan(10);
  });

  it('is that of the policies, whatever else they say', () => {
    expect(judged({}, {}, [{ ...DEFAULT_POLICY, clusters: ['other'] }])).toMatchObject({ reason: 'NoPolicySelected' });
    expect(judged(STOLEN, undefined, [{ ...DEFAULT_POLICY, onHostile: 'deny' }])).toMatchObject({
      verdict: 'deny',
      hostile: true,
    });
  });
});

const refused = (verdict: Verdict, more: Partial<Vouched> = {}) =>
  refusalOf({ decision: 'approve', cluster: BERLIN, allRead: true, names: [], ...more, verdict });

describe('what a person may not decide', () => {
  it.each<[string, Parameters<typeof csrObject>[0], RegExp]>([
    ['a request of another signer', { signerName: 'example.com/x' }, /^signer is example\.com\/x$/],
    ['a client certificate', { signerName: 'kubernetes.io/kube-apiserver-client-kubelet' }, /^signer is /],
    ['what is approved', { conditions: ['Approved'] }, /^condition Approved, reason ByHand$/],
    ['what is denied', { conditions: ['Denied'] }, /^condition Denied, reason ByHand$/],
    ['what the signer refused', { conditions: ['Approved', 'Failed'] }, /^condition Failed/],
    ['what is issued', { certificate: 'QQ==' }, /^the certificate is issued$/],
    ['what is being deleted', { deleting: true }, /being deleted/],
  ])('%s', (_, fields, why) => {
    expect(refused(judged(fields))?.message).toMatch(why);
    expect(refused(judged(fields), { decision: 'deny' })?.message).toMatch(why);
  });

  it.each<[string, Parameters<typeof csrObject>[0], Sources?]>([
    ['asks as a user that is no node', { username: 'mallory' }],
    ['was created in the future', { ageSeconds: -3_600 }],
    ['has no policy', { node: 'node-1' }, {}],
  ])('is to approve what was not judged: it %s', (what, fields, sources) => {
    const policies = what === 'has no policy' ? [] : [DEFAULT_POLICY];
    const verdict = judged(fields, sources, policies);
    expect(verdict.checks).toEqual([]);
    expect(refused(verdict)).toMatchObject({ message: expect.stringMatching(/^it was not judged: /) });
    expect(refused(verdict, { names: ['node-1'] })).toBeDefined();
    expect(refused(verdict, { decision: 'deny' })).toBeUndefined();
  });

  it.each<[string, Parameters<typeof csrObject>[0]]>([
    ['that cannot be decoded', { pem: Buffer.from('no request') }],
    ['for usages that no kubelet asks for', { usages: ['digital signature', 'client auth'] }],
    ['in the name of another', { request: { commonName: 'system:node:node-2' } }],
    ['without a name', { request: { sans: [] } }],
    ['for usages, and a name of another', { ...STOLEN, usages: ['digital signature', 'client auth'] }],
    ['without the groups of a node', { groups: ['system:authenticated'] }],
    ['by no name of a Node', { username: 'system:node:Node 1', request: { commonName: 'system:node:Node 1' } }],
    [
      'that is too large',
      { request: { sans: ips(...Array.from({ length: 1_025 }, (_, index) => `10.1.${index >> 8}.${index & 255}`)) } },
    ],
    ['with a name of another kind', { request: { sans: [...dns('node-2'), { kind: 'rfc822Name', value: 'a@b.c' }] } }],
  ])('is to approve a request %s, whatever is typed', (_, fields) => {
    const verdict = judged(fields);
    expect(verdict.verdict).toBe('leave');
    for (const names of [[], ['node-1'], ['node-2'], ['10.0.0.2']])
      expect(refused(verdict, { names })).toMatchObject({
        message: expect.stringContaining('it fails not only because of a name that a person could vouch for'),
      });
    expect(refused(verdict, { decision: 'deny' })).toBeUndefined();
  });

  it('is said by the rules that fail', () => {
    expect(refused(judged({ groups: [] }))?.message).toMatch(/vouch for: groups$/);
  });

  it('is not to deny what is hostile', () => {
    expect(refused(judged(STOLEN), { decision: 'deny' })).toBeUndefined();
  });
});

describe('names that have to be typed', () => {
  const UNKNOWN = { node: 'node-9', request: { sans: [...dns('node-9'), ...ips('10.0.0.9')] } };
  const SHARED = { request: { sans: [...dns('node-1'), ...ips('10.0.0.1')] } };
  const CROWD = Array.from('123456789', (name) => machine(`node-${name}`, { InternalIP: ['10.0.0.1'] }));
  const TAKEN = { node: 'node-9', request: { sans: [...dns('node-9'), ...ips('10.0.0.2')] } };

  it.each<[string, Verdict, boolean, readonly string[] | undefined]>([
    ['all are proven', judged(), true, undefined],
    ['nothing is known of the node', judged(UNKNOWN), true, undefined],
    [
      'nothing is known because evidence could not be read',
      judged(UNKNOWN, { unreadable: ['machine'] }),
      false,
      ['node-9', '10.0.0.9'],
    ],
    ['one is another’s, by a node of which nothing is known', judged(TAKEN), true, ['node-9', '10.0.0.2']],
    ['one is another’s, provably', judged(STOLEN), true, ['node-2']],
    ['another’s address', judged({ request: { sans: [...dns('node-1'), ...ips('10.0.0.2')] } }), true, ['10.0.0.2']],
    ['no one has a DNS name', judged({ request: { sans: dns('node-1', 'dhcp-7') } }), true, ['dhcp-7']],
    ['more have one than can have it', judged(SHARED, { machines: CROWD }), true, ['10.0.0.1']],
    ['a DNS name is none', judged({ request: { sans: dns('node-1', 'node_1') } }), true, ['node_1']],
    ['no one has an address', judged({ request: { sans: [...dns('node-1'), ...ips('10.0.0.7')] } }), true, undefined],
  ])('where %s', (_, verdict, allRead, names) => {
    expect(refused(verdict, { allRead })?.names).toEqual(names);
    if (names === undefined) return;
    expect(refused(verdict, { allRead, names })).toBeUndefined();
    expect(refused(verdict, { allRead, names: names.slice(1) })).toBeDefined();
    expect(refused(verdict, { allRead, names: [...names, '10.0.0.3'] })).toBeDefined();
  });

  it.each<[string, string, Sources]>([
    ['loopback', '127.0.0.1', {}],
    [
      'loopback that a Machine lists',
      '127.0.0.1',
      { machines: [machine('node-1', { InternalIP: ['127.0.0.1'], Hostname: ['node-1'] })] },
    ],
    ['link-local', '169.254.169.254', {}],
  ])('also where no node may have one, and nothing else is wrong: %s', (_, address, sources) => {
    const request = { sans: [...dns('node-1'), ...ips(address)] };
    const verdict = judged({ request }, { machines: MACHINES, ...sources });
    expect(verdict.hostile).toBe(false);
    expect(refused(verdict)).toMatchObject({ message: 'it has a name that no node may have', names: [address] });
    expect(refused(verdict, { names: [address] })).toBeUndefined();
  });

  it('also where one is the endpoint of the API, as a machine of the control plane may list it', () => {
    const request = { sans: dns('node-1', 'berlin.example.com') };
    const listed = machine('node-1', { Hostname: ['node-1', 'berlin.example.com'] });
    expect(refused(judged({ request }, { machines: [listed] }))?.names).toEqual(['berlin.example.com']);
  });

  it('are refused where they are not the ones, also where none was needed', () => {
    expect(refused(judged(UNKNOWN), { names: ['node-9', '10.0.0.9'] })).toBeUndefined();
    const refusal = { names: ['node-9', '10.0.0.9'], remedy: expect.stringMatching(/^Only if you know/) };
    expect(refused(judged(UNKNOWN), { names: ['node-9'] })).toMatchObject(refusal);
    expect(refused(judged(), { names: ['node-1'] })).toMatchObject({ remedy: 'Every name is proven: type no name.' });
  });

  it('are the same in another spelling', () => {
    const verdict: Verdict = {
      ...judged(STOLEN),
      names: [
        { kind: 'ip', name: '2001:db8::1', proven: false },
        { kind: 'dns', name: 'node-2.example.com', proven: false },
      ],
    };
    expect(refused(verdict, { names: ['NODE-2.example.com.', '2001:DB8:0:0::1'] })).toBeUndefined();
  });

  it('are exactly those that are not proven, for every hostile request', () => {
    const address = fc.nat(0xff_ffff).map((host) => `10.${host >> 16}.${(host >> 8) & 0xff}.${host & 0xff}`);
    const aName = fc.oneof(
      address.map((name) => ({ kind: 'ip' as const, name })),
      fc.domain().map((name) => ({ kind: 'dns' as const, name })),
    );
    const proof = fc
      .record({ proven: fc.boolean(), of: aName })
      .map(({ of, proven }): NameProof => ({ ...of, proven }));
    const proofs = fc.uniqueArray(proof, { minLength: 1, maxLength: 8, selector: ({ name }) => name.toLowerCase() });
    fc.assert(
      fc.property(proofs, fc.array(fc.boolean(), { maxLength: 8 }), fc.option(address), (names, picked, more) => {
        const verdict: Verdict = { ...judged(STOLEN), names };
        const typed = names.filter((_, index) => picked[index] === true).map(({ name }) => name);
        if (more !== null) typed.push(more);
        const wanted = names.filter(({ proven }) => !proven).map(({ name }) => name);
        const same = new Set(typed).size === new Set(wanted).size && wanted.every((name) => typed.includes(name));
        expect(refused(verdict, { names: typed }) === undefined).toBe(same && wanted.length > 0);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });
});

describe('what overtook a write', () => {
  it.each<[string, unknown, string]>([
    ['approved', csrObject({ conditions: ['Approved'] }), 'condition Approved, reason ByHand'],
    ['issued', csrObject({ certificate: 'QQ==' }), 'the certificate is issued'],
    ['changed', csrObject(), 'it was changed, and is still pending'],
    ['no request', {}, 'it cannot be read any more: metadata.name is missing or too long'],
  ])('%s', (_, now, why) => {
    expect(overtakenBy('uid-of-csr-1', now)).toBe(why);
  });

  it('another request of the same name', () => {
    const made = csrObject();
    const other = { ...made, metadata: { ...made.metadata, uid: 'a\u001b[2Jb' } };
    expect(overtakenBy('uid-of-csr-1', other)).toBe('another request has its name now, uid a\\u{1b}[2Jb');
  });
});
