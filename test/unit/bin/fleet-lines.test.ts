import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { fleetLines, type NewCredentials } from '../../../bin/commands/credentials/fleet-lines.ts';
import { parseFleet } from '../../../lambdas/config/load-fleet.ts';

describe('the lines for fleet.yaml', () => {
  const made = {
    name: 'berlin',
    kubeconfigSecret: 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:berlin-aB3dE5',
    provider: 'eks-anywhere' as const,
    management: false,
  };
  const places: readonly [string, NewCredentials, RegExp][] = [
    ['a cluster', made, /^clusters:\n {2}- name: berlin\n {4}provider: eks-anywhere\n/],
    ['an EKS cluster', { ...made, provider: 'eks' }, /^clusters:\n {2}- name: berlin\n {4}provider: eks\n/],
    ['a management cluster', { ...made, management: true }, /^managementClusters:\n {2}- name: berlin\n/],
    [
      'a workload cluster',
      { ...made, workloadOf: 'mgmt' },
      /^managementClusters:\n {2}- name: mgmt\n {4}workloadClusters:\n {6}kubeconfigSecrets:\n {8}berlin: arn:/,
    ],
  ];

  it.each(places)('of %s stand where they belong, and say when', (_, credentials, expected) => {
    const { fleet, yaml, when } = fleetLines(credentials);
    expect(yaml).toMatch(expected);
    expect(parse(yaml)).toEqual(fleet);
    expect(when).toMatch(/^For [^.]+\.$/);
  });

  it('are a fleet with what stands in the comments', () => {
    for (const [, credentials] of places.slice(0, 3)) {
      const text = fleetLines(credentials)
        .yaml.replaceAll('# ', '')
        .replace('NAME', 'onprem')
        .replace('ARN', made.kubeconfigSecret.replace('berlin', 'mgmt'));
      const lane =
        'lanes: [{ name: onprem, vpcId: vpc-0a1b2c3d4e5f60718, subnetIds: [subnet-0a1b2c3d4e5f60718], securityGroupIds: [sg-0a1b2c3d4e5f60718] }]';
      const lines = text.split('\n').map((line) => line.replace(/ {2}(?:one of|its own|of the).*$/, ''));
      const parsed = parseFleet(`version: 1\n${lane}\n${lines.join('\n')}`, 'fleet.yaml');
      expect(parsed).toMatchObject({ ok: true });
    }
  });
});
