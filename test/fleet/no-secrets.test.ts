import { createPrivateKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { kubeconfigYaml } from '../control-plane/kubeconfig.ts';
import { AwsFault } from './aws/aws-fault.ts';
import { type HeardWorld, startHeardWorld } from './hub/heard-world.ts';
import { createSecrets } from './hub/leaks.ts';
import { HUB } from './hub/places.ts';
import { IDS } from './hub/world.ts';
import { createServingCertificate } from './serving-certificate.ts';

/** More than the bad input of fault-matrix.test.ts, which looks for secrets too. */
const RUNS: readonly (readonly [name: string, kind: string, spoil: (world: HeardWorld) => void | Promise<void>])[] = [
  ['a client certificate means nothing to the API server', 'forbidden', useClientCertificate],
  [
    'Secrets Manager fails',
    'secret',
    ({ aws, hub }) => {
      aws.fail('secretsmanager:GetSecretValue', new AwsFault(400, 'InternalServiceError', 'it failed'), 4);
      hub.restart();
    },
  ],
];

async function useClientCertificate({ aws, clusters: { paris }, hub, secrets }: HeardWorld): Promise<void> {
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

describe('secrets', () => {
  it.each(RUNS)('are in nothing that is said when %s', async (_, kind, spoil) => {
    await using world = await startHeardWorld();
    for (let minute = 0; minute < 4; minute += 1) await world.minute();
    await spoil(world);
    await world.hub.webhook(IDS.zurich);
    for (let minute = 0; minute < 8; minute += 1) await world.minute();
    expect(world.indexes()).toContain(`"kind":"${kind}"`);
    world.expectNoSecretSaid();
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
