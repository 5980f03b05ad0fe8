import { expect, it } from 'vitest';
import { readControlPlane } from '../../../lambdas/rollout/read-control-plane.ts';
import { readSibling } from '../../../lambdas/rollout/read-sibling.ts';
import { slimControlPlane } from '../../../lambdas/rollout/slim-control-plane.ts';
import { rawControlPlane } from './fixtures.ts';

const VERSIONS = ['v1beta2', 'v1beta1'] as const;
const changed = (version: (typeof VERSIONS)[number], metadata: object, spec: object = {}) => {
  const raw = rawControlPlane(version);
  return { ...raw, metadata: { ...Object(raw['metadata']), ...metadata }, spec: { ...Object(raw['spec']), ...spec } };
};

it.each(
  VERSIONS.flatMap((version) => [
    [version, changed(version, {})] as const,
    [version, changed(version, { annotations: { 'certmarshal.dev/rollout': 'x'.repeat(5000) } })] as const,
    [
      version,
      changed(version, {
        annotations: { 'certmarshal.dev/rollout-hold': '{}', 'certmarshal.dev/rollout-mode': 'auto' },
      }),
    ] as const,
    [
      version,
      changed(version, { annotations: { 'controlplane.cluster.x-k8s.io/remediation-in-progress': '' } }),
    ] as const,
    [
      version,
      changed(version, { deletionTimestamp: '2026-11-28T02:30:00Z', annotations: { 'cluster.x-k8s.io/paused': '' } }),
    ] as const,
    [version, changed(version, { uid: undefined })] as const,
    [version, changed(version, {}, { rollout: { after: 'soon' }, rolloutAfter: '2026-11-28T02:30:00Z' })] as const,
  ]),
)('%s: a slim one reads as the whole one: %#', (version, raw) => {
  const slim = slimControlPlane(raw);
  const machines = [{ metadata: { creationTimestamp: '2026-01-01T00:00:00Z' }, status: { nodeRef: {} } }];
  expect(readSibling(slim, version, machines)).toEqual(readSibling(raw, version, machines));
  const read = readControlPlane(raw, version);
  const again = readControlPlane(slim, version);
  const states = (conditions: object = {}) =>
    Object.entries(conditions).map(([type, { status }]) => `${type} ${status}`);
  expect(states(again?.conditions)).toEqual(states(read?.conditions));
  const { conditions: _c, template: _t, certificateValidityDays: _v, ...rest } = read ?? {};
  expect(again === undefined).toBe(read === undefined);
  expect(again ?? {}).toMatchObject(rest);
});

it('keeps nothing that a stranger may fill', () => {
  const large = 'x'.repeat(100_000);
  const raw = changed(
    'v1beta2',
    {
      finalizers: [large],
      managedFields: [large],
      ownerReferences: [large],
      annotations: { mine: large, 'certmarshal.dev/rollout': large },
      labels: { mine: large },
    },
    { machineTemplate: large, mine: large, kubeadmConfigSpec: { files: [large] } },
  );
  const status = {
    failureMessage: large,
    conditions: Array.from({ length: 1000 }, () => ({ type: large, message: large })),
  };
  expect(JSON.stringify(slimControlPlane({ ...raw, status })).length).toBeLessThan(16_384);
  for (const none of [undefined, null, 'text', [], { metadata: 1, spec: null, status: [] }])
    expect(() => slimControlPlane(none)).not.toThrow();
});
