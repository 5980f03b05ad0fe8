import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AwsCalls } from './aws-call.ts';
import { REAL } from './clusters.ts';
import { type DeployableApp, type DeployedStack, deployStack, destroyStack } from './deployment.ts';
import { ACCOUNT, REGION, SPOKE_ACCOUNT } from './ministack.ts';
import { type Progress, startMinutes, waitForRegistry, watchIndex } from './watch.ts';

/** The API server remembers so long that it refused a token (real-cluster.ts). */
const REFUSED_MS = 10_000;

/**
 * Destroys the hub and deploys it again. The role of the spoke lets it in at once, which shows in a cluster that only the spoke could tell of. That cluster refuses it: its access entry is older than
 * the role, for the webhook as for EKS. With the spoke stack deleted and deployed again it is swept.
 *
 * @returns the stacks as they are then, the hub first
 */
export async function remakeHub(
  app: DeployableApp,
  [hub, spoke]: readonly [DeployedStack, DeployedStack],
  clusters: number,
  progress: Progress,
): Promise<readonly [DeployedStack, DeployedStack]> {
  await expectTrustOutlives(spoke.account.calls);
  const roleId = await roleIdOf(hub);
  await destroyStack(app, hub);
  const again = await deployStack(app, hub);
  assert.notEqual(await roleIdOf(again), roleId, 'the id of the sweep role');

  const state = { s3: hub.account.s3, bucket: again.outputs['FleetBucketName'] ?? '' };
  const cork = `${SPOKE_ACCOUNT}/${REGION}/${REAL.spoke}`;
  const dublin = `${ACCOUNT}/${REGION}/${REAL.hub}`;
  await waitForRegistry(state, progress);
  const nextMinute = startMinutes(again, clusters);
  progress('the access entry of the spoke is older than the role of the new hub');
  await watchIndex(state, progress, async (index) => {
    await nextMinute(index);
    const { [cork]: refused, [dublin]: own } = index.clusters;
    return own?.complete === true && refused?.findings.some(({ kind }) => kind === 'unauthorized') === true;
  });

  progress(`cdk destroy ${spoke.name}, and deploy it again`);
  await destroyStack(app, spoke);
  const spokeAgain = await deployStack(app, spoke);
  await sleep(REFUSED_MS);
  await watchIndex(state, progress, async (index) => {
    await nextMinute(index);
    return index.clusters[cork]?.complete === true;
  });
  return [again, spokeAgain];
}

/** The emulator finds a role that is a principal by its name. IAM keeps its id, so none may be one. Source: IAM User Guide, "AWS JSON policy elements: Principal". */
async function expectTrustOutlives(spoke: AwsCalls): Promise<void> {
  const xml = await spoke.query('iam', '2010-05-08', 'GetRole', { RoleName: 'certmarshal-spoke' });
  const [, text = ''] = /<AssumeRolePolicyDocument>([^<]+)</.exec(xml) ?? [];
  const { Statement }: { Statement: readonly { Principal: unknown }[] } = JSON.parse(decodeURIComponent(text));
  for (const { Principal } of Statement)
    assert.deepEqual(Principal, { AWS: `arn:aws:iam::${ACCOUNT}:root` }, 'who is trusted by the role of the spoke');
}

async function roleIdOf({ account: { calls }, outputs }: DeployedStack): Promise<string | undefined> {
  const RoleName = outputs['SweepRoleArn']?.split('/').at(-1) ?? '';
  return /<RoleId>([^<]+)</.exec(await calls.query('iam', '2010-05-08', 'GetRole', { RoleName }))?.[1];
}
