import { createPrivateKey } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { createKeyPair, privateKeyPem } from '../../lambdas/x509/peculiar.ts';
import { kubeconfigYaml } from '../control-plane/kubeconfig.ts';
import { captureStdout } from '../unit/telemetry/capture-stdout.ts';
import { createServingCertificate } from './serving-certificate.ts';
import { auditLogEvent } from './hub/audit-log.ts';
import { BAD_INPUT } from './hub/bad-input.ts';
import { findingsOf } from './hub/hub.ts';
import { createSecrets, type Secrets } from './hub/leaks.ts';
import { BUCKET, EXTERNAL_ID, HUB } from './hub/places.ts';
import { startWorld, type World } from './hub/world.ts';
import { STATE_KEYS } from '../../lambdas/fleet/state-keys.ts';

// Waits between tries and between paced calls.
vi.mock('node:timers/promises', async (original) => ({
  ...(await original<object>()),
  setTimeout: async () => undefined,
}));

/** Where what a run says can be read. */
interface Said {
  /** Logs and metrics. */
  readonly output: string;
  /** Bodies of all messages. */
  readonly messages: string;
  readonly registry: string;
  readonly index: string;
}

/** A secret whose kubeconfig has a client certificate: whoever finds it there has the cluster. */
async function useClientCertificate({ aws, clusters: { paris }, hub }: World, secrets: Secrets): Promise<void> {
  const keys = await createKeyPair('P-256');
  const keyPem = await privateKeyPem(keys);
  const { certificate: certPem } = await createServingCertificate('clients', new Date(Date.now() + 3_600_000));
  const pair = { certPem, keyPem };
  aws.secretsManager.putSecret(HUB, 'certmarshal/paris', kubeconfigYaml(paris.server.server, paris.server.caPem, 'x', pair));
  hub.restart();
  const { d: scalar = '' } = createPrivateKey(keyPem).export({ format: 'jwk' });
  secrets.add('private key', scalar);
  // The beginning is the same for all keys of this kind.
  secrets.add('private key', keyPem.split('\n').slice(1, -2).join('\n').slice(56));
}

/** Everything at once that is not the whole of a source: all in `names` go wrong in one world. */
async function say(spoil: (world: World, secrets: Secrets) => void | Promise<void>, secrets: Secrets): Promise<Said> {
  const output = captureStdout();
  try {
    let [registry, index] = ['', ''];
    const look = (world: World): void => {
      registry += world.aws.s3.read(BUCKET, STATE_KEYS.registry)?.toString() ?? '';
      index += world.aws.s3.read(BUCKET, STATE_KEYS.index)?.toString() ?? '';
    };
    await using world = await startWorld({ onToken: (token) => secrets.add('token of EKS', token.split('.')[1] ?? '') });
    for (let minute = 0; minute < 3; minute += 1) await world.minute();
    look(world);
    await spoil(world, secrets);
    await world.hub.hint(auditLogEvent(world.clusters.zurich));
    for (let minute = 3; minute < 12; minute += 1) {
      await world.minute();
      look(world);
    }
    expect(findingsOf(world.hub.index()).length).toBeGreaterThan(0);
    const { identity } = world.aws;
    for (const { secretAccessKey, sessionToken = '' } of identity.issued) {
      secrets.add('secret access key', secretAccessKey);
      secrets.add('session token', sessionToken);
    }
    for (const { name, server } of Object.values(world.clusters)) {
      if ('secret' in world.clusters[name as keyof World['clusters']])
        secrets.add(`token of ${name}`, server.tokenFor('certmarshal'));
    }
    return { output: output.text(), messages: world.hub.bodies.join('\n'), registry, index };
  } finally {
    output.restore();
  }
}

describe('secrets', () => {
  // Each world has only so many clusters to spoil.
  const spoilt = BAD_INPUT.filter(({ findings }) => findings.length > 0);

  it.each([
    ...spoilt.map(({ name, spoil }) => [name, spoil] as const),
    ['a client certificate is refused', useClientCertificate] as const,
  ])('are in nothing that is said when %s', async (_, spoil) => {
    const secrets = createSecrets();
    const { output, messages, registry, index } = await say(spoil, secrets);
    // Whoever looks into the wrong places finds nothing either.
    for (const text of [output, messages, registry, index]) expect(text.length).toBeGreaterThan(5_000);
    expect(secrets.in(output)).toEqual([]);
    expect(secrets.in(messages)).toEqual([]);
    expect(secrets.in(registry)).toEqual([]);
    expect(secrets.in(index)).toEqual([]);

    // AWS takes an external id for no secret: orders and the registry have it, because the sweep needs it. Nothing that people read does.
    const externalId = createSecrets();
    externalId.add('external id', EXTERNAL_ID);
    expect(externalId.in(`${registry}${messages}`)).toEqual(['external id']);
    expect(externalId.in(`${output}${index}`)).toEqual([]);
  });

  it('would be found, whole, in pieces, and in base64', () => {
    const secrets = createSecrets();
    const secret = 'c2VjcmV0LW9mLXRoaXMtdGVzdA/+with=signs';
    secrets.add('it', secret);
    const quoted = JSON.stringify({ a: 1, nested: [`x${secret}`] });
    for (const text of [
      secret,
      `before ${secret.slice(5, 25)} after`,
      quoted,
      Buffer.from(quoted).toString('base64'),
      Buffer.from(`:${quoted}`).toString('base64url'),
      Buffer.from(`::${quoted}`).toString('base64'),
      encodeURIComponent(quoted),
    ])
      expect(secrets.in(text), text).toEqual(['it']);
    expect(secrets.in(secret.slice(0, 19))).toEqual([]);
  });
});
