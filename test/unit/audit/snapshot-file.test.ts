import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeSnapshot, encodeSnapshot, MAX_OBSERVATIONS } from '../../../lambdas/audit/snapshot-file.ts';
import type { CertificateObservation, MemberObservation } from '../../../lambdas/expiry/observation.ts';
import type { Snapshot } from '../../../lambdas/expiry/snapshot.ts';
import { at, DAY, expiryFinding } from '../fleet/values.ts';

const hex = (n: number) => n.toString(16).padStart(64, '0');

function certificate(n: number): CertificateObservation {
  return {
    kind: 'certificate',
    source: 'tls',
    observedAt: at(),
    what: 'kubelet-serving',
    where: `10.0.${n >> 8}.${n & 255}:10250`,
    member: `worker-${n}`,
    basis: 'certificate',
    notBefore: at(-n * 1_000),
    notAfter: at(365 * DAY - n * 1_000),
    subject: `CN=system:node:worker-${n},O=system:nodes`,
    issuer: 'CN=kubernetes',
    commonName: `system:node:worker-${n}`,
    serialNumber: hex(n * 7_919).slice(32),
    fingerprint: hex(n * 104_729),
    isAuthority: false,
    key: 'P-256',
    issuedByCluster: true,
  };
}

const MEMBER: MemberObservation = {
  kind: 'member',
  source: 'nodes',
  observedAt: at(),
  role: 'worker',
  name: 'Node worker-1',
  createdAt: at(),
  addresses: ['10.0.0.1'],
};

function snapshot(observations: Snapshot['observations']): Snapshot {
  return { version: 1, cluster: 'paris', provider: 'eks', auditedAt: at(), observations, findings: [expiryFinding()] };
}

describe('a snapshot in a file', () => {
  it('comes back as it was', async () => {
    const whole = snapshot([certificate(1), MEMBER]);
    expect(await decodeSnapshot(await encodeSnapshot(whole))).toEqual(whole);
  });

  it('of 10,000 observations is at most 3 MB, and written and read in well under a second', async () => {
    const largest = snapshot(Array.from({ length: MAX_OBSERVATIONS }, (_, n) => certificate(n)));
    const started = performance.now();
    const bytes = await encodeSnapshot(largest);
    const read = await decodeSnapshot(bytes);
    // 300 ms where nothing else runs.
    expect(performance.now() - started).toBeLessThan(3_000);
    expect(bytes.length).toBeLessThan(3_000_000);
    expect(read?.observations).toHaveLength(MAX_OBSERVATIONS);
  });

  it('leaves out the certificates that end last, and says so', async () => {
    const many = Array.from({ length: MAX_OBSERVATIONS + 500 }, (_, n) => certificate(n));
    const read = await decodeSnapshot(await encodeSnapshot(snapshot([...many, MEMBER])));
    const observations = read?.observations ?? [];
    expect(observations).toHaveLength(MAX_OBSERVATIONS);
    expect(observations).toContainEqual(MEMBER);
    expect(observations).toContainEqual(many.at(-1));
    expect(observations).not.toContainEqual(many[0]);
    expect(observations.at(-1)).toMatchObject({
      kind: 'unread',
      source: 'tls',
      where: 'snapshot',
      problem: 'too-large',
      message: expect.stringContaining('502 of 10501 observations are not kept: certificates that end after '),
    });
    expect(read?.findings).toEqual([expiryFinding()]);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['no gzip', Buffer.from('{}')],
    ['no JSON', gzipSync('{')],
    ['another version', gzipSync(JSON.stringify({ ...snapshot([]), version: 2 }))],
    ['something else', gzipSync('[]')],
    ['a small file that becomes a large one', gzipSync(Buffer.alloc(65 * 1024 * 1024, ' '))],
    ['half a file', gzipSync(JSON.stringify(snapshot([]))).subarray(0, 60)],
  ])('is none when it is %s', async (_, bytes) => {
    expect(await decodeSnapshot(bytes)).toBeUndefined();
  });
});
