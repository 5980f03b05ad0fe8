import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awsEnvironment } from '../fleet/aws/aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from '../fleet/aws/simulated-aws.ts';
import { fastClock } from '../fleet/clock.ts';
import { addMachine, type DemoCluster, startDemoCluster } from '../fleet/demo-cluster.ts';
import { kubeconfigOf } from '../fleet/kubeconfig.ts';
import { askFor } from '../fleet/kubelet.ts';
import { createShards } from '../support/shards.ts';
import { type JsonService, refusal, startJsonService } from '../unit/aws/json-service.ts';
import { SWEEP_ENVIRONMENT } from '../unit/functions/invoke-bundle.ts';
import { reachingLoopback } from '../unit/functions/reach-loopback.ts';
import { type Synthesized, synthesize } from '../unit/lib/synthesize.ts';
import { runInRuntime, runtimeClient } from './lambda-runtime.ts';
import { tool } from './tool.ts';

const { path: entry, missing } = await tool('the sweep bundle in the runtime client of AWS', runtimeClient);

const HUB = { account: '123456789012', region: 'eu-west-1' } as const;
const SECRET = 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:certmarshal/berlin-AbCdEf';
const FLEET = `
version: 1
clusters:
  - { name: berlin, provider: eks-anywhere, kubeconfigSecret: '${SECRET}' }
policies:
  - { name: default, mode: enforce }
`;
const REQUESTS = 500;
/** Of the 1,024 MiB that the function has. */
const MAX_MIB = 256;

describe.skipIf(missing)('the sweep bundle in the runtime client of AWS', () => {
  let synthesized: Synthesized;
  let cluster: DemoCluster;
  let aws: JsonService;
  let s3: SimulatedAws;

  beforeAll(async () => {
    synthesized = await synthesize(FLEET);
    cluster = await startDemoCluster({ name: 'berlin', provider: 'eks-anywhere', clock: fastClock(Date.now(), 1) });
    s3 = await startSimulatedAws({ clock: fastClock(Date.now(), 1) });
    s3.s3.createBucket(HUB, 'journal');
    aws = await startJsonService(({ operation }) =>
      operation === 'secretsmanager.GetSecretValue'
        ? {
            body: {
              ARN: SECRET,
              Name: 'certmarshal/berlin',
              SecretString: kubeconfigOf(cluster.server, 'certmarshal'),
            },
          }
        : refusal('ResourceNotFoundException'),
    );
  });

  afterAll(async () => {
    await aws[Symbol.asyncDispose]();
    await s3[Symbol.asyncDispose]();
    await cluster.stop();
    await synthesized[Symbol.asyncDispose]();
  });

  it('starts quickly, sweeps, and stays far below its memory', async () => {
    for (let index = 1; index <= REQUESTS; index += 1) {
      const node = {
        name: `node-${index}`,
        dnsNames: [`node-${index}`],
        ipAddresses: [`10.0.${index >> 8}.${index & 255}`],
      };
      addMachine(cluster, node);
      askFor(cluster.server.api, node.name, node);
    }
    const environment = {
      ...awsEnvironment(s3, HUB),
      AWS_ENDPOINT_URL: aws.url,
      AWS_ENDPOINT_URL_S3: s3.url,
      ...SWEEP_ENVIRONMENT,
    };
    const shards = createShards(s3, HUB);
    const events = [await shards.order({ id: 'berlin' }), await shards.order({ id: 'berlin' })] as const;
    const figures = await runInRuntime(entry, await reachingLoopback(synthesized.bundles.sweep), environment, events);
    expect(figures.answers).toEqual([{ shard: 0 }, { shard: 1 }]);
    for (const [n, approved] of [REQUESTS, 0].entries())
      expect(await shards.outcomes(events[n] ?? events[0])).toMatchObject([{ complete: true, counts: { approved } }]);
    const keys = s3.s3.keys('journal').filter((key) => key.startsWith('journal/'));
    const decisions = keys.flatMap((key) => (s3.s3.read('journal', key)?.toString('utf8') ?? '').trim().split('\n'));
    expect(decisions).toHaveLength(REQUESTS);
    expect(figures.peakMiB).toBeLessThan(MAX_MIB);
  });
});
