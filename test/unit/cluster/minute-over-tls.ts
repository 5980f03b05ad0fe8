import { stringify } from 'yaml';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { createMinute, type MinuteOptions, type SweepCluster } from '../../../lambdas/cluster/minute.ts';
import { isOnLoopback } from '../../fleet/loopback.ts';
import { defaultCertificates, type Handler, startTlsServer, TOKEN } from '../kubernetes/tls-server.ts';

interface KubeconfigOptions {
  readonly server: string;
  readonly caPem?: string;
  readonly token?: string;
  readonly user?: object;
}

export async function kubeconfigOf({ server, caPem, token = TOKEN, user }: KubeconfigOptions): Promise<string> {
  const ca = caPem ?? (await defaultCertificates()).authority.certificatePem;
  return stringify({
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'u', user: user ?? { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

/** The minute of clusters on this machine. What is not given is not asked for. */
export function minuteOf(options: Partial<MinuteOptions>): SweepCluster {
  const notAsked = async (): Promise<never> => Promise.reject(new Error('not asked for'));
  return createMinute({
    addresses: 'local',
    readSecret: notAsked,
    signToken: notAsked,
    isEksEndpoint: isOnLoopback,
    describeCluster: notAsked,
    async *listInstances() {},
    policies: [DEFAULT_POLICY],
    clock: Date.now,
    ...options,
  });
}

/** The minute of the one cluster whose kubeconfig leads to this server. */
export async function minuteOver(handler: Handler, options: Partial<MinuteOptions> = {}) {
  const server = await startTlsServer(handler);
  const text = await kubeconfigOf(server.connection);
  return { server, sweepOne: minuteOf({ readSecret: async () => text, ...options }) };
}
