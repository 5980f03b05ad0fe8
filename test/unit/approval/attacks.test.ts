import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { decideCommand } from '../../../bin/commands/decide.ts';
import { decideApproval } from '../../../lambdas/approval/decide-approval.ts';
import type { Evidence, Owners } from '../../../lambdas/approval/evidence/evidence.ts';
import { collectOpenRequests } from '../../../lambdas/approval/open-requests.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { report } from '../../../lambdas/approval/report.ts';
import type { ClusterContext } from '../../../lambdas/approval/request.ts';
import type { Verdict } from '../../../lambdas/approval/verdict.ts';
import { updateApproval } from '../../../lambdas/kubernetes/certificate-signing-requests.ts';
import type { ApiCall, KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { approvalSubjectOf } from '../../../lambdas/resources/approval-subject.ts';
import type { EvidenceSource } from '../../../lambdas/tables/evidence-sources.ts';
import { verdictSentence } from '../../../lambdas/words/verdict-words.ts';
import { recordedIo } from '../bin/io.ts';
import { functionCalls } from '../function-calls.ts';
import { makeRequest, toPem } from '../x509/request-factory.ts';
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
  nodeObject,
  type Sources,
  signingRequest,
  timestamp,
} from './fixtures.ts';

// What an attacker tried. The comments say what was possible before.

const policy = (evidence: readonly EvidenceSource[], ...dnsNames: readonly string[]) => ({
  ...DEFAULT_POLICY,
  evidence,
  patterns: { cidrs: [], dnsNames },
});

function judge(
  fields: CsrFields,
  sources: Sources,
  using = policy(DEFAULT_POLICY.evidence),
  cluster: ClusterContext = BERLIN,
): Verdict {
  const csr = signingRequest(csrObject(fields));
  return decideApproval({ cluster, csr, siblings: { pending: 1 } }, evidenceFor(cluster, sources), [using], NOW);
}

/** A CertificateSigningRequest whose metadata and spec are changed. */
function changed(fields: CsrFields, metadata: object, spec: object = {}) {
  const object = csrObject(fields);
  return { ...object, metadata: { ...object.metadata, ...metadata }, spec: { ...object.spec, ...spec } };
}

function openRequest(object: unknown) {
  const subject = approvalSubjectOf(object);
  if (subject === undefined) throw new Error('no subject');
  return [signingRequest(object), subject] as const;
}

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('a node that speaks for another', () => {
  // the name of a Node is no DNS name of its owner, so nobody contests it.
  it('cannot claim the name of a Node in its own status', () => {
    const nodes = [nodeObject('evil', { Hostname: ['victim'] }), nodeObject('victim', { InternalIP: ['10.0.0.9'] })];
    expect(judge({ node: 'evil', request: { sans: dns('victim') } }, { nodes }, policy(['node'])).verdict).toBe(
      'leave',
    );
  });

  // node names hold dots, so two patterns can give one DNS name to two nodes.
  it('cannot reach a name of another node through a second pattern', () => {
    const verdict = judge(
      { node: 'victim.corp', request: { sans: dns('victim.corp.example.com') } },
      { nodes: [nodeObject('victim.corp'), nodeObject('victim', { InternalIP: ['10.0.0.9'] })] },
      policy(['patterns'], '{node}.corp.example.com', '{node}.example.com'),
    );
    expect(verdict.verdict).toBe('leave');
  });

  const address = { node: 'evil', request: { sans: ips('10.0.0.9') } };
  const claimed = {
    nodes: [nodeObject('evil', { InternalIP: ['10.0.0.9'] })],
    machines: [machine('victim', { InternalIP: ['10.0.0.9'] })],
  };

  it('cannot contest or claim with its status what a Machine has', () => {
    expect(judge(address, claimed, policy(['machine', 'node'])).reason).toBe('SanContested');
  });

  // a source that cannot be read contests nothing, so the weaker source decides alone.
  it('cannot claim it while the Machines cannot be read either', () => {
    const sources: Sources = { ...claimed, unreadable: ['machine'] };
    expect(judge(address, sources, policy(['machine', 'node'])).verdict).toBe('leave');
  });

  it('cannot have an address of the service CIDR, whatever its status says', () => {
    const node = nodeObject('evil', { InternalIP: ['10.96.0.1', '::ffff:10.96.0.1'] });
    const cluster = { ...BERLIN, serviceCidrs: ['10.96.0.0/12'] };
    for (const name of ['10.96.0.1', '::ffff:10.96.0.1'])
      expect(
        judge({ node: 'evil', request: { sans: ips(name) } }, { nodes: [node] }, policy(['node']), cluster).reason,
      ).toBe('SanReserved');
  });

  it.each(['$&', '$`', "$'", 'a\nb', 'kube\u212a', 'worker-1.', 'Worker', '__proto__', '10.0.0.1\0', '*', '{node}'])(
    'gains nothing by the name %j',
    (node) => {
      const fields = { node, request: { commonName: `system:node:${node}`, sans: dns('worker-1.corp.example.com') } };
      const sources = { nodes: [nodeObject(node, { Hostname: ['worker-1.corp.example.com'] })], machines: [] };
      expect(judge(fields, sources, policy(['node', 'patterns'], '{node}.corp.example.com')).reason).toBe(
        'NodeNameInvalid',
      );
    },
  );

  it.each(['constructor', 'tostring', 'hasownproperty'])('owns nothing because it is called %s', (node) => {
    expect(judge({ node }, { machines: [machine('node-1')] }).reason).toBe('EvidenceMissing');
  });

  it('cannot hide names behind the block that the judge reads', () => {
    const [own, other] = ['node-1', 'node-2'].map((name) => makeRequest({ sans: dns(name) }));
    for (const pem of [
      Buffer.concat([own!.pem, other!.pem]),
      Buffer.concat([other!.pem, own!.pem]),
      Buffer.concat([own!.pem, Buffer.alloc(1000, ' ')]),
      toPem(Buffer.concat([own!.der, other!.der])),
    ])
      expect(judge({ pem }, { machines: [machine('node-1')] }).reason).toBe('RequestMalformed');
  });

  it('cannot make more work than its names are, with the worst that a request and a status can hold', () => {
    const many = (count: number, net: number) =>
      Array.from({ length: count }, (_, index) => `10.${net}.${(index >> 8) & 0xff}.${index & 0xff}`);
    const csr = signingRequest(
      csrObject({ request: { key: 'p521', sans: [...dns('node-1'), ...ips(...many(1000, 200))] } }),
    );
    const evidence = evidenceFor(BERLIN, { nodes: [nodeObject('node-1', { InternalIP: many(30_000, 1) })] });
    const request = { cluster: BERLIN, csr, siblings: { pending: 1 } };
    const calls = functionCalls(() => decideApproval(request, evidence, [policy(['node'])], NOW));
    // The 30,000 addresses of the status take none of them.
    expect(calls).toBeLessThan(150 * 1001);
  });
});

describe('a cluster that makes up its Machines', () => {
  const [COUNT, SANS] = [20_000, 1_024];
  const names = ['x0', 'x1', 'x2', 'x3', 'x4'];
  const machines = Array.from({ length: COUNT }, (_, index) =>
    machine(index % 2 === 0 ? 'node-1' : 'other', { Hostname: names }, `m-${index}`),
  );

  /** The same evidence, which counts the objects that a judgement may look at. */
  function counting(evidence: Evidence) {
    const work = { lookups: 0, owners: 0 };
    const counted = (found: Owners): Owners => {
      work.lookups += 1;
      work.owners += found.owners.length;
      return found;
    };
    const counter: Evidence = {
      readings: evidence.readings,
      ownersOf: (node) => counted(evidence.ownersOf(node)),
      holdersOf: (kind, name) => counted(evidence.holdersOf(kind, name)),
    };
    return { work, counter };
  }

  it.each<[string, readonly string[], number]>([
    ['few names, each asked for often', Array.from({ length: SANS }, (_, index) => names[index % 5] ?? ''), 5],
    ['many names', Array.from({ length: SANS }, (_, index) => `x${index}`), SANS],
  ])('decides with the work of the names of a request, each once: %s', (_, sans, distinct) => {
    const { work, counter } = counting(evidenceFor(BERLIN, { machines }));
    for (const name of ['csr-1', 'csr-2', 'csr-3']) {
      const csr = signingRequest(csrObject({ name, request: { sans: dns(...sans) } }));
      const request = { cluster: BERLIN, csr, siblings: { pending: 1 } };
      const verdict = decideApproval(request, counter, [DEFAULT_POLICY], NOW);
      expect(verdict).toMatchObject({ verdict: 'leave', hostile: false });
      expect(verdict.names).toHaveLength(distinct);
    }
    expect(work.lookups).toBeLessThan(3 * (3 * distinct + 5));
    expect(work.owners).toBeLessThan(3 * 8 * (names.length + 5));
  });

  it('leaves a name that more objects have than a name can have, also to a node that has it', () => {
    const nine = Array.from({ length: 9 }, (_, index) => machine(`node-${index}`, { InternalIP: ['10.0.0.1'] }));
    const csr = signingRequest(csrObject({ request: { sans: ips('10.0.0.1') } }));
    for (const some of [nine, nine.toReversed()])
      expect(
        decideApproval(
          { cluster: BERLIN, csr, siblings: { pending: 1 } },
          evidenceFor(BERLIN, { machines: some }),
          [DEFAULT_POLICY],
          NOW,
        ),
      ).toMatchObject({
        verdict: 'leave',
        reason: 'SanContested',
        facts: { cause: 'crowded', name: { kind: 'ip', value: '10.0.0.1' }, source: 'machine' },
      });
  });
});

describe('a requester that floods', () => {
  it('cannot keep an old request from being superseded by a condition that decides nothing', () => {
    const open = collectOpenRequests();
    for (const fields of [
      { name: 'old', ageSeconds: 800, conditions: ['Audited'] },
      { name: 'newer', ageSeconds: 10 },
    ])
      open.add(...openRequest(csrObject(fields)));
    expect(open.all().map(({ csr }) => csr.name)).toEqual(['newer']);
  });

  // a bootstrap credential makes 20 nodes; their padded requests come first in the list and fill the room of everybody.
  it('cannot crowd out the small request of an honest node', () => {
    const open = collectOpenRequests();
    const fill = (size: number, identities: number) => {
      for (let identity = 0; identity < identities; identity += 1)
        for (let index = 0; index < 51; index += 1) {
          const name = `a-${size}-${identity}-${index}`;
          open.add(...openRequest(csrObject({ name, node: `evil-${size}-${identity}`, pem: Buffer.alloc(size, 'A') })));
        }
    };
    fill(98_304, 14);
    fill(1_998, 2);
    fill(300, 1);
    expect(open.add(...openRequest(csrObject({ name: 'csr-honest' })))).toBe('kept');
  });

  // only spec.request counts; groups, usages and metadata of a hostile API server are kept for nothing.
  it('cannot have more kept than the limit by what is not the PEM', () => {
    const open = collectOpenRequests({ ordinary: 1024 * 1024, large: 1024 * 1024 });
    const groups = Array.from({ length: 256 }, () => 'x'.repeat(1024));
    const added = Array.from({ length: 20 }, (_, index) =>
      open.add(...openRequest(changed({ name: `${index}`, node: `n${index}` }, {}, { groups, request: '' }))),
    );
    expect(added).toContain('refused');
  });
});

describe('a hostile API server', () => {
  // JSON.parse takes any depth, JSON.stringify does not; the RangeError ends the sweep as a bug of ours.
  it('cannot stop a sweep with metadata that is nested deep', () => {
    const labels: unknown = JSON.parse(nested(200_000));
    expect(approvalSubjectOf(changed({}, { labels }))).toBeUndefined();
  });

  // each of up to 64 writes at once may answer with as much as a list (32 MiB): 2.5 GB of memory were seen.
  it('cannot answer a write with more than an object takes', async () => {
    const calls: ApiCall[] = [];
    const client: KubernetesClient = {
      server: 'https://berlin.example.com',
      stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 },
      request: async (call) => {
        calls.push(call);
        return {};
      },
      close: () => {},
    };
    const [, subject] = openRequest(csrObject());
    await updateApproval(client, subject, { type: 'Approved', reason: 'R', message: '' }, AbortSignal.timeout(1000));
    expect(calls[0]?.maxResponseBytes).toBeLessThanOrEqual(4 * 1024 * 1024);
  });

  // the uid is the one text of a row that is printed as it came; JSON.stringify leaves C1 and bidi characters.
  it('cannot draw on a terminal through --output json', () => {
    const [csr] = openRequest(changed({}, { uid: 'u\u009b31m\u202e' }));
    const verdict = { verdict: 'leave', reason: 'SanMissing', facts: { cause: 'deleting' }, hostile: true } as const;
    const acted = { csr, verdict, outcome: { kind: 'none' } } as const;
    const { rows } = report({
      cluster: 'berlin',
      provider: 'eks-anywhere',
      startedAt: NOW,
      finishedAt: NOW,
      acted: [acted],
      requests: { sent: 0, writes: 0, retries: 0 },
    });
    expect(JSON.stringify(rows)).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('cannot draw through any part of a verdict, nor make a condition larger than 32 KiB', () => {
    const evil = '\u001b[31m\r\n\u202e\u2028';
    const verdict = judge(
      {
        node: `n${evil}`,
        groups: Array.from({ length: 256 }, () => evil.repeat(100)),
        usages: [...EC_USAGES, evil.repeat(100)],
        request: {
          commonName: evil.repeat(100),
          sans: dns(...Array.from({ length: 200 }, () => '\u001b\r\n'.repeat(80))),
        },
      },
      { machines: [machine('node-2', {}, `m${evil}`)] },
    );
    expect(verdict.verdict).toBe('leave');
    const message = verdictSentence(verdict.facts);
    for (const text of [message, ...verdict.checks.map(({ found, expected }) => `${found}${expected}`)])
      expect(text).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
    expect(message.length).toBeLessThan(32 * 1024);
  });
});

describe('certmarshal decide', () => {
  const record = (id: string, more: object = {}) =>
    JSON.stringify({
      id,
      cluster: { name: 'berlin', provider: 'eks-anywhere' },
      csr: csrObject(),
      machines: [machine('node-1')],
      now: timestamp(0),
      ...more,
    });

  async function decided(...lines: string[]): Promise<Record<string, unknown>[]> {
    const io = recordedIo({ now: NOW });
    await decideCommand([DEFAULT_POLICY], { ...io, stdin: Readable.from([`${lines.join('\n')}\n`]) });
    const answers = io.stdout.text().trimEnd().split('\n');
    return answers.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  // the id goes out as it came in, and JSON.stringify throws; the lines after it are never judged.
  it('is not ended by an id that is nested deep', async () => {
    const answers = await decided(record('a'), record('deep').replace('"deep"', nested(200_000)), record('b'));
    expect(answers).toHaveLength(3);
  });

  // readline ends a line at U+2028 and U+2029, which JSON.stringify and jq write as they are.
  it('gives one answer a line, whatever separators are in the text of a Node', async () => {
    const answers = await decided(record('a'), record('b', { nodes: [nodeObject('x\u2028[]\u2029y')] }), record('c'));
    expect(answers.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  it('judges a request with deep or inherited fields like any other', async () => {
    const deep = record('deep').replace('"metadata":{', `"metadata":{"labels":${nested(200_000)},`);
    const proto = record('proto').replace('"spec":{', '"__proto__":{"spec":{}},"constructor":null,"spec":{');
    expect((await decided(deep, proto)).map(({ verdict }) => verdict)).toEqual(['approve', 'approve']);
  });
});
