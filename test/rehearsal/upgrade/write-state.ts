import { writeFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { BUCKET, JOURNAL_BUCKET } from '../../fleet/hub/places.ts';
import { startBusyFleet } from './busy-fleet.ts';
import { loadRecovering, PREVIOUS } from './previous-version.ts';

// node test/rehearsal/upgrade/write-state.ts
// Writes what the version before keeps when it is in the middle of everything: test/fleet/upgrade.test.ts reads it, without the source of that version.

const { story, rolling } = await startBusyFleet(await loadRecovering());
const { aws, clock, clusters, hub } = story;
const textsOf = (bucket: string): readonly (readonly [key: string, text: string])[] =>
  aws.s3.keys(bucket).map((key) => {
    const bytes = aws.s3.read(bucket, key) ?? Buffer.alloc(0);
    return [key, (key.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()];
  });
const messages: readonly { kind?: string; id?: string; target?: { id: string } }[] = hub.bodies.map((body) =>
  JSON.parse(body),
);
const newest = (some: typeof messages) => [...new Map(some.map((one) => [one.id ?? one.target?.id, one])).values()];
const state = {
  commit: PREVIOUS.orders,
  now: clock.now(),
  objects: Object.fromEntries(textsOf(BUCKET).map(([key, text]) => [key, JSON.parse(text)])),
  // Of zurich there is much of the same.
  journal: Object.fromEntries(textsOf(JOURNAL_BUCKET).filter(([key]) => !key.includes('/zurich'))),
  orders: newest(messages.filter(({ kind }) => kind === undefined)),
  outcomes: newest(messages.filter(({ kind }) => kind !== undefined)),
  marks: [...rolling.cluster.objects.values()].flatMap(({ metadata }) => metadata['annotations'] ?? []),
  lease: clusters.cairo.server.api.leases.get('kube-system/certmarshal-recovery'),
};
// No certificate is committed.
const text = JSON.stringify(state, undefined, 2).replaceAll(
  /(?<="certificateAuthority": ")[^"]+/g,
  Buffer.from('left out').toString('base64'),
);
await writeFile(new URL('../../fleet/upgrade/previous-state.json', import.meta.url), `${text}\n`);
await story[Symbol.asyncDispose]();
process.stdout.write(`${PREVIOUS.orders}: ${text.length} characters\n`);
