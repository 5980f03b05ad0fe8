import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';

import type { Provider } from '../../../lambdas/approval/policy.ts';
import { openTarget } from '../../../lambdas/fleet/open-target.ts';

const arnOf = (name: string) => `arn:aws:secretsmanager:eu-west-1:123456789012:secret:${name}-AbCdEf`;

function kubeconfig(server: string): string {
  return stringify({
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token: 'a-token' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

async function open(provider: Provider, options: { readonly server?: string; readonly managed?: boolean } = {}) {
  const texts = new Map([
    [arnOf('own'), kubeconfig(options.server ?? 'https://api.berlin.example:6443')],
    [arnOf('management'), kubeconfig('https://api.management.example')],
  ]);
  const target = {
    cluster: { name: 'berlin', provider, serviceCidrs: ['10.96.0.0/12'] },
    kubeconfigSecret: arnOf('own'),
    ...(options.managed === true ? { managementKubeconfigSecret: arnOf('management') } : {}),
  };
  const opened = await openTarget(target, async (arn) => texts.get(arn) ?? '', new AbortController().signal);
  opened.close();
  return opened;
}

describe('openTarget', () => {
  it('knows the cluster, and the name of its endpoint', async () => {
    const { cluster } = await open('eks');
    expect(cluster).toEqual({
      name: 'berlin',
      provider: 'eks',
      serviceCidrs: ['10.96.0.0/12'],
      endpoint: 'api.berlin.example',
    });
    expect((await open('eks', { server: 'https://[2001:db8::1]:6443' })).cluster.endpoint).toBe('2001:db8::1');
  });

  it('reads Machines from the management cluster where one is named', async () => {
    for (const provider of ['eks', 'eks-anywhere'] as const)
      expect((await open(provider, { managed: true })).management?.server).toBe('https://api.management.example');
  });

  it('takes an EKS Anywhere cluster without one as its own management cluster', async () => {
    const { workload, management } = await open('eks-anywhere');
    expect(management).toBe(workload);
    expect((await open('eks')).management).toBeUndefined();
  });
});
