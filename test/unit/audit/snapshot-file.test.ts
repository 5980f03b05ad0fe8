import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readSnapshot, type Snapshot } from '../../../lambdas/contracts/snapshot.ts';
import { at, DAY, expiryFinding } from '../fleet/values.ts';
import { functionCalls } from '../function-calls.ts';
import { member, certificate as plain } from './fixtures.ts';
import { decodeSnapshot, encodeSnapshot } from './stored-snapshot.ts';

const hex = (n: number) => n.toString(16).padStart(64, '0');

const certificate = (n: number) =>
  plain({
    what: 'kubelet-serving',
    where: `10.0.${n >> 8}.${n & 255}:10250`,
    member: `worker-${n}`,
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
  });

function snapshot(observations: Snapshot['observations']): Snapshot {
  return { version: 1, cluster: 'paris', provider: 'eks', auditedAt: at(), observations, findings: [expiryFinding()] };
}

describe('a snapshot in a file', () => {
  it('comes back as it was', async () => {
    const issued = {
      verdict: 'not-proven',
      why: 'IP 10.0.0.9 is no one’s',
      approvedBy: 'AutoApproved',
      addressOfAnother: true,
      evidenceUnread: true,
    } as const;
    const whole = snapshot([certificate(1), { ...certificate(2), issued }, member()]);
    expect(await decodeSnapshot(await encodeSnapshot(whole))).toEqual(whole);
  });

  const snapshotOf = (count: number) => snapshot(Array.from({ length: count }, (_, n) => certificate(n)));

  it.each([10_000, 50_000])('of %d observations is at most 300 bytes for each, and is read again', async (count) => {
    const bytes = await encodeSnapshot(snapshotOf(count));
    expect(bytes.length).toBeLessThan(count * 300);
    expect((await decodeSnapshot(bytes))?.observations).toHaveLength(count);
  });

  it('of ten times as many observations is ten times the work to read', () => {
    const [some, many] = [1_000, 10_000].map((count) => {
      const whole = snapshotOf(count);
      return functionCalls(() => readSnapshot(whole), /^lambdas/);
    });
    expect(some).toBeGreaterThan(1_000);
    expect(many).toBeLessThan(11 * (some ?? 0));
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['no gzip', Buffer.from('{}')],
    ['no JSON', gzipSync('{')],
    ['another version', gzipSync(JSON.stringify({ ...snapshot([]), version: 2 }))],
    ['something else', gzipSync('[]')],
    ['a class of another version', gzipSync(JSON.stringify(snapshot([{ ...certificate(1), what: 'new' } as never])))],
    ['a small file that becomes a large one', gzipSync(Buffer.alloc(65 * 1024 * 1024, ' '))],
    ['half a file', gzipSync(JSON.stringify(snapshot([]))).subarray(0, 60)],
  ])('is none when it is %s', async (_, bytes) => {
    expect(await decodeSnapshot(bytes)).toBeUndefined();
  });
});
