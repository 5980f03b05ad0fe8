import type { OpenTarget } from '../../lambdas/cluster/connect/connect.ts';
import { UnusableTargetError } from '../../lambdas/cluster/connect/open-target.ts';
import type { Fleet } from '../../lambdas/config/fleet.ts';
import { problemOf } from '../../lambdas/contracts/problem.ts';
import { KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { printable } from '../../lambdas/printable.ts';
import { type AuditTargetOptions, openAuditTarget } from '../commands/audit/target.ts';
import { UsageError } from '../exit-codes.ts';
import { type NamedServer, repeatOptions, requireServiceCidrs } from '../target.ts';

/** Enough for the small version request: one that is silent must delay no other. Milliseconds. */
const ANSWERS_WITHIN_MS = 5_000;

/**
 * Opens a context as the command line says, and asks for the version of its API server before anything else. Any answer
 * counts, also an error status.
 *
 * @param onOpen called with the server
 * @throws UnusableTargetError
 */
export async function openContext(
  context: string,
  options: AuditTargetOptions,
  fleet: Fleet,
  signal: AbortSignal,
  onOpen: (server: NamedServer) => void,
): Promise<OpenTarget> {
  const object = `context ${printable(context, 200)}`;
  const remedy = `Run certmarshal doctor${repeatOptions({ ...options, context })}`;
  try {
    const target = await openAuditTarget({ ...options, context }, fleet, (cluster) =>
      requireServiceCidrs(cluster, fleet.policies),
    );
    const problem = await silenceOf(target, signal);
    if (problem === undefined) {
      onOpen(target.server);
      return target;
    }
    target.close();
    throw new UnusableTargetError({ kind: 'unreachable', object, message: problem, remedy });
  } catch (error) {
    if (error instanceof KubernetesError) throw new UnusableTargetError(problemOf(error));
    if (!(error instanceof UsageError)) throw error;
    const message = error.message.replaceAll('\n', ' ');
    throw new UnusableTargetError({ kind: 'kubeconfig', object, message, remedy });
  }
}

async function silenceOf({ workload }: Pick<OpenTarget, 'workload'>, signal: AbortSignal): Promise<string | undefined> {
  const deadline = AbortSignal.timeout(ANSWERS_WITHIN_MS);
  try {
    await workload.request({ method: 'GET', path: '/version', signal: AbortSignal.any([signal, deadline]) });
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    if (signal.aborted) return 'it was not read before the end';
    const server = printable(workload.server, 300);
    if (deadline.aborted) return `${server} does not answer within ${ANSWERS_WITHIN_MS / 1_000} s`;
    if (error.kind === 'unreachable') return `${server}: ${error.problem}`;
  }
  return undefined;
}
