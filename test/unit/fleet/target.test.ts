import { build } from 'esbuild';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeTarget,
  encodeTarget,
  type FleetCluster,
  type Target,
  targetsOf,
} from '../../../lambdas/fleet/target.ts';

const SECRET = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/berlin-Ab12Cd';
const TICK = Date.UTC(2026, 10, 21, 3, 4);
const TARGET: Target = { cluster: { name: 'berlin', provider: 'eks-anywhere' }, kubeconfigSecret: SECRET };

describe('targetsOf', () => {
  it('makes one target of each cluster, in order', () => {
    const clusters: readonly FleetCluster[] = [
      { name: 'b', provider: 'eks', kubeconfigSecret: SECRET },
      {
        name: 'a',
        provider: 'eks-anywhere',
        kubeconfigSecret: SECRET,
        managementKubeconfigSecret: SECRET,
        serviceCidrs: ['10.96.0.0/12'],
      },
    ];
    expect(targetsOf({ clusters })).toStrictEqual([
      { cluster: { name: 'b', provider: 'eks' }, kubeconfigSecret: SECRET },
      {
        cluster: { name: 'a', provider: 'eks-anywhere', serviceCidrs: ['10.96.0.0/12'] },
        kubeconfigSecret: SECRET,
        managementKubeconfigSecret: SECRET,
      },
    ]);
  });
});

describe('decodeTarget', () => {
  it('reads back every target', () => {
    const secret = fc
      .stringMatching(/^[A-Za-z0-9/_+=.@-]{1,512}$/)
      .map((name) => `${SECRET.slice(0, 56)}${name}-Ab12Cd`);
    const target: fc.Arbitrary<Target> = fc.record(
      {
        cluster: fc.record(
          {
            name: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/),
            provider: fc.constantFrom('eks', 'eks-anywhere'),
            serviceCidrs: fc.array(
              fc
                .oneof(fc.tuple(fc.ipV4(), fc.nat({ max: 32 })), fc.tuple(fc.ipV6(), fc.nat({ max: 128 })))
                .map(([address, prefix]) => `${address}/${prefix}`),
              { maxLength: 16 },
            ),
          },
          { requiredKeys: ['name', 'provider'] },
        ),
        kubeconfigSecret: secret,
        managementKubeconfigSecret: secret,
      },
      { requiredKeys: ['cluster', 'kubeconfigSecret'] },
    );
    fc.assert(
      fc.property(target, fc.maxSafeNat(), (sent, tick) => {
        expect(decodeTarget(encodeTarget(sent, tick))).toEqual({ ok: true, target: sent, tick });
      }),
      { seed: 3, numRuns: 500 },
    );
  });

  it('ignores fields it does not know', () => {
    const body = JSON.stringify({ version: 1, tick: TICK, later: 1, target: { ...TARGET, later: 1 } });
    expect(decodeTarget(body)).toStrictEqual({ ok: true, target: TARGET, tick: TICK });
  });

  it.each([
    ['', 'the message is not JSON'],
    ['{', 'the message is not JSON'],
    ['null', 'the message is not a JSON object'],
    ['[]', 'the message is not a JSON object'],
    [' '.repeat(8193), 'the message is longer than 8192 characters'],
    [message({ version: 2 }), 'version is not 1'],
    [message({ tick: '0' }), 'tick is not a time in milliseconds since the epoch'],
    [message({ tick: -1 }), 'tick is not a time in milliseconds since the epoch'],
    [message({ tick: 1.5 }), 'tick is not a time in milliseconds since the epoch'],
    [message({ target: [] }), 'target is not an object'],
    [withTarget({ cluster: 'berlin' }), 'target.cluster is not an object'],
    [withCluster({ name: '' }), 'target.cluster.name is not a cluster name'],
    [withCluster({ name: 'a\nb' }), 'target.cluster.name is not a cluster name'],
    [withCluster({ name: '../etc' }), 'target.cluster.name is not a cluster name'],
    [withCluster({ name: 'a'.repeat(101) }), 'target.cluster.name is not a cluster name'],
    [withCluster({ provider: 'gke' }), 'target.cluster.provider is not one of eks, eks-anywhere'],
    [withCluster({ serviceCidrs: null }), 'target.cluster.serviceCidrs is not a list of CIDRs'],
    [withCluster({ serviceCidrs: [8] }), 'target.cluster.serviceCidrs is not a list of CIDRs'],
    [withCluster({ serviceCidrs: ['10.0.0.0/33'] }), 'target.cluster.serviceCidrs is not a list of CIDRs'],
    [withCluster({ serviceCidrs: Array(17).fill('10.0.0.0/8') }), 'target.cluster.serviceCidrs is not a list of CIDRs'],
    [withTarget({ kubeconfigSecret: undefined }), 'target.kubeconfigSecret is not the ARN of a secret'],
    [withTarget({ kubeconfigSecret: 'berlin' }), 'target.kubeconfigSecret is not the ARN of a secret'],
    [withTarget({ kubeconfigSecret: SECRET.slice(0, -7) }), 'target.kubeconfigSecret is not the ARN of a secret'],
    [withTarget({ managementKubeconfigSecret: null }), 'target.managementKubeconfigSecret is not the ARN of a secret'],
  ])('refuses %.60s', (body, problem) => {
    expect(decodeTarget(body)).toStrictEqual({ ok: false, problem });
  });

  it('gives a value for every text', () => {
    const json = fc.json({ maxDepth: 4 });
    const nearly = fc.jsonValue().map((value) => message({ target: { ...TARGET, cluster: value } }));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), json, nearly), (body) => {
        expect(decodeTarget(body).ok).toBe(false);
      }),
      { seed: 4, numRuns: 500 },
    );
  });
});

it('brings no configuration reader into the sweep function', async () => {
  const entry = new URL('../../../lambdas/fleet/target.ts', import.meta.url).pathname;
  const { metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
  });
  expect(Object.keys(metafile.inputs).filter((file) => /node_modules|lambdas\/config/.test(file))).toEqual([]);
});

function message(changed: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ version: 1, tick: TICK, target: TARGET, ...changed });
}

function withTarget(changed: Readonly<Record<string, unknown>>): string {
  return message({ target: { ...TARGET, ...changed } });
}

function withCluster(changed: Readonly<Record<string, unknown>>): string {
  return withTarget({ cluster: { ...TARGET.cluster, ...changed } });
}
