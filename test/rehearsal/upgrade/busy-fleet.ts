import { S3Client } from '@aws-sdk/client-s3';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { stepRollout } from '../../../lambdas/rollout/step-rollout.ts';
import { DAY_MS } from '../../../lambdas/time.ts';
import { startStory } from '../../fleet/alarms/story.ts';
import { lastsLong, ZURICH } from '../../fleet/alarms/story-clusters.ts';
import { awsClientConfig } from '../../fleet/aws/aws-environment.ts';
import { UNPLUGGED } from '../../fleet/faults.ts';
import { startAsleepCluster } from '../../fleet/hub/asleep.ts';
import { addWorkloadCluster, type Ground, startEksCluster, startKubeconfigCluster } from '../../fleet/hub/clusters.ts';
import { BUCKET, HUB } from '../../fleet/hub/places.ts';
import { rollingManagement } from '../../fleet/hub/rolling.ts';
import { MINUTE, START } from '../../fleet/hub/world.ts';
import { recordedIo } from '../../unit/bin/io.ts';
import type { PreviousVersion, RecoveringVersion } from './previous-version.ts';

export const VENICE = 'rome/eksa-system/venice';
/** Of which the version before remembers requests. */
export const DAYS = 30;
const signal = new AbortController().signal;

/** What a version before had written after a month: of each day 3,000 requests of zurich that it approved, and one that it missed. */
export async function rememberMonth(previous: PreviousVersion, { aws, clock }: Ground): Promise<void> {
  aws.s3.createBucket(HUB, BUCKET);
  const state = previous.createJsonObjects({ client: new S3Client(awsClientConfig(aws, HUB)), bucket: BUCKET });
  let index: ReturnType<typeof previous.foldOutcomes> | undefined;
  for (let day = DAYS; day > 0; day -= 1) {
    const at = clock.now() - day * DAY_MS;
    const startedAt = new Date(at).toISOString();
    const outcome = { version: 1, kind: 'sweep', id: ZURICH, name: 'zurich', provider: 'eks', startedAt } as const;
    const swept = { readable: true, complete: true, durationMs: 100, problems: [], problemCount: 0 };
    const fates = [[Math.floor(at / MINUTE) - 20, 3_000, 0, 1, 0, 0]] as const;
    index = previous.foldOutcomes(index, [{ ...outcome, ...swept, fates }], at);
  }
  await state.write(previous.STATE_KEYS.index, index, undefined, signal);
}

/**
 * The version before, in the middle of all that it may be in the middle of: berlin cannot be reached and people know it, a recovery window of cairo is open and
 * one of its two approvals is spent, venice rolls, and a storm of requests in zurich is half over.
 */
export async function startBusyFleet(previous: RecoveringVersion) {
  const rolling = rollingManagement(['venice'], START);
  const step: typeof stepRollout = async ({ authorities: _authorities, ...target }, options) =>
    stepRollout({ ...target, management: rolling.cluster.client, handshakes: rolling.handshakes }, options);
  const { client } = rolling.cluster;
  // Its errors have a class of their own.
  const management: typeof client = {
    ...client,
    request: async (call) =>
      client.request(call).catch((error: unknown) => {
        if (!(error instanceof KubernetesError)) throw error;
        const { kind, object, problem, remedy, status, reason } = error;
        throw new previous.KubernetesError({ kind, object, problem, remedy, status, reason });
      }),
  };
  const previousStep: typeof stepRollout = async ({ authorities: _authorities, ...target }, options) =>
    previous.stepRollout({ ...target, management, handshakes: rolling.handshakes }, options);
  const story = await startStory({
    version: previous,
    stepRollout: previousStep,
    audits: false,
    clusters: async (ground) => {
      await rememberMonth(previous, ground);
      const [berlin, zurich, cairo, rome, venice] = await Promise.all([
        startKubeconfigCluster(ground, 'berlin', undefined, lastsLong()),
        startEksCluster(ground, HUB, 'zurich'),
        startAsleepCluster(ground, 'cairo', lastsLong()),
        startKubeconfigCluster(ground, 'rome', undefined, lastsLong()),
        startKubeconfigCluster(ground, 'venice', undefined, lastsLong()),
      ]);
      addWorkloadCluster(rome, 'venice');
      return { berlin, zurich, cairo, rome, venice };
    },
    fleetFile: ({ berlin, cairo, rome, venice }) => `
version: 1
audit: { every: 10m }
discovery: [{ accounts: [self] }]
lanes:
  - { name: onprem, vpcId: vpc-0a1b2c3d4e5f60718, subnetIds: [subnet-0a1b2c3d4e5f60718, subnet-1b2c3d4e5f607182a], securityGroupIds: [sg-0a1b2c3d4e5f60718] }
managementClusters:
  - { name: rome, kubeconfigSecret: '${rome.secret}', lane: onprem, workloadClusters: { kubeconfigSecrets: { venice: '${venice.secret}' } } }
clusters:
  - { name: berlin, provider: eks-anywhere, kubeconfigSecret: '${berlin.secret}' }
  - { name: cairo, provider: eks-anywhere, kubeconfigSecret: '${cairo.secret}' }
rollouts: { clusters: [{ clusters: ['${VENICE}'], accepted: [spare-capacity, etcd-backup] }] }
`,
  });
  const { aws, clock, clusters } = story;
  const { berlin, zurich, cairo } = clusters;
  /** So many nodes of zurich ask, each of which EC2 proves. */
  const storm = (from: number, to: number): void => {
    for (let node = from; node <= to; node += 1) {
      zurich.addNode(node);
      zurich.ask(node);
    }
  };
  const plugIn = berlin.server.inject(UNPLUGGED);
  const isRolling = () => story.hub.index()?.clusters[VENICE]?.rollout?.state === 'rolling';
  await story.until(() => story.events().length > 0 && isRolling(), 25);
  const bucket = await previous.recoveryBucket(BUCKET, awsClientConfig(aws, HUB));
  const windowBy = (by: string, now: number) =>
    previous.recoveryWindow({ nodes: 'cp-1', for: '50m', by }, { id: 'w-1', cluster: 'cairo', now });
  const io = { ...recordedIo(), clock: () => clock.now() };
  const options = { output: 'table', program: 'certmarshal' } as const;
  const status = await previous.recoveryOpenInBucket(bucket, windowBy, options, signal, io);
  if (status !== 0) throw new Error(io.stderr.text());
  cairo.ask('cp-1', 'first');
  storm(1, 20);
  await story.minutes(3);
  storm(21, 40);
  // Nobody proves it.
  zurich.ask(99);
  return { story, rolling, steps: { this: step, previous: previousStep }, storm, plugIn };
}
