import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { App, Stack } from 'aws-cdk-lib/core';
import { afterAll, describe, expect, it } from 'vitest';
import type { Fleet, FleetCluster } from '../../../lambdas/config/fleet.ts';
import { allowReadingKubeconfigs } from '../../../lib/hub-stack.ts';
import { managementCluster } from '../fleet/values.ts';

const arnOf = (name: string) => `arn:aws:secretsmanager:eu-central-1:111122223333:secret:certmarshal/${name}-Ab12Cd`;

const output = mkdtempSync(join(tmpdir(), 'certmarshal-access-'));
afterAll(() => rmSync(output, { recursive: true, force: true }));

function clusters(count: number, differences: Partial<FleetCluster> = {}): readonly FleetCluster[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `c${index}`,
    id: `c${index}`,
    lane: 'default',
    namespace: 'eksa-system',
    provider: 'eks',
    kubeconfigSecret: arnOf(`cluster-${String(index).padStart(4, '0')}`),
    ...differences,
  }));
}

interface PolicyDocument {
  readonly Statement: readonly { readonly Resource: string | readonly string[] }[];
}

function policiesFor(
  fleet: readonly FleetCluster[],
  managementClusters: Fleet['managementClusters'] = [],
): readonly PolicyDocument[] {
  const stack = new Stack(new App({ outdir: mkdtempSync(join(output, 'cdk.out-')) }), 'Test');
  const role = new Role(stack, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  allowReadingKubeconfigs(stack, role, { clusters: fleet, managementClusters });
  const found = Template.fromStack(stack).findResources('AWS::IAM::ManagedPolicy');
  return Object.values(found).map(({ Properties }) => Properties.PolicyDocument);
}

const secretsIn = (policies: readonly PolicyDocument[]) =>
  policies.flatMap(({ Statement }) => Statement.flatMap(({ Resource }) => Resource));

describe('allowReadingKubeconfigs', () => {
  it.each([1, 2, 60, 100, 500])('names every secret of %i clusters once, in policies that IAM takes', (count) => {
    const policies = policiesFor(clusters(count));
    expect(secretsIn(policies)).toEqual(clusters(count).map(({ kubeconfigSecret }) => kubeconfigSecret));
    for (const policy of policies) expect(JSON.stringify(policy).length).toBeLessThanOrEqual(6_144);
  });

  it('names a shared management cluster once', () => {
    const secrets = secretsIn(policiesFor(clusters(30, { managementKubeconfigSecret: arnOf('hub') })));
    expect(secrets.filter((arn) => arn === arnOf('hub'))).toHaveLength(1);
    expect(secrets).toHaveLength(31);
  });

  it('does not change with the order of the clusters', () => {
    const fleet = clusters(150);
    expect(policiesFor(fleet.toReversed())).toEqual(policiesFor(fleet));
  });

  it('grants nothing for a fleet without clusters', () => {
    expect(policiesFor([])).toEqual([]);
  });

  it('names the secrets of management clusters and of their workload clusters', () => {
    const management = managementCluster({ kubeconfigSecrets: { berlin: arnOf('berlin') } });
    expect(secretsIn(policiesFor([], [management]))).toEqual([arnOf('berlin'), management.kubeconfigSecret]);
  });
});
