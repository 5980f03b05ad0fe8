import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeOrders } from '../../lambdas/contracts/order.ts';
import { decodeOutcomes } from '../../lambdas/fleet/outcome-message.ts';
import { awsEnvironment } from '../fleet/aws/aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from '../fleet/aws/simulated-aws.ts';
import { fastClock } from '../fleet/clock.ts';
import { addMachine, type DemoCluster, startDemoCluster } from '../fleet/demo-cluster.ts';
import { kubeconfigOf } from '../fleet/kubeconfig.ts';
import { askFor } from '../fleet/kubelet.ts';
import { type JsonService, startJsonService } from '../unit/aws/json-service.ts';
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
    aws = await startJsonService(({ operation, input }) =>
      operation === 'secretsmanager.GetSecretValue'
        ? {
            body: {
              ARN: SECRET,
              Name: 'certmarshal/berlin',
              SecretString: kubeconfigOf(cluster.server, 'certmarshal'),
            },
          }
        : { body: { MessageId: 'm', MD5OfMessageBody: md5(String(input['MessageBody'])) } },
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
      OUTCOMES_QUEUE_URL: `${aws.url}/123456789012/outcomes`,
      ...SWEEP_ENVIRONMENT,
    };
    const figures = await runInRuntime(entry, await reachingLoopback(synthesized.bundles.sweep), environment, [
      orderEvent(1),
      orderEvent(2),
    ]);
    expect(figures.answers).toEqual([null, null]);
    const outcomes = aws.calls.filter(({ operation }) => operation === 'AmazonSQS.SendMessage');
    const [first, second] = outcomes.map(({ input }) => decodeOutcomes(String(input['MessageBody'])));
    const told = { kind: 'sweep', complete: true };
    expect(first).toMatchObject([{ value: { ...told, counts: { approved: REQUESTS } } }]);
    expect(second).toMatchObject([{ value: { ...told, counts: { approved: 0 } } }]);
    const keys = s3.s3.keys('journal').filter((key) => key.startsWith('journal/'));
    const decisions = keys.flatMap((key) => (s3.s3.read('journal', key)?.toString('utf8') ?? '').trim().split('\n'));
    expect(decisions).toHaveLength(REQUESTS);
    expect(figures.peakMiB).toBeLessThan(MAX_MIB);
  });
});

function orderEvent(tick: number) {
  const body = encodeOrders([
    {
      tick: Date.now() + tick,
      deadlineMs: 30_000,
      id: 'berlin',
      facts: {},
    },
  ]);
  return {
    Records: [{ messageId: `m-${tick}`, body, eventSource: 'aws:sqs', attributes: { MessageGroupId: 'berlin' } }],
  };
}

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}
