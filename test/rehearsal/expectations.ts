import assert from 'node:assert/strict';
import { GetObjectCommand, paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3';
import { snapshotKey } from '../../lambdas/audit/snapshots.ts';
import { decodeSnapshot } from '../unit/audit/stored-snapshot.ts';
import type { FleetIndex } from '../../lambdas/contracts/fleet-index.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import type { DecisionEntry } from '../../lambdas/journal/journal.ts';
import { entriesOf } from '../support/journal-lines.ts';
import { templateOf } from './assembly.ts';
import { CLOSED, type Clusters, REAL, SIMULATED } from './clusters.ts';
import { ACCOUNT } from './ministack.ts';
import type { StackResource } from './stack.ts';

/** What was approved and issued, and what must not have been. @returns the numbers. */
export async function expectCertificates({
  honest,
  hostile,
  simulated,
}: Clusters): Promise<{ readonly approved: number; readonly issued: number }> {
  const requests = await Promise.all(honest.map(({ cluster, name }) => cluster.request(name)));
  const approved = requests.filter(({ status }) => status.conditions?.some(({ type }) => type === 'Approved'));
  assert.equal(approved.length, honest.length, 'approved on the real API servers');
  const { status } = await hostile.cluster.request(hostile.name);
  assert.deepEqual(status, {}, 'the request for the address of another node is left alone');
  const ofSimulated = simulated.reduce((sum, cluster) => sum + cluster.issued(), 0);
  const issued = requests.filter(({ status: { certificate } }) => certificate !== undefined);
  return { approved: approved.length + ofSimulated, issued: issued.length + ofSimulated };
}

/** Only the sweep role got into the real clusters, and as nothing but a member of the one group. */
export function expectIdentity({ real }: Clusters, sweepRoleArn: string): void {
  const role = sweepRoleArn.split('/').at(-1);
  for (const { webhook } of real) {
    const accepted = webhook.decisions.filter((decision) => !decision.startsWith('refused'));
    assert.ok(accepted.length > 0, `nobody got in: ${webhook.decisions.join('; ')}`);
    for (const decision of accepted)
      assert.match(decision, new RegExp(`^arn:aws:sts::${ACCOUNT}:assumed-role/${role}/\\S+ \\[certmarshal\\]$`));
  }
}

/** What an audit saw of each cluster that can be read is in the bucket of its own, and its summary in the index. */
export async function expectAudits(s3: S3Client, bucket: string, { clusters }: FleetIndex): Promise<void> {
  for (const { id, readable, audit } of Object.values(clusters)) {
    if (!readable) continue;
    assert.ok(audit !== undefined, `the index has no audit of ${id}`);
    assert.equal(audit.snapshotProblem, undefined, id);
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: snapshotKey(id) }));
    const snapshot = await decodeSnapshot(Buffer.from((await Body?.transformToByteArray()) ?? []));
    assert.equal(snapshot?.cluster, id, 'whose snapshot it is');
    assert.ok(snapshot.observations.length > 0, `the snapshot of ${id} has observations`);
  }
}

/** The deployed report function made the page, and all clusters of the registry are on it. */
export async function expectPage(s3: S3Client, bucket: string): Promise<void> {
  const { Body, ContentType } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: STATE_KEYS.page }));
  const page = (await Body?.transformToString()) ?? '';
  assert.match(String(ContentType), /^text\/html/, 'the type of the page');
  assert.match(page, /^<!doctype html>/i, 'the page is a document');
  for (const name of [REAL.hub, REAL.spoke, CLOSED, ...SIMULATED])
    assert.ok(page.includes(name), `the page has ${name}`);
}

/**
 * The journal has each decision of the deployed functions: each object one sweep of one cluster.
 *
 * @returns how many lines it has
 */
export async function expectJournal(
  s3: S3Client,
  bucket: string,
  { honest, hostile, simulated }: Clusters,
): Promise<number> {
  const lines: DecisionEntry[] = [];
  for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket: bucket }))
    for (const { Key = '' } of Contents) {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key }));
      const entries = entriesOf((await Body?.transformToString()) ?? '').flatMap((entry) =>
        entry.kind === 'decision' ? [entry] : [],
      );
      const [first] = entries;
      const day = first?.at.slice(0, 10).replaceAll('-', '/');
      assert.ok(Key.startsWith(`journal/${day}/${first?.cluster}/`), `the name of ${Key}`);
      assert.equal(new Set(entries.map(({ cluster, at }) => `${cluster} ${at}`)).size, 1, `the sweeps of ${Key}`);
      lines.push(...entries);
    }
  const clusters = new Set(lines.map(({ cluster }) => cluster));
  assert.equal(clusters.size, 2 + simulated.length, 'every cluster in which something was decided');
  for (const { name } of honest) {
    const approvals = lines.filter(({ csr, verdict }) => csr === name && verdict === 'approve');
    assert.deepEqual(
      approvals.map(({ outcome }) => outcome),
      ['written'],
      `the approval of ${name}`,
    );
    assert.notEqual(approvals[0]?.evidence.length, 0, `the evidence of ${name}`);
  }
  const hostiles = lines.filter((line) => line.hostile);
  assert.deepEqual(new Set(hostiles.map(({ csr }) => csr)), new Set([hostile.name]), 'hostile requests');
  for (const { verdict, outcome } of hostiles) assert.deepEqual([verdict, outcome], ['leave', 'none'], hostile.name);
  return lines.length;
}

/** All clusters but one are well, and what is wrong with that is one finding with its remedy. */
export function expectIndex({ clusters, problems }: FleetIndex): void {
  assert.deepEqual(problems, [], 'problems of the fleet');
  const byName = new Map(Object.values(clusters).map((cluster) => [cluster.name, cluster]));
  for (const name of [REAL.hub, REAL.spoke, ...SIMULATED]) assert.equal(byName.get(name)?.complete, true, name);
  const closed = byName.get(CLOSED);
  assert.equal(closed?.readable, false, CLOSED);
  assert.deepEqual(
    closed.findings.map(({ kind }) => kind),
    ['unauthorized'],
    CLOSED,
  );
  assert.notEqual(closed.findings[0]?.remedy, '', CLOSED);
}

/** Nothing that was written anywhere holds a token of ours or of a cluster. */
export function expectNoSecrets(written: ReadonlyMap<string, string>, { tokens }: Clusters): void {
  for (const [where, text] of written)
    for (const secret of ['k8s-aws-v1.', 'X-Amz-Signature', ...tokens])
      assert.ok(!text.includes(secret), `${where} holds a token`);
}

/** What a template says is to stay, as an inventory names it. */
export async function retainedOf(
  assembly: string,
  stack: string,
  made: readonly StackResource[],
): Promise<readonly string[]> {
  const { Resources } = await templateOf(assembly, stack);
  return made
    .filter(({ logicalId }) => Resources[logicalId]?.DeletionPolicy === 'Retain')
    .map(({ type, physicalId }) => `${type} ${physicalId}`);
}
