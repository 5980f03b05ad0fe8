import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { snapshotKey } from '../../../lambdas/audit/snapshots.ts';
import { STATE_KEYS } from '../../../lambdas/fleet/state-keys.ts';
import { listen } from '../alarms/listen.ts';
import { createSecrets, type Secrets } from './leaks.ts';
import { EXTERNAL_ID, SNAPSHOT_BUCKET } from './places.ts';
import { IDS, startWorld, type World, type WorldOptions } from './world.ts';

/** A world with audits, of which all that it says and all its secrets are known. */
export interface HeardWorld extends World {
  readonly secrets: Secrets;
  /** Every version of the index so far. */
  indexes(): string;
  /** Fails where something that was said has a secret in it. */
  expectNoSecretSaid(): void;
}

export async function startHeardWorld(options: WorldOptions = {}): Promise<HeardWorld> {
  const secrets = createSecrets();
  // Logs and metrics; each version of the two objects.
  let [output, registry, index] = ['', '', ''];
  const endListening = listen((text) => {
    output += text;
  });
  const world = await startWorld({
    ...options,
    audits: true,
    onToken: (token) => secrets.add('token of EKS', token),
  }).catch((error: unknown) => {
    endListening();
    throw error;
  });
  const { aws, clusters, hub } = world;
  return {
    ...world,
    secrets,
    indexes: () => index,
    async minute() {
      await world.minute();
      registry += hub.textOf(STATE_KEYS.registry);
      index += hub.textOf(STATE_KEYS.index);
    },
    expectNoSecretSaid() {
      for (const { secretAccessKey, sessionToken = '' } of aws.identity.issued) {
        secrets.add('secret access key', secretAccessKey);
        secrets.add('session token', sessionToken);
      }
      const { berlin, paris, rome, venice } = clusters;
      for (const { name, server } of [berlin, paris, rome, venice])
        secrets.add(`token of ${name}`, server.tokenFor('certmarshal'));
      const messages = JSON.stringify(hub.written);
      const snapshots = Object.values(IDS)
        .map((id) => aws.s3.read(SNAPSHOT_BUCKET, snapshotKey(id)))
        .map((bytes) => (bytes === undefined ? '' : gunzipSync(bytes).toString('utf8')))
        .join('\n');
      for (const text of [output, messages, registry]) expect(text.length).toBeGreaterThan(5_000);
      for (const text of [index, snapshots]) expect(text.length).toBeGreaterThan(1_000);
      const found = { output, messages, registry, index, snapshots };
      expect(
        Object.entries(found).flatMap(([where, text]) => secrets.in(text).map((name) => `${name} in ${where}`)),
      ).toEqual([]);

      // AWS takes an external id for no secret: the registry has it. Orders, and what people read, do not.
      expect(registry).toContain(EXTERNAL_ID);
      const externalId = createSecrets();
      externalId.add('external id', EXTERNAL_ID);
      expect(externalId.in(`${output}${messages}${index}${snapshots}`)).toEqual([]);
    },
    async [Symbol.asyncDispose]() {
      endListening();
      await world[Symbol.asyncDispose]();
    },
  };
}
