import type { SweepReport } from '../../approval/report.ts';
import type { EksReader } from '../../aws/eks-clusters.ts';
import type { SweepOrder } from '../../contracts/order.ts';
import type { Problem } from '../../contracts/problem.ts';
import { CERTIFICATE_KINDS } from '../../kubernetes/errors.ts';
import { adviseForEks, askEks, mayHaveMoved } from './eks.ts';
import { createIdleTargets, type IdleTargets } from './idle-targets.ts';
import { type OpenTarget, openTarget, type TargetSources, UnusableTargetError } from './open-target.ts';

export type { OpenTarget } from './open-target.ts';

/** The result of using a connection. */
export interface Seen {
  readonly problems: readonly Problem[];
  /** Absent if no client could be made. */
  readonly report?: SweepReport;
  /** A bug of certmarshal: there is no retry after it. */
  readonly bug?: object | undefined;
}

export interface Connection {
  /**
   * The clients; those of the previous minute if they were kept.
   *
   * @throws KubeconfigSecretError of kind `unavailable`: nothing is known about the target
   */
  open(signal: AbortSignal): Promise<{ readonly open: OpenTarget } | { readonly problem: Problem }>;
  /**
   * Closes the clients if the result suggests that secrets, endpoint or CA bundle changed; opened again, they are up to
   * date.
   *
   * @returns the problems; undefined to open and try again
   */
  doubt(seen: Seen, signal: AbortSignal): Promise<readonly Problem[] | undefined>;
  /** Keeps the clients for the next minute, unless the result casts doubt on them. */
  release(): void;
}

export type Connect = (order: SweepOrder) => Connection;

export interface ConnectOptions extends TargetSources {
  readonly describeCluster: EksReader['describeCluster'];
  /** ARN of the role that signs the tokens, for remedies. */
  readonly principalArn?: string | undefined;
  /** Connections between two minutes. @default 64 */
  readonly idle?: IdleTargets | undefined;
}

/** Each has a few sockets and about 100 kB. */
const KEPT_TARGETS = 64;

/** Problems that new credentials or a new CA bundle may solve, so that secrets are worth reading again. */
const SUSPECT: ReadonlySet<string> = new Set(['unauthorized', ...CERTIFICATE_KINDS]);

/**
 * Connects to targets and keeps connections for the next minute. After a rotation of credentials or CA the same minute
 * already succeeds: secrets are read again, and EKS is asked again for endpoint and CA bundle. The answer stays with
 * the connection until the order names another target.
 */
export function createConnect(options: ConnectOptions): Connect {
  const { describeCluster, principalArn, idle = createIdleTargets(KEPT_TARGETS) } = options;

  return (order) => {
    const { access, cluster } = order.target;
    const key = JSON.stringify([order.target, order.expiredServer]);
    let { target } = order;
    let clients = idle.take(key);
    let isKept = clients !== undefined;
    let isTrusted = false;
    const close = (): void => {
      clients?.close();
      clients = undefined;
      isKept = false;
      isTrusted = false;
    };

    return {
      async open(signal) {
        try {
          const open = clients ?? (await openTarget(target, options, signal, order.expiredServer));
          clients = open;
          return { open };
        } catch (error) {
          if (!(error instanceof UnusableTargetError)) throw error;
          return { problem: error.problem };
        }
      },

      async doubt(seen, signal) {
        const { problems, bug } = seen;
        isTrusted = bug === undefined && !isSuspect(seen);
        const mayRepeat = !signal.aborted && bug === undefined && (seen.report?.requests.writes ?? 0) === 0;
        if (isKept && mayRepeat && isSuspect(seen)) {
          close();
          return undefined;
        }
        if (access.kind !== 'eks') return problems;
        // Asked once: the answer is in the target from then on.
        const answer =
          mayRepeat && mayHaveMoved(problems) && target === order.target
            ? await askEks(problems, cluster.name, access, describeCluster, signal)
            : problems;
        if (!('endpoint' in answer)) return adviseForEks(answer, cluster.name, access, principalArn);
        close();
        target = { ...target, access: answer };
        return undefined;
      },

      release() {
        if (clients === undefined) return;
        if (isTrusted) idle.keep(key, clients);
        else close();
      },
    };
  };
}

function isSuspect({ problems, report }: Seen): boolean {
  // A source of evidence may be another API server with other credentials.
  return [...problems, ...(report?.evidence ?? [])].some(({ kind }) => kind !== undefined && SUSPECT.has(kind));
}
