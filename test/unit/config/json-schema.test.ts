import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { fleetJsonSchema } from '../../../lambdas/config/json-schema.ts';
import { parseFleet } from '../../../lambdas/config/load-fleet.ts';
import { formatProblems } from '../../../lambdas/config/problems.ts';
import { SECRET, validFleet, writtenFleets } from './fleet-examples.ts';

const COMMITTED: unknown = JSON.parse(
  readFileSync(new URL('../../../schema/fleet.schema.json', import.meta.url), 'utf8'),
);
const editor = z.fromJSONSchema(fleetJsonSchema());

describe('schema/fleet.schema.json', () => {
  it('is what the code accepts; if not, run: npm run -s generate', () => {
    expect(COMMITTED).toEqual(fleetJsonSchema());
  });

  it('describes every key', () => {
    expect(undescribed(COMMITTED, '')).toEqual([]);
  });

  it('accepts whatever parseFleet accepts', () => {
    fc.assert(
      fc.property(validFleet, (file) => {
        const parsed = parseFleet(JSON.stringify(file), 'f');
        expect(parsed.ok ? '' : formatProblems(parsed.problems)).toBe('');
        expect(editor.safeParse(file).error).toBeUndefined();
      }),
      { seed: 7 },
    );
  });

  it.each([
    ['no version', {}],
    ['an unknown key', { version: 1, cluster: [] }],
    ['an unknown key of a policy', { version: 1, policies: [{ modes: 'enforce' }] }],
    ['a missing secret', { version: 1, clusters: [{ name: 'a', provider: 'eks' }] }],
    ['half an ARN', { version: 1, clusters: [{ name: 'a', provider: 'eks', kubeconfigSecret: SECRET.slice(0, -7) }] }],
    ['another signer', { version: 1, policies: [{ signers: ['kubernetes.io/kube-apiserver-client-kubelet'] }] }],
    ['a bad glob', { version: 1, policies: [{ clusters: ['a?'] }] }],
    ['a number in place of a duration', { version: 1, policies: [{ maxExpiration: 366 }] }],
    ['a short RSA key', { version: 1, policies: [{ keys: { rsaMinBits: 1024 } }] }],
    ['an account that is a number', { version: 1, discovery: [{ accounts: [111_122_223_333] }] }],
    ['an Availability Zone', { version: 1, discovery: [{ regions: ['eu-central-1a'] }] }],
    ['the ARN of a role', { version: 1, discovery: [{ role: 'arn:aws:iam::111122223333:role/x' }] }],
    ['a tag that is a boolean', { version: 1, discovery: [{ include: { tags: { certmarshal: true } } }] }],
    ['a management cluster without a secret', { version: 1, managementClusters: [{ name: 'a' }] }],
    ['a lane without subnets', { version: 1, lanes: [{ name: 'a', vpcId: 'vpc-0a1b2c3d', subnetIds: [] }] }],
    ['the alias of a key', { version: 1, hub: { kmsKeyArn: 'arn:aws:kms:eu-central-1:111122223333:alias/x' } }],
    ['a lead that is a number', { version: 1, rollouts: { clusters: [{ clusters: ['a'], begin: 45 }] } }],
    ['a rollout of anything', { version: 1, rollouts: { clusters: [{}] } }],
    ['a pin of nothing', { version: 1, recovery: [{ cluster: 'a', until: '2026-12-05T20:00:00Z', pin: '' }] }],
    ['no evidence', { version: 1, policies: [{ evidence: [] }] }],
  ])('refuses %s', (_, file) => {
    expect(editor.safeParse(file).success).toBe(false);
  });
});

describe.each(writtenFleets())('%s', (where, text) => {
  it('is valid for parseFleet and for the schema', () => {
    const parsed = parseFleet(text, where);
    expect(parsed.ok ? '' : formatProblems(parsed.problems)).toBe('');
    expect(editor.safeParse(parse(text)).error).toBeUndefined();
  });
});

it('finds the commented examples of fleet.yaml', () => {
  const [, text = ''] = writtenFleets()[1] ?? [];
  const parsed = parseFleet(text, 'fleet.yaml');
  expect(parsed.ok && parsed.fleet.clusters.map(({ name }) => name)).toEqual(['edge-1']);
  expect(parsed.ok && parsed.fleet.discovery.map(({ accounts }) => accounts)).toEqual([['self'], ['111122223333']]);
  expect(parsed.ok && parsed.fleet.discovery[0]?.accessEntries).toEqual(['dublin-prod']);
  expect(parsed.ok && parsed.fleet.managementClusters.map(({ lane }) => lane)).toEqual(['onprem']);
  expect(parsed.ok && parsed.fleet.lanes.map(({ name }) => name)).toEqual(['onprem']);
  expect(parsed.ok && parsed.fleet.policies[0]?.patterns.dnsNames).toEqual(['{node}.corp.example.com']);
});

function undescribed(schema: unknown, path: string): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]: [string, unknown]) => {
    if (key !== 'properties') return undescribed(value, path);
    return Object.entries(Object(value)).flatMap(([name, property]: [string, unknown]) => [
      ...(Object.hasOwn(Object(property), 'description') ? [] : [`${path}.${name}`]),
      ...undescribed(property, `${path}.${name}`),
    ]);
  });
}
