import { readFile } from 'node:fs/promises';
import { audit } from '../../lambdas/audit/audit.ts';
import { DEFAULT_PORTS } from '../../lambdas/audit/audit-target.ts';
import { DEFAULT_THRESHOLDS } from '../../lambdas/audit/rules/thresholds.ts';
import { createKubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { loadSecretKubeconfig } from '../../lambdas/kubernetes/secret-kubeconfig.ts';

// One audit in a process of its own, as the Lambda function does it: prints what it took and its peak memory.
const [, , kubeconfig = '', port = '0'] = process.argv;
const workload = createKubernetesClient({
  ...loadSecretKubeconfig(await readFile(kubeconfig, 'utf8')),
  addresses: 'local',
});
const { snapshot, durationMs, requests } = await audit(
  {
    id: 'bench',
    cluster: { name: 'bench', provider: 'eks-anywhere' },
    workload,
    management: workload,
    machinesNamespace: 'eksa-system',
    reach: { handshakes: port !== '0', secrets: false, kubeletMetrics: false },
    ports: { ...DEFAULT_PORTS, kubelet: Number(port) },
  },
  { previous: undefined, thresholds: DEFAULT_THRESHOLDS, clock: Date.now, signal: AbortSignal.timeout(60_000) },
);
workload.close();
const places = (kind: 'certificate' | 'unread') =>
  new Set(
    snapshot.observations.flatMap((seen) =>
      seen.kind === kind && seen.source === 'tls' && seen.where?.endsWith(`:${port}`) ? [seen.where] : [],
    ),
  ).size;
process.stdout.write(
  JSON.stringify({
    seconds: durationMs / 1000,
    requests,
    seen: places('certificate'),
    unread: places('unread'),
    maxRssMiB: process.resourceUsage().maxRSS / 1024,
  }),
);
