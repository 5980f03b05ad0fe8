import { readFile } from 'node:fs/promises';
import { approve } from '../../lambdas/approval/approve.ts';
import { DEFAULT_POLICY } from '../../lambdas/approval/policy.ts';
import { createKubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { loadSecretKubeconfig } from '../../lambdas/kubernetes/secret-kubeconfig.ts';

// One sweep in a process of its own, as the Lambda function does it: prints what it approved and its peak memory.
const [, , kubeconfig = ''] = process.argv;
const client = createKubernetesClient({
  ...loadSecretKubeconfig(await readFile(kubeconfig, 'utf8')),
  addresses: 'local',
});
const report = await approve(
  {
    cluster: { name: 'bench', provider: 'eks-anywhere' },
    workload: client,
    management: client,
    machinesNamespace: 'default',
  },
  [DEFAULT_POLICY],
  Date.now,
  AbortSignal.timeout(120_000),
);
client.close();
process.stdout.write(
  JSON.stringify({ approved: report.counts.approved, maxRssMiB: process.resourceUsage().maxRSS / 1024 }),
);
