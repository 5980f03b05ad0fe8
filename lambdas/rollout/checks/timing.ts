import type { RolloutMark } from '../../contracts/rollout-mark.ts';
import { DAY_MS } from '../../time.ts';
import { endOfWindow, nextOpening } from '../../window/window.ts';
import { counted, date, firstOf, span } from '../../words.ts';
import type { CheckQuestion } from '../checks.ts';
import type { ObservedRollout } from '../observed.ts';
import { COOL_DOWN_DAYS, LOOP_GUARD_DAYS } from '../policy.ts';
import { hasTurn, MAX_UNDONE, TURN_MS } from '../turn.ts';
import { renewedCertificates, rolloutSpan } from './span.ts';
import { fails, objectOf, onPort, passes, serversOf, stayingMachines, type Verdict, verdictOf } from './verdict.ts';

/** Each machine with a certificate that has ended, and the one of them that ended first; last the API server. */
export function expiredCertificates(observed: ObservedRollout, now: number) {
  const { apiServer } = observed;
  const ofMachines = stayingMachines(observed).flatMap((machine) => {
    const { name } = machine;
    const object = objectOf('Machine', machine);
    const ended = serversOf(machine).flatMap(({ port, served }) =>
      served.kind === 'certificate' && !(served.notAfter > now)
        ? [{ object, name, port, notAfter: served.notAfter }]
        : [],
    );
    return ended.toSorted((a, b) => a.notAfter - b.notAfter).slice(0, 1);
  });
  if (apiServer === undefined || apiServer.notAfter > now) return ofMachines;
  const object = `API server ${apiServer.url}`;
  return [...ofMachines, { object, name: 'the API server', port: undefined, notAfter: apiServer.notAfter }];
}

/** After expiry neither Cluster API nor etcdadm can reach the cluster: a rollout would begin and never end. */
export function notExpired({ observed, now }: CheckQuestion): Verdict {
  const ended = expiredCertificates(observed, now);
  const client = observed.etcd?.clientCertificate;
  const [first] = ended;
  return verdictOf(
    [
      ...ended.map(
        ({ name, port, notAfter }) => `${name} shows one${onPort(port)} that expired ${span(now - notAfter)} ago`,
      ),
      ...(client !== undefined && !(client.notAfter > now)
        ? [`the client certificate of etcd expired ${span(now - client.notAfter)} ago`]
        : []),
    ],
    {
      object: first?.object,
      good: 'no certificate that was seen has expired',
      remedy: 'Renew by hand, because nothing is automatic any more: certmarshal runbook recovery',
    },
  );
}

export function due({ observed, policy, now }: CheckQuestion): Verdict {
  const when = rolloutSpan(renewedCertificates(observed), observed, policy);
  if (when === undefined) {
    return fails({
      found: 'no certificate was seen, so it is not known when it is due',
      remedy: 'Give certmarshal a route to the machines: see the check handshakes',
    });
  }
  const { from, soonestEnd } = when;
  const ends = soonestEnd > now ? `expires in ${span(soonestEnd - now)}` : `expired ${span(now - soonestEnd)} ago`;
  if (from <= now) return passes(`the first certificate ${ends}`);
  return fails({
    found: `the first certificate ${ends}, it is due in ${span(from - now)}`,
    remedy: `Wait until ${date(from)}, or begin earlier: rollouts.clusters.begin of fleet.yaml`,
    passing: true,
  });
}

/** For certificates that have not expired; `notExpired` covers the others. */
export function notTooLate({ observed, policy, now }: CheckQuestion): Verdict | undefined {
  const seen = renewedCertificates(observed);
  const valid = seen.filter(({ notAfter }) => notAfter > now);
  const when = rolloutSpan(valid, observed, policy);
  if (when === undefined) {
    if (valid.length < seen.length) return undefined;
    return fails({
      found: 'no certificate was seen, so it is not known how much time is left',
      remedy: 'Give certmarshal a route to the machines: see the check handshakes',
    });
  }
  const left = `the first certificate expires in ${span(when.soonestEnd - now)}`;
  if (now <= when.until) return passes(`${left}, there is time until ${date(when.until)} to begin`);
  return fails({
    found: `${left}: too little time is left to fix what goes wrong`,
    remedy: 'Begin it yourself and stay with it: certmarshal rollout start --yes',
  });
}

export function maintenanceWindow({ policy, now }: CheckQuestion): Verdict {
  const windows = policy?.windows ?? [];
  if (windows.length === 0) return passes('there are no maintenance windows: any time is allowed');
  const ends = windows.flatMap((window) => endOfWindow(window, now) ?? []);
  if (ends.length > 0) return passes(`a maintenance window is open until ${date(Math.max(...ends))}`);
  const next = windows.flatMap((window) => nextOpening(window, now) ?? []);
  if (next.length === 0) {
    return fails({
      found: 'no maintenance window opens any more',
      remedy: 'Add a future window to rollouts.clusters.windows of fleet.yaml',
    });
  }
  const opens = Math.min(...next);
  return fails({
    found: `no maintenance window is open, the next opens in ${span(opens - now)}`,
    remedy: `Wait until ${date(opens)}`,
    passing: true,
  });
}

/** Milliseconds since the epoch. */
interface Past {
  readonly id: string;
  readonly trigger: string;
  readonly startedAt: number;
  /** Its last sign of activity. */
  readonly at: number;
}

/** Rollouts of the cluster, from the ledger and from the cluster itself. */
function pastRollouts({ observed, history }: CheckQuestion): readonly Past[] {
  const marks = [observed.controlPlane?.mark, observed.etcd?.mark].flatMap((mark) =>
    mark === undefined || mark === 'unreadable' ? [] : [pastOf(mark)],
  );
  return [
    ...history.rollouts
      .filter(({ cluster }) => cluster === observed.cluster.id)
      .map(({ id, trigger, startedAt, endedAt = startedAt }) => ({
        id,
        trigger,
        startedAt,
        at: Math.max(startedAt, endedAt),
      })),
    ...marks,
  ];
}

function pastOf({ id, trigger, start, abortedAt }: RolloutMark): Past {
  const startedAt = Date.parse(start);
  return { id, trigger, startedAt, at: abortedAt === undefined ? startedAt : Date.parse(abortedAt) };
}

function latestOf(past: readonly Past[], key: 'startedAt' | 'at'): Past | undefined {
  return past.toSorted((a, b) => b[key] - a[key])[0];
}

export function coolDown(question: CheckQuestion): Verdict {
  const latest = latestOf(pastRollouts(question), 'at');
  if (latest === undefined) return passes('no earlier rollout of it is known');
  const over = latest.at + COOL_DOWN_DAYS * DAY_MS;
  if (over <= question.now) return passes(`its last rollout was ${span(question.now - latest.at)} ago`);
  return fails({
    found: `its rollout ${latest.id} was at ${date(latest.at)}, less than ${COOL_DOWN_DAYS} days ago`,
    remedy: `Wait until ${date(over)}`,
    passing: true,
  });
}

/**
 * Guards against endless rollouts by an issuer of short-lived certificates, and against a cluster that claims turns
 * without beginning.
 */
export function loopGuard(question: CheckQuestion): Verdict {
  const { observed, history, now } = question;
  const undone = (history.undone ?? []).filter(
    ({ cluster, claimedAt }) => cluster === observed.cluster.id && now - claimedAt < LOOP_GUARD_DAYS * DAY_MS,
  );
  if (undone.length >= MAX_UNDONE) {
    return fails({
      found: `it had its turn in the fleet ${undone.length} times in ${LOOP_GUARD_DAYS} days, but never began`,
      remedy:
        'Find out in the journal what became of the writes; then a person begins it: certmarshal rollout start --yes',
    });
  }
  const latest = latestOf(
    pastRollouts(question).filter(({ trigger }) => trigger === 'schedule'),
    'startedAt',
  );
  if (latest === undefined) return passes('the schedule has not rolled it yet');
  const over = latest.startedAt + LOOP_GUARD_DAYS * DAY_MS;
  if (over <= question.now) return passes(`the schedule last rolled it ${span(question.now - latest.startedAt)} ago`);
  return fails({
    found: `the schedule began ${latest.id} at ${date(latest.startedAt)}, less than ${LOOP_GUARD_DAYS} days ago`,
    remedy: `Find out why certificates expire again so soon; the schedule continues at ${date(over)}; to begin earlier: certmarshal rollout start --yes`,
    passing: true,
  });
}

export function fleetBudget({ observed, history, now }: CheckQuestion): Verdict {
  const { rollouts, limits, unread } = history;
  if (unread !== undefined) {
    return fails({
      found: `what else rolls in the fleet cannot be read: ${unread}`,
      remedy: 'Restore the access to rollouts.json in the state bucket',
    });
  }
  const others = rollouts.filter((past) => past.cluster !== observed.cluster.id && hasTurn(past, now));
  if (others.length >= limits.atOnce) {
    return fails({
      found: `${counted(others.length, 'cluster')} of the fleet ${others.length === 1 ? 'rolls' : 'roll'}: ${firstOf(others.map(({ cluster }) => cluster))}; the limit is ${limits.atOnce}`,
      remedy: `Wait until one is done, or ${span(TURN_MS)} after it began; or raise rollouts.atOnce of fleet.yaml`,
      passing: true,
    });
  }
  const newest = rollouts.reduce((latest, { startedAt }) => Math.max(latest, startedAt), Number.NEGATIVE_INFINITY);
  const over = newest + limits.pauseMs;
  if (over > now) {
    return fails({
      found: `the last rollout of the fleet began ${span(now - newest)} ago, and the pause between two is ${span(limits.pauseMs)}`,
      remedy: `Wait until ${date(over)}`,
      passing: true,
    });
  }
  return passes(`${others.length} of ${limits.atOnce} roll, and the last start is long enough ago`);
}
