import { createPrivateKey } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { snapshotKey } from '../../lambdas/audit/s3-snapshots.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';
import { kubeconfigYaml } from '../control-plane/kubeconfig.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { AwsFault } from './aws/aws-fault.ts';
import { auditLogEvent } from './hub/audit-log.ts';
import { BAD_INPUT } from './hub/bad-input.ts';
import { createSecrets, type Secrets } from './hub/leaks.ts';
import { BUCKET, EXTERNAL_ID, HUB, SNAPSHOT_BUCKET } from './hub/places.ts';
import { IDS, startWorld, type World, type WorldOptions } from './hub/world.ts';
import { createServingCertificate } from './serving-certificate.ts';

// Waits between tries and between paced calls.
vi.mock('node:timers/promises', async (original) => ({
  ...(await original<object>()),
  setTimeout: async () => undefined,
}));

interface Run {
  readonly options?: () => WorldOptions;
  readonly spoil: (world: World, secrets: Secrets) => void | Promise<void>;
}

/** Where what a run says can be read. */
interface Said {
  /** Logs and metrics. */
  readonly output: string;
  /** Bodies of all messages. */
  readonly messages: string;
  /** Each version of the object. */
  readonly registry: string;
  readonly index: string;
  /** Of all audits. */
  readonly snapshots: string;
}

/** What each line of bad input makes certmarshal say, and then some. */
const RUNS: readonly (readonly [name: string, kind: string, run: Run])[] = [
  ...BAD_INPUT.flatMap((bad) => bad.findings.slice(0, 1).map(({ kind }) => [bad.name, kind, bad] as const)),
  ['a client certificate means nothing to the API server', 'forbidden', { spoil: useClientCertificate }],
  [
    'Secrets Manager fails, and orders go back to the queue',
    'secret',
    {
      spoil: ({ aws, hub }) => {
        aws.fail('secretsmanager:GetSecretValue', new AwsFault(400, 'InternalServiceError', 'it failed'), 4);
        hub.restart();
      },
    },
  ],
];

async function useClientCertificate({ aws, clusters: { paris }, hub }: World, secrets: Secrets): Promise<void> {
  const inAnHour = new Date(Date.now() + 3_600_000);
  const { certificate: certPem, key: keyPem } = await createServingCertificate('clients', inAnHour);
  const { server, caPem } = paris.server;
  aws.secretsManager.putSecret(HUB, 'certmarshal/paris', kubeconfigYaml(server, caPem, 'x', { certPem, keyPem }));
  hub.restart();
  const { d: scalar = '' } = createPrivateKey(keyPem).export({ format: 'jwk' });
  secrets.add('private key', scalar);
  // The beginning is the same for all keys of this kind.
  secrets.add('private key', keyPem.split('\n').slice(1, -2).join('\n').slice(56));
}

async function say({ options, spoil }: Run, secrets: Secrets): Promise<Said> {
  const output = captureStdout();
  try {
    let [registry, index] = ['', ''];
    await using world = await startWorld({
      ...options?.(),
      audits: true,
      onToken: (token) => secrets.add('token of EKS', token),
    });
    const minutes = async (count: number): Promise<void> => {
      for (let minute = 0; minute < count; minute += 1) {
        await world.minute();
        registry += world.aws.s3.read(BUCKET, STATE_KEYS.registry)?.toString() ?? '';
        index += world.aws.s3.read(BUCKET, STATE_KEYS.index)?.toString() ?? '';
      }
    };
    await minutes(4);
    await spoil(world, secrets);
    await world.hub.hint(auditLogEvent(world.clusters.zurich));
    await minutes(8);
    for (const { secretAccessKey, sessionToken = '' } of world.aws.identity.issued) {
      secrets.add('secret access key', secretAccessKey);
      secrets.add('session token', sessionToken);
    }
    const { berlin, paris, rome, venice } = world.clusters;
    for (const { name, server } of [berlin, paris, rome, venice])
      secrets.add(`token of ${name}`, server.tokenFor('certmarshal'));
    const snapshots = Object.values(IDS)
      .map((id) => world.aws.s3.read(SNAPSHOT_BUCKET, snapshotKey(id)))
      .map((bytes) => (bytes === undefined ? '' : gunzipSync(bytes).toString('utf8')))
      .join('\n');
    return { output: output.text(), messages: world.hub.bodies.join('\n'), registry, index, snapshots };
  } finally {
    output.restore();
  }
}

describe('secrets', () => {
  it.each(RUNS)('are in nothing that is said when %s', async (_, kind, run) => {
    const secrets = createSecrets();
    const { output, messages, registry, index, snapshots } = await say(run, secrets);
    // It happened, and was said in every place where it could be.
    expect(index.includes(`"kind":"${kind}"`)).toBe(true);
    for (const text of [output, messages, registry]) expect(text.length).toBeGreaterThan(5_000);
    expect(secrets.in(output)).toEqual([]);
    expect(secrets.in(messages)).toEqual([]);
    expect(secrets.in(registry)).toEqual([]);
    expect(secrets.in(index)).toEqual([]);
    expect(snapshots.length).toBeGreaterThan(1_000);
    expect(secrets.in(snapshots)).toEqual([]);

    // AWS takes an external id for no secret: orders and the registry have it, because the sweep needs it. Nothing that people read does.
    const externalId = createSecrets();
    externalId.add('external id', EXTERNAL_ID);
    expect(externalId.in(`${registry}${messages}`)).toEqual(['external id']);
    expect(externalId.in(`${output}${index}${snapshots}`)).toEqual([]);
  });

  it('would be found: whole, in pieces, and in base64', () => {
    const secrets = createSecrets();
    const secret = 'c2VjcmV0LW9mLXRoaXMtdGVzdA/+with=signs';
    secrets.add('it', secret);
    const quoted = JSON.stringify({ a: 1, nested: [`x${secret}`] });
    const texts = [
      secret,
      `before ${secret.slice(5, 25)} after`,
      quoted,
      Buffer.from(quoted).toString('base64'),
      Buffer.from(`:${quoted}`).toString('base64url'),
      Buffer.from(`::${quoted}`).toString('base64'),
      encodeURIComponent(quoted),
    ];
    expect(texts.map((text) => secrets.in(text))).toEqual(texts.map(() => ['it']));
    expect(secrets.in(secret.slice(0, 19))).toEqual([]);
  });
});
