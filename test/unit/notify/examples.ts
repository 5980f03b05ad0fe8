import { summaryOf } from '../../../lambdas/audit/summary.ts';
import { DEFAULT_MONITORING } from '../../../lambdas/config/fleet.ts';
import type { FleetIndex, IndexedCluster } from '../../../lambdas/contracts/fleet-index.ts';
import type { Observation } from '../../../lambdas/contracts/observation.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';
import { fleetHealth, storedHealth } from '../../../lambdas/health/fleet-health.ts';
import { linesOf, type Message } from '../../../lambdas/notify/message.ts';
import { assess, certificate, days } from '../audit/fixtures.ts';
import { at, BERLIN, DAY, DUBLIN, index, indexed, MINUTE, NOW, registered, registry } from '../fleet/values.ts';
import { alarmEvent, cluster, contributorEvent, firing, indexOf, messageOf } from './values.ts';

export const LINKS = {
  report: 'https://certmarshal-state.s3.eu-central-1.amazonaws.com/report.html?X-Amz-Signature=…',
  runbooks: 'https://github.com/example/certmarshal/blob/main/docs/runbooks',
};
const BERLIN_PROD: Target = { ...BERLIN, id: 'berlin-prod', cluster: { ...BERLIN.cluster, name: 'berlin-prod' } };

/** The index of a fleet of one cluster, from what a sweep and an audit show. */
function indexWith(
  target: Target,
  changed: Partial<IndexedCluster> = {},
  observations: readonly Observation[] = [],
): FleetIndex {
  const { id, cluster: about } = target;
  const { observations: kept, findings } = assess(observations, undefined, NOW, { id, provider: about.provider });
  const audit = summaryOf(
    { version: 1, cluster: id, provider: about.provider, auditedAt: at(), observations: kept, findings },
    { durationMs: 900 },
  );
  const only = index(indexed(id, { name: about.name, audit, ...changed }));
  const monitoring = { ...DEFAULT_MONITORING, auditEveryMinutes: 15 };
  const fleet = registry(registered(id, { target, foundAt: at(-DAY) }));
  return { ...only, health: storedHealth(fleetHealth(fleet, only, monitoring, NOW)) };
}

const ETCD = certificate({
  what: 'etcd-server',
  where: '10.0.1.31:2379',
  notBefore: days(-347),
  notAfter: days(18),
});
const OF_ETCD = { Cluster: 'berlin-prod', Class: 'etcd-server' };
const MANY = Array.from({ length: 500 }, (_, n) =>
  cluster(`shop-${String(n).padStart(3, '0')}`, [firing('ClusterUnreadable')]),
);

/** What is shown in docs/notifications.md. */
export const EXAMPLES: Readonly<Record<string, Message | undefined>> = {
  'A certificate expires soon': messageOf(
    contributorEvent('CertificateCritical', 'ALARM', OF_ETCD),
    indexWith(BERLIN_PROD, {}, [ETCD]),
  ),
  'It was renewed': messageOf(
    contributorEvent('CertificateCritical', 'OK', OF_ETCD, at(80 * MINUTE)),
    indexWith(BERLIN_PROD),
    { now: NOW + 80 * MINUTE },
  ),
  'A cluster cannot be read': messageOf(
    contributorEvent('ClusterUnreadable', 'ALARM', { Cluster: DUBLIN.id }),
    indexWith(DUBLIN, {
      readable: false,
      complete: false,
      readableAt: at(-11 * MINUTE),
      findings: [
        {
          kind: 'unreachable',
          object: 'list certificatesigningrequests on https://ABCD.gr7.eu-central-1.eks.amazonaws.com',
          message: 'the connection broke (ECONNRESET)',
          remedy: 'Check the route.',
          since: at(-11 * MINUTE),
        },
      ],
      findingCount: 1,
    }),
  ),
  '500 clusters cannot be read': messageOf(
    contributorEvent('ClusterUnreadable', 'ALARM', { Cluster: '*' }),
    indexOf(...MANY),
  ),
  'Certmarshal itself fails': messageOf(alarmEvent('Executions', 'ALARM', { part: 'failed' }), indexOf()),
};

export function textOf(message: Message | undefined): string {
  return message === undefined ? '' : [message.title, ...linesOf(message, LINKS)].join('\n');
}
