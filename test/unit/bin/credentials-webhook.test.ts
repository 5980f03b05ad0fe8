import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { webhookCommand } from '../../../bin/commands/credentials/webhook.ts';
import { readHubWebhook } from '../../../bin/doctor/aws-calls.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { DEFAULT_FLEET, type Fleet } from '../../../lambdas/config/fleet.ts';
import { sweepPath } from '../../../lambdas/fleet/webhook-token.ts';
import { awsClientConfig } from '../../fleet/aws/aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from '../../fleet/aws/simulated-aws.ts';
import { fastClock } from '../../fleet/clock.ts';
import { discovery, fleetCluster, managementCluster } from '../fleet/values.ts';
import { outcomeOf, recordedIo } from './io.ts';
import { refusal, runCli } from './run-cli.ts';

const KEY = randomBytes(32).toString('hex');
const URL_OF_HUB = 'https://abcdefghijklmnopqrstuvwxyz012345.lambda-url.eu-central-1.on.aws';
const never = new AbortController().signal;
const FLEET: Fleet = {
  ...DEFAULT_FLEET,
  discovery: [discovery()],
  managementClusters: [managementCluster()],
  clusters: [fleetCluster()],
};

async function webhook(
  cluster: string | undefined,
  { fleet, output = 'table', error }: { fleet?: Fleet; output?: 'table' | 'json'; error?: AwsError } = {},
) {
  const read = async () => {
    if (error !== undefined) throw error;
    return { url: URL_OF_HUB, key: KEY };
  };
  const io = recordedIo();
  return outcomeOf(io, webhookCommand({ cluster, output }, fleet, read, io));
}

describe('certmarshal credentials create --webhook', () => {
  it('prints the webhook of a cluster as it is to be applied', async () => {
    const { status, stdout, stderr } = await webhook('mgmt/eksa-system/berlin');
    const path = sweepPath(KEY, 'mgmt/eksa-system/berlin');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout.replace(path, '/sweep/mgmt/eksa-system/berlin/TOKEN')).toMatchInlineSnapshot(`
      "# certmarshal sweeps mgmt/eksa-system/berlin when a kubelet asks for a serving certificate:
      # the token in the URL permits that and nothing else. Off: kubectl delete validatingwebhookconfiguration certmarshal
      apiVersion: admissionregistration.k8s.io/v1
      kind: ValidatingWebhookConfiguration
      metadata: { name: certmarshal }
      webhooks:
      - name: sweep.certmarshal.dev
        clientConfig: { url: "https://abcdefghijklmnopqrstuvwxyz012345.lambda-url.eu-central-1.on.aws/sweep/mgmt/eksa-system/berlin/TOKEN" }
        rules: [{ apiGroups: [certificates.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [certificatesigningrequests] }]
        matchConditions: [{ name: kubelet-serving, expression: "object.spec.signerName == 'kubernetes.io/kubelet-serving'" }]
        failurePolicy: Ignore
        sideEffects: None
        timeoutSeconds: 1
        admissionReviewVersions: [v1]
      "
    `);
    expect(stdout).not.toContain(KEY);
  });

  it('prints the same as JSON', async () => {
    const { stdout } = await webhook('berlin', { output: 'json' });
    expect(JSON.parse(stdout)).toEqual(parse((await webhook('berlin')).stdout));
    expect(JSON.parse(stdout).webhooks[0].clientConfig).toEqual({ url: `${URL_OF_HUB}${sweepPath(KEY, 'berlin')}` });
  });

  it.each([undefined, '', 'a b', '../x', 'a/b/c/d', 'x'.repeat(101)])('refuses %j as an id', async (id) => {
    await expect(webhook(id)).rejects.toThrow('--webhook takes the id of a cluster with --cluster');
  });

  it.each(['paris', 'mgmt/eksa-system/berlin', '999900001111/eu-central-1/dublin'])(
    'knows by fleet.yaml that %s can be one',
    async (id) => {
      expect(await webhook(id, { fleet: FLEET })).toMatchObject({ status: 0 });
    },
  );

  it.each(['berlin', 'mgmt/berlin', 'mgmt/default/berlin', '999900001111/eu-central-1'])(
    'knows by fleet.yaml that %s can be none',
    async (id) => {
      await expect(webhook(id, { fleet: FLEET })).rejects.toThrow('the id of a cluster of the file');
    },
  );

  it('says what AWS refused, and prints no manifest', async () => {
    const error = new AwsError({
      kind: 'denied',
      object: 'lambda:X',
      problem: 'access is denied',
      remedy: 'Allow it.',
    });
    expect(await webhook('berlin', { error })).toEqual({
      status: 1,
      stdout: '',
      stderr: 'lambda:X: access is denied. Allow it.\n',
    });
  });

  it.each([
    [['--kubeconfig', 'x'], '--kubeconfig cannot be given with --webhook'],
    [['--store', 'stdout', '--management'], '--management and --store cannot be given with --webhook'],
    [[], '--webhook takes the id of a cluster with --cluster'],
  ])('refuses %j beside it', async (args, expected) => {
    expect(await runCli(['credentials', 'create', '--webhook', ...args])).toEqual(refusal(expected));
  });
});

describe('the webhook of a deployed certmarshal', () => {
  let aws: SimulatedAws;
  const place = { account: '111122223333', region: 'eu-central-1' };
  beforeEach(async () => {
    aws = await startSimulatedAws({ clock: fastClock(Date.now(), 1) });
  });
  afterEach(async () => aws[Symbol.asyncDispose]());

  const read = async () => readHubWebhook(never, awsClientConfig(aws, place));
  const deploy = (value: string) => {
    const secret = aws.secretsManager.putSecret(place, 'WebhookKey', value);
    aws.lambda.functions.set('CertMarshal-webhook', {
      environment: { KEY_SECRET_ARN: secret, LANE_FUNCTIONS: '{}' },
      url: `${URL_OF_HUB}/`,
    });
  };

  it('is asked of the function', async () => {
    deploy(KEY);
    expect(await read()).toEqual({ url: URL_OF_HUB, key: KEY });
  });

  it('is told to be switched off', async () => {
    await expect(read()).rejects.toMatchObject({
      kind: 'not-found',
      remedy: expect.stringContaining('Set hub.webhook: true and deploy'),
    });
  });

  it('takes no secret for a key that is too short, and does not show it', async () => {
    deploy('too short for a key');
    await expect(read()).rejects.toMatchObject({ kind: 'invalid', problem: expect.stringContaining('no key') });
    await expect(read()).rejects.not.toThrow('too short');
  });
});
