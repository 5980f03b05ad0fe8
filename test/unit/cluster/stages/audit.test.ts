import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { assessExpiry } from '../../../../lambdas/audit/assess.ts';
import type { AuditTarget } from '../../../../lambdas/audit/audit-target.ts';
import { DEFAULT_THRESHOLDS } from '../../../../lambdas/audit/rules/thresholds.ts';
import type { Snapshots, StoredSnapshot } from '../../../../lambdas/audit/snapshots.ts';
import { AwsError, type AwsErrorKind } from '../../../../lambdas/aws/errors.ts';
import type { OpenTarget } from '../../../../lambdas/cluster/connect/connect.ts';
import type { StageContext } from '../../../../lambdas/cluster/stage.ts';
import { type AuditEngine, createAuditStage } from '../../../../lambdas/cluster/stages/audit.ts';
import type { FleetIndex } from '../../../../lambdas/contracts/fleet-index.ts';
import type { Observation } from '../../../../lambdas/contracts/observation.ts';
import type { OrderedAudit } from '../../../../lambdas/contracts/order.ts';
import type { Snapshot } from '../../../../lambdas/contracts/snapshot.ts';
import type { Target } from '../../../../lambdas/contracts/target.ts';
import { foldOutcomes } from '../../../../lambdas/fleet/fold-outcomes.ts';
import { decodeSnapshot, encodeSnapshot } from '../../../unit/audit/stored-snapshot.ts';
import { at, DAY, DUBLIN, expiryFinding, MINUTE, NOW, PARIS, swept, TROUBLE } from '../../fleet/values.ts';
import { contextOf } from '../stage-context.ts';

const ORDERED: OrderedAudit = { secrets: false, kubeletMetrics: false };
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
  const stage = createAuditStage({
    snapshots,
    thresholds: DEFAULT_THRESHOLDS,
    policies: [],
    eksAudit: (scope, name) => ({ scope, name }) as never,
    clock: () => NOW,
    engine: {
      async audit(target, { previous }) {
        seen.targets.push(target);
        seen.previous.push(previous);
        return { snapshot: snapshot({ findings: [expiryFinding()] }), durationMs: 40, requests: 1 };
      },
      auditUnopened: async (_target, problem, { previous }) => {
        seen.previous.push(previous);
        const finding = expiryFinding({ code: 'SourceUnread', object: problem.message });
        return { snapshot: snapshot({ findings: [finding] }), durationMs: 0, requests: 0 };
      },
      ...engine,
    },
  });
  return { seen, audit: resultOf(stage) };
}

const open = { cluster: { name: 'paris', provider: 'eks' }, workload: {}, machinesNamespace: 'n' } as OpenTarget;
/** An audit of a cluster. */
const due = (
  context: Partial<StageContext<OrderedAudit>> & { readonly target?: Target; readonly known?: true } = {},
): StageContext<OrderedAudit> => {
  const { target = PARIS, known, ...more } = context;
  return contextOf(target, { due: { ...ORDERED, known }, open, trouble: TROUBLE, ...more });
};
const resultOf = (stage: ReturnType<typeof createAuditStage>) => async (context: StageContext<OrderedAudit>) => {
  const { result, problems } = await stage(context);
  if (result === undefined || problems.length > 0) throw new Error('no summary, or problems beside it');
  return result;
};

describe('createAuditStage', () => {
  it('reads the snapshot before and replaces it after', async () => {
    const before = snapshot({ auditedAt: at(-MINUTE) });
    const { state, snapshots } = bucket({ snapshot: before, etag: '"1"' });
    const { seen, audit } = auditor(snapshots);
    const summary = await audit(due());
    expect(seen.previous).toEqual([before]);
    expect(state.written).toEqual([[snapshot({ findings: [expiryFinding()] }), '"1"']]);
    expect(summary).toMatchObject({ findingCount: 1, durationMs: 40 });
    expect(summary).not.toHaveProperty('snapshotProblem', expect.anything());
    expect(summary).not.toHaveProperty('partial', expect.anything());
  });

  it('only says what the last snapshot has where nothing else is ordered, and writes nothing', async () => {
    const before = snapshot({ auditedAt: at(-DAY), findings: [expiryFinding()] });
    const context = due({ due: { ...ORDERED, stored: true } });
    const { state, snapshots } = bucket({ snapshot: before, etag: '"1"' });
    const { seen, audit } = auditor(snapshots);
    expect(await audit(context)).toMatchObject({ auditedAt: at(-DAY), findingCount: 1, durationMs: 0 });
    expect([seen.previous, state.written]).toEqual([[], []]);
    for (const other of [
      bucket(),
      bucket({ snapshot: undefined, etag: '"1"' }),
      bucket(undefined, { read: [failure('unavailable')] }),
    ])
      await expect(auditor(other.snapshots).audit(context)).rejects.toThrow('no summary');
  });

  it('does not write what is stored already, and tells of its own audit all the same', async () => {
    const { state, snapshots } = bucket({
      snapshot: snapshot({ auditedAt: at(-15 * MINUTE), findings: [expiryFinding()] }),
      etag: '"1"',
    });
    const summary = await auditor(snapshots).audit(due({ known: true }));
    expect(state.written).toEqual([]);
    expect(summary).toMatchObject({ auditedAt: at(), findingCount: 1, durationMs: 40 });
    expect(summary).not.toHaveProperty('snapshotProblem', expect.anything());

    const old = bucket({
      snapshot: snapshot({ auditedAt: at(-120 * MINUTE), findings: [expiryFinding()] }),
      etag: '"1"',
    });
    await auditor(old.snapshots).audit(due({ known: true }));
    expect(old.state.written).toHaveLength(1);
  });

  it('writes the first one where there must be none', async () => {
    const { state, snapshots } = bucket();
    await auditor(snapshots).audit(due());
    expect(state.written.map(([, etag]) => etag)).toEqual([undefined]);
  });

  it('looks for the Cluster of EKS Anywhere where fleet.yaml says', async () => {
    const { seen, audit } = auditor(bucket().snapshots);
    await audit(due({ target: { ...PARIS, eksAnywhereNamespace: 'team-a' } }));
    expect(seen.targets[0]?.eksAnywhereNamespace).toBe('team-a');
  });

  it('looks as far as the order says, and its lane reaches', async () => {
    const { seen, audit } = auditor(bucket().snapshots);
    const { order } = due();
    const ordered = { secrets: true, kubeletMetrics: true };
    await audit(due({ order: { ...order, handshakes: true }, due: { ...ordered, known: true } }));
    expect(seen.targets[0]?.reach).toEqual({ handshakes: true, ...ordered });
  });

  it('asks EKS about clusters of EKS, in their account', async () => {
    const { seen, audit } = auditor(bucket().snapshots);
    await audit(due());
    await audit(due({ target: DUBLIN }));
    expect(seen.targets[0]).toEqual({ id: 'paris', ...open, reach: { handshakes: false, ...ORDERED }, policies: [] });
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
    expect(summary).toMatchObject({ snapshotProblem: expect.stringContaining('was damaged') });
  });

  describe('after a snapshot was lost', () => {
    it.each<[string, StoredSnapshot | undefined]>([
      ['damaged', { snapshot: undefined, etag: '"9"' }],
      ['missing', undefined],
    ])('is made again when it is %s, and says so', async (_, stored) => {
      const { state, snapshots } = bucket(stored);
      const summary = await auditor(snapshots).audit(due({ known: true }));
      expect(summary).toMatchObject({ snapshotProblem: expect.stringContaining('Earlier versions') });
      expect(summary.partial).toBeUndefined();
      expect(state.written.map(([, etag]) => etag)).toEqual([stored?.etag]);
    });

    it.each<[string, StoredSnapshot | undefined, true | undefined]>([
      ['a damaged one', { snapshot: undefined, etag: '"9"' }, undefined],
      ['a missing one', undefined, true],
      ['the place of the first one', undefined, undefined],
    ])('writes nothing over %s where the cluster cannot be opened', async (_, stored, known) => {
      const { state, snapshots } = bucket(stored);
      const summary = await auditor(snapshots).audit(due({ open: undefined, known: known ? known : undefined }));
      expect(state.written).toEqual([]);
      expect(summary.partial).toBe(true);
    });

    it.each(['damaged', 'deleted', 'of a newer version'])(
      'removes no finding of a silent cluster from the index: %s',
      async (how) => {
        const ended: Observation = {
          kind: 'certificate',
          source: 'tls',
          observedAt: at(),
          what: 'kube-apiserver',
          where: '10.0.0.1:6443',
          basis: 'certificate',
          notAfter: at(-DAY),
        };
        const read: Observation = { kind: 'read', source: 'tls', observedAt: at(), count: 1 };
        const { cluster, provider, ...first } = snapshot({ provider: 'eks-anywhere' });
        const assessed = assessExpiry({ id: cluster, provider }, [ended, read], undefined, DEFAULT_THRESHOLDS, NOW);
        let bytes: Buffer | undefined = await encodeSnapshot({ ...first, cluster, provider, ...assessed });
        let now = NOW;
        const stored: Snapshots = {
          read: async () => bytes && { snapshot: await decodeSnapshot(bytes), etag: '' },
          write: async (next) => {
            bytes = await encodeSnapshot(next);
          },
        };
        const options = {
          snapshots: stored,
          thresholds: DEFAULT_THRESHOLDS,
          policies: [],
          clock: () => now,
          eksAudit: () => ({}) as never,
        };
        let index: FleetIndex | undefined;
        for (let round = 1; round <= 5; round += 1) {
          now += 15 * MINUTE;
          if (round === 3) {
            const newer = {
              ...first,
              cluster,
              provider,
              observations: [{ ...ended, what: 'new' }, read],
              findings: [],
            };
            if (how === 'damaged') bytes = Buffer.from('x');
            else bytes = how === 'deleted' ? undefined : gzipSync(JSON.stringify(newer));
          }
          const audit = await resultOf(createAuditStage(options))(
            due({ open: undefined, known: round > 1 ? true : undefined }),
          );
          index = foldOutcomes(index, [swept({ startedAt: new Date(now).toISOString(), audit })], now);
          expect(index.clusters['paris']?.audit).toMatchObject({
            counts: { critical: 1 },
            findings: expect.arrayContaining([
              expect.objectContaining({ code: 'CertificateExpired', severity: 'critical' }),
            ]),
          });
          expect(index.clusters['paris']?.audit?.snapshotProblem === undefined).toBe(round < 3);
        }
      },
    );
  });

  it('leaves a conflict to the next audit, which knows what the other one saw', async () => {
    const { state, snapshots } = bucket({ snapshot: snapshot(), etag: '"1"' }, { write: [failure('conflict')] });
    const summary = await auditor(snapshots).audit(due());
    expect(state.written).toEqual([]);
    expect(summary).toMatchObject({ findingCount: 1, snapshotProblem: undefined, partial: undefined });
  });

  it('says that a snapshot could not be written, and what it found all the same', async () => {
    const { snapshots } = bucket(undefined, { write: [failure('denied')] });
    const summary = await auditor(snapshots).audit(due());
    expect(summary).toMatchObject({ findingCount: 1, snapshotProblem: expect.stringContaining('it failed') });
    expect(summary).not.toHaveProperty('partial', expect.anything());
  });

  it('goes on with what it knows of a cluster that cannot be opened', async () => {
    const before = snapshot();
    const { seen, audit } = auditor(bucket({ snapshot: before, etag: '"1"' }).snapshots);
    const summary = await audit(due({ open: undefined }));
    expect(seen).toEqual({ targets: [], previous: [before] });
    expect(summary.findings).toMatchObject([{ code: 'SourceUnread', object: TROUBLE.message }]);
  });

  it('hides no bug', async () => {
    const bug = async () => Promise.reject(new TypeError('a bug'));
    await expect(auditor(bucket().snapshots, { audit: bug }).audit(due())).rejects.toThrow('a bug');
  });
});
