import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTokenSigner } from '../../lambdas/aws/eks-token.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { createIdentity } from './aws/identity.ts';
import { steppedClock } from './clock.ts';
import { approvedIn } from './hub/clusters.ts';
import { eksAuthenticator } from './hub/eks-authenticator.ts';
import { findingsOf } from './hub/hub.ts';
import { DISPATCH_ROLE, HUB, SWEEP_ROLE } from './hub/places.ts';
import { IDS, MINUTE, START, startWorld } from './hub/world.ts';

describe('the hub in one process', () => {
  let output: ReturnType<typeof captureStdout>;
  beforeAll(() => {
    output = captureStdout();
  });
  afterAll(() => output.restore());

  it('finds every cluster, sweeps each one once a minute, approves what is proven and nothing else', async () => {
    await using world = await startWorld({ audits: true });
    for (let minute = 0; minute < 4; minute += 1) await world.minute();
    const index = world.hub.index();
    expect(findingsOf(index)).toEqual([]);
    expect(Object.keys(world.hub.registry()?.clusters ?? {}).toSorted()).toEqual(Object.values(IDS).toSorted());
    expect(Object.keys(index?.clusters ?? {}).toSorted()).toEqual(Object.values(IDS).toSorted());
    for (const cluster of Object.values(world.clusters)) {
      expect(approvedIn(cluster)).toHaveLength(1);
      expect(cluster.server.api.csrs.all()).toHaveLength(2);
    }
  });
});

describe('the authenticator of a simulated EKS cluster', () => {
  const clock = steppedClock(START);
  const identity = createIdentity(() => clock.now());
  const signerOf = (role: string) => {
    const keys = identity.keysOf({ account: HUB.account, role });
    return createTokenSigner({ credentials: async () => keys, now: () => clock.now() });
  };
  const accessEntries = new Set([SWEEP_ROLE]);
  const userOf = eksAuthenticator({ identity, clock, region: HUB.region, cluster: 'zurich', accessEntries });

  it('lets in the role that has an access entry', async () => {
    expect(userOf(await signerOf(SWEEP_ROLE)('zurich', HUB.region))).toEqual({
      name: `arn:aws:sts::${HUB.account}:assumed-role/certmarshal-sweep-eu-central-1/runtime`,
      groups: ['certmarshal', 'system:authenticated'],
    });
  });

  it.each([
    ['of another role', DISPATCH_ROLE, 'zurich', HUB.region],
    ['for another cluster', SWEEP_ROLE, 'oslo', HUB.region],
    ['of another Region', SWEEP_ROLE, 'zurich', 'eu-west-1'],
  ])('refuses a token %s', async (_, role, cluster, region) => {
    expect(userOf(await signerOf(role)(cluster, region))).toBeUndefined();
  });

  it('refuses a token that is 15 minutes old, was changed, or is none', async () => {
    const token = await signerOf(SWEEP_ROLE)('zurich', HUB.region);
    const url = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
    const changed = url.replace(/Expires=60/, 'Expires=900');
    expect(userOf(`k8s-aws-v1.${Buffer.from(changed).toString('base64url')}`)).toBeUndefined();
    expect(userOf('k8s-aws-v1.')).toBeUndefined();
    expect(userOf(token)).toBeDefined();
    await clock.advance(15 * MINUTE + 1_000);
    expect(userOf(token)).toBeUndefined();
  });
});
