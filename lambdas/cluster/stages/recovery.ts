import type { Problem } from '../../contracts/problem.ts';
import type { RecoveryWindow } from '../../contracts/recovery-window.ts';
import { printable } from '../../printable.ts';
import type { RecoverCluster } from '../recoverer.ts';
import type { Stage } from '../stage.ts';

/** Sweeps the open recovery window of the cluster and reports it, even if it cannot be used. */
export function createRecoveryStage(recover: RecoverCluster): Stage<RecoveryWindow, never> {
  return async ({ due: window, order: { target }, open, held, signal }) => {
    const unused = held ?? (open === undefined ? 'the sweep had no time left' : undefined);
    const notices = [openWindow(window, unused)];
    if (unused !== undefined || open === undefined) return { notices, problems: [] };
    try {
      return { notices, ...(await recover({ target, open, window, signal })) };
    } catch (error) {
      return { notices, problems: [], bug: { error } };
    }
  };
}

/** Reported as long as it is open: an unexpected window must be noticed. @param unused why nothing is approved in it */
function openWindow({ id, cluster, until, by, nodes }: RecoveryWindow, unused: string | undefined): Problem {
  const what = `window ${printable(id, 26)} is open until ${until}, by ${printable(by, 200)}`;
  const count = nodes.length === 1 ? 'a node' : `${nodes.length} nodes`;
  return {
    kind: 'recovery-window',
    object: `recovery of cluster ${cluster}`,
    message:
      unused === undefined
        ? `${what}: client certificates of the kubelets of ${count} of its control plane are approved`
        : `${what}, and nothing was approved: ${printable(unused, 250)}`,
    remedy:
      unused === undefined
        ? 'It closes automatically; certmarshal runbook recovery says what to do meanwhile. If no one knows who opened it, close it: certmarshal recovery close.'
        : 'Read the other findings of the cluster; the next sweep tries again while the window is open.',
  };
}
