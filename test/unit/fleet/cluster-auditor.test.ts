import { describe, expect, it } from 'vitest';
import type { AuditTarget } from '../../../lambdas/audit/audit-target.ts';
import type { Snapshots, StoredSnapshot } from '../../../lambdas/audit/snapshots.ts';
import { AwsError, type AwsErrorKind } from '../../../lambdas/aws/errors.ts';
import type { Snapshot } from '../../../lambdas/expiry/snapshot.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/expiry/thresholds.ts';
import { type AuditEngine, createClusterAuditor, type DueAudit } from '../../../lambdas/fleet/cluster-auditor.ts';
import type { OpenTarget } from '../../../lambdas/fleet/open-target.ts';
import { at, DUBLIN, expiryFinding, MINUTE, NOW, PARIS, TROUBLE } from './values.ts';

const never = new AbortController().signal;
const REACH = { handshakes: true, secrets: false, kubeletMetrics: false };
const failure = (kind: AwsErrorKind) =>
  new AwsError({ kind, object: 's3://history', problem: 'it failed', remedy: 'Wait.' });

function snapshot(changed: Partial<Snapshot> = {}): Snapshot {
  const { id: cluster } = PARIS;
  return { version: 1, cluster, provider: 'eks', auditedAt: at(), observations: [], findings: [], ...changed };
}

/** A bucket with one object, and what was done to it. */
function bucket(stored?: StoredSnapshot, failures: { read?: AwsError[]; write?: AwsError[] } = {}) {
  const state = { stored, written: [] as (readonly [Snapshot, string | undefined])[] };
  const snapshots: Snapshots = {
    async read() {
      const error = failures.read?.shift();
      if (error !== undefined) throw error;
      return state.stored;
    },
    async write(next, etag) {
      const error = failures.write?.shift();
      if (error !== undefined) throw error;
      state.written.push([next, etag]);
    },
  };
  return { state, snapshots };
}

function auditor(snapshots: Snapshots, engine: Partial<AuditEngine> = {}) {
  const seen: { targets: AuditTarget[]; previous: (Snapshot | undefined)[] } = { targets: [], previous: [] };
  const audit = createClusterAuditor({
    snapshots,
    thresholds: DEFAULT_THRESHOLDS,
    eksAudit: (scope, name) => ({ scope, name }) as never,
    clock: () => NOW,
    engine: {
      async audit(target, { previous }) {
        seen.targets.push(target);
        seen.previous.push(previous);
        return { snapshot: snapshot({ findings: [expiryFinding()] }), durationMs: 40, requests: 1 };
      },
      auditUnopened: (_target, problem, { previous }) => {
        seen.previous.push(previous);
        const finding = expiryFinding({ code: 'SourceUnread', message: problem.message });
        return { snapshot: snapshot({ findings: [finding] }), durationMs: 0, requests: 0 };
      },
      assessExpiry: (_cluster, observations, previous) => ({ observations, findings: previous?.findings ?? [] }),
      ...engine,
    },
  });
  return { seen, audit };
}

const open = { cluster: { name: 'paris', provider: 'eks' }, workload: {}, machinesNamespace: 'n' } as OpenTarget;
const due = (changed: Partial<DueAudit> = {}): DueAudit => ({
  target: PARIS,
  reach: REACH,
  open,
  problem: TROUBLE,
  signal: never,
  last: never,
  ...changed,
});

describe('createClusterAuditor', () => {
  it('reads the snapshot before and replaces it after', async () => {
    const before = snapshot({ auditedAt: at(-MINUTE) });
    const { state, snapshots } = bucket({ snapshot: before, etag: '"1"' });
    const { seen, audit } = auditor(snapshots);
    const summary = await audit(due());
    expect(seen.previous).toEqual([before]);
    expect(state.written).toEqual([[snapshot({ findings: [expiryFinding()] }), '"1"']]);
    expect(summary).toMatchObject({ findingCount: 1, durationMs: 40 });
    expect(summary).not.toHaveProperty('snapshotProblem');
    expect(summary).not.toHaveProperty('partial');
  });

  it('writes the first one where there must be none', async () => {
    const { state, snapshots } = bucket();
    await auditor(snapshots).audit(due());
    expect(state.written.map(([, etag]) => etag)).toEqual([undefined]);
  });

  it('asks EKS about clusters of EKS, in their account', async () => {
    const { seen, audit } = auditor(bucket().snapshots);
    await audit(due());
    await audit(due({ target: DUBLIN }));
    expect(seen.targets[0]).toEqual({ id: 'paris', ...open, reach: REACH });
    expect(seen.targets[1]?.eks).toEqual({
      scope: { account: '111122223333', region: 'eu-central-1' },
      name: 'dublin',
    });
  });

  it('does not write over a snapshot that it cannot read', async () => {
    const { state, snapshots } = bucket(undefined, { read: [failure('unavailable')] });
    const summary = await auditor(snapshots).audit(due());
    expect(state.written).toEqual([]);
    expect(summary).toMatchObject({
      partial: true,
      snapshotProblem: 's3://history: it failed. Wait.',
      findings: [expiryFinding()],
    });
  });

  it('writes a damaged snapshot anew, and says what that means', async () => {
    const { state, snapshots } = bucket({ snapshot: undefined, etag: '"9"' });
    const summary = await auditor(snapshots).audit(due());
    expect(state.written.map(([, etag]) => etag)).toEqual(['"9"']);
    expect(summary).toMatchObject({ partial: true, snapshotProblem: expect.stringContaining('was damaged') });
  });

  it('assesses again, once, when somebody else wrote meanwhile', async () => {
    const newer = snapshot({ findings: [expiryFinding({ object: 'theirs' })] });
    const { state, snapshots } = bucket({ snapshot: newer, etag: '"2"' }, { write: [failure('conflict')] });
    const summary = await auditor(snapshots).audit(due());
    expect(state.written).toEqual([[snapshot({ findings: newer.findings }), '"2"']]);
    expect(summary.findings.map(({ object }) => object)).toEqual(['theirs']);
    expect(summary).not.toHaveProperty('snapshotProblem');

    const again = bucket({ snapshot: newer, etag: '"2"' }, { write: [failure('conflict'), failure('conflict')] });
    expect(await auditor(again.snapshots).audit(due())).toMatchObject({
      snapshotProblem: expect.stringContaining('it failed'),
    });
    expect(again.state.written).toEqual([]);
  });

  it('says that a snapshot could not be written, and what it found all the same', async () => {
    const { snapshots } = bucket(undefined, { write: [failure('denied')] });
    const summary = await auditor(snapshots).audit(due());
    expect(summary).toMatchObject({ findingCount: 1, snapshotProblem: expect.stringContaining('it failed') });
    expect(summary).not.toHaveProperty('partial');
  });

  it('goes on with what it knows of a cluster that cannot be opened', async () => {
    const before = snapshot();
    const { seen, audit } = auditor(bucket({ snapshot: before, etag: '"1"' }).snapshots);
    const summary = await audit(due({ open: undefined }));
    expect(seen).toEqual({ targets: [], previous: [before] });
    expect(summary.findings).toMatchObject([{ code: 'SourceUnread', message: TROUBLE.message }]);
  });

  it('hides no bug', async () => {
    const bug = async () => Promise.reject(new TypeError('a bug'));
    await expect(auditor(bucket().snapshots, { audit: bug }).audit(due())).rejects.toThrow('a bug');
  });
});
