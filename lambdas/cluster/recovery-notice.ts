import type { Problem } from '../contracts/problem.ts';
import { printable } from '../printable.ts';
import type { Recovery } from '../recovery/recovery.ts';
import { counted } from '../words.ts';

/**
 * Reported as long as it is in force, also if the cluster cannot be reached: a forgotten one must be noticed.
 *
 * @param id of the cluster
 * @param unused why nothing is approved
 */
export function recoveryNotice({ nodes, until, by }: Recovery, id: string, unused: string | undefined): Problem {
  const what = `until ${until} client certificates of ${counted(nodes.length, 'node')} of its control plane are approved, because ${printable(by, 100)} says so`;
  return {
    kind: 'recovery-nodes',
    object: `recovery of cluster ${id}`,
    message: unused === undefined ? what : `${what}; nothing was approved now: ${printable(unused, 250)}`,
    remedy:
      unused === undefined
        ? 'It ends automatically; certmarshal runbook recovery says what to do meanwhile. If no one knows why, remove nodes from recovery in fleet.yaml, and deploy.'
        : 'Read the other findings of the cluster; the next sweep tries again.',
  };
}
