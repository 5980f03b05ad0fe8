import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { credentialsHintsCommand, hintsManifest } from '../../../bin/commands/credentials/hints.ts';
import { readHubWebhook } from '../../../bin/hub-webhook.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { DEFAULT_FLEET, type Fleet } from '../../../lambdas/config/fleet.ts';
import { hintPath } from '../../../lambdas/fleet/webhook-token.ts';
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

async function hints(
  cluster: string | undefined,
  { fleet, output = 'table', error }: { fleet?: Fleet; output?: 'table' | 'json'; error?: AwsError } = {},
) {
  const readWebhook = async () => {
    if (error !== undefined) throw error;
    return { url: URL_OF_HUB, key: KEY };
  };
  const io = { ...recordedIo(), readWebhook };
  return outcomeOf(io, credentialsHintsCommand({ cluster, output }, fleet, never, io));
}

describe('certmarshal credentials create --hints', () => {
  it('prints the webhook of a cluster as it is to be applied', async () => {
    const { status, stdout, stderr } = await hints('mgmt/eksa-system/berlin');
    const path = hintPath(KEY, 'mgmt/eksa-system/berlin');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout.replace(path, '/hint/mgmt/eksa-system/berlin/TOKEN')).toMatchInlineSnapshot(`
      "# Hints of mgmt/eksa-system/berlin: when a kubelet asks for a serving certificate, certmarshal sweeps this cluster at once.
      # The URL has the token of this cluster. It permits a hint and nothing else.
      # While the URL is down, requests are created as before; a URL that accepts the connection but does not answer delays each by a second.
      # No caBundle is needed: the certificate of the URL is public. Needs Kubernetes 1.28 or later.
      # kubectl apply -f - switches it on, kubectl delete validatingwebhookconfiguration certmarshal-hints off.
      apiVersion: admissionregistration.k8s.io/v1
      kind: ValidatingWebhookConfiguration
      metadata:
        name: certmarshal-hints
      webhooks:
        - name: hints.certmarshal.dev
          clientConfig:
            url: https://abcdefghijklmnopqrstuvwxyz012345.lambda-url.eu-central-1.on.aws/hint/mgmt/eksa-system/berlin/TOKEN
          rules:
            - apiGroups:
                - certificates.k8s.io
              apiVersions:
                - v1
              operations:
                - CREATE
              resources:
                - certificatesigningrequests
              scope: Cluster
          matchPolicy: Equivalent
          matchConditions:
            - name: kubelet-serving
              expression: object.spec.signerName == 'kubernetes.io/kubelet-serving'
          failurePolicy: Ignore
          sideEffects: None
          timeoutSeconds: 1
          admissionReviewVersions:
            - v1
      "
    `);
    expect(parse(stdout)).toEqual(hintsManifest(`${URL_OF_HUB}${path}`));
    expect(stdout).not.toContain(KEY);
  });

  it('prints the same as JSON', async () => {
    const { stdout } = await hints('berlin', { output: 'json' });
    expect(JSON.parse(stdout)).toEqual(hintsManifest(`${URL_OF_HUB}${hintPath(KEY, 'berlin')}`));
  });

  it.each([undefined, '', 'a b', '../x', 'a/b/c/d', 'x'.repeat(101)])('refuses %j as an id', async (id) => {
    await expect(hints(id)).rejects.toThrow('--hints takes the id of the cluster with --cluster');
  });

  it.each(['paris', 'mgmt/eksa-system/berlin', '999900001111/eu-central-1/dublin'])(
    'knows by fleet.yaml that %s can be one',
    async (id) => {
      expect(await hints(id, { fleet: FLEET })).toMatchObject({ status: 0 });
    },
  );

  it.each(['berlin', 'mgmt/berlin', 'mgmt/default/berlin', '999900001111/eu-central-1'])(
    'knows by fleet.yaml that %s can be none',
    async (id) => {
      await expect(hints(id, { fleet: FLEET })).rejects.toThrow('its hints would be dropped');
    },
  );

  it('says what AWS refused, and prints no manifest', async () => {
    const error = new AwsError({
      kind: 'denied',
      object: 'lambda:X',
      problem: 'access is denied',
      remedy: 'Allow it.',
    });
    expect(await hints('berlin', { error })).toEqual({
      status: 1,
      stdout: '',
      stderr: 'lambda:X: access is denied. Allow it.\n',
    });
  });

  it.each([
    [['--kubeconfig', 'x'], '--kubeconfig cannot be given with --hints'],
    [['--store', 'stdout', '--management'], '--management and --store cannot be given with --hints'],
    [[], '--hints takes the id of the cluster with --cluster'],
  ])('refuses %j beside it', async (args, expected) => {
    expect(await runCli(['credentials', 'create', '--hints', ...args])).toEqual(refusal(expected));
  });
});

describe('where a deployed certmarshal takes hints', () => {
  let aws: SimulatedAws;
  const place = { account: '111122223333', region: 'eu-central-1' };
  beforeEach(async () => {
    aws = await startSimulatedAws({ clock: fastClock(Date.now(), 1) });
  });
  afterEach(async () => aws[Symbol.asyncDispose]());

  const read = async () => readHubWebhook(never, awsClientConfig(aws, place));
  const deploy = (value: string) => {
    const secret = aws.secretsManager.putSecret(place, 'HintsWebhookKey', value);
    aws.lambda.functions.set('CertMarshal-webhook', {
      environment: { KEY_SECRET_ARN: secret, WAITING_QUEUE_URL: 'x' },
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
      remedy: expect.stringContaining('Set hub.webhook: true in fleet.yaml and deploy'),
    });
  });

  it('takes no secret for a key that is too short, and does not show it', async () => {
    deploy('too short for a key');
    await expect(read()).rejects.toMatchObject({ kind: 'invalid', problem: expect.stringContaining('no key') });
    await expect(read()).rejects.not.toThrow('too short');
  });
});
