import { summaryOf } from '../../../lambdas/audit/summary.ts';
import type { TopicMessage } from '../../../lambdas/aws/topics.ts';
import { DEFAULT_MONITORING } from '../../../lambdas/config/fleet.ts';
import type { AlarmEvent } from '../../../lambdas/contracts/event.ts';
import type { IndexedCluster } from '../../../lambdas/contracts/fleet-index.ts';
import type { NotificationState } from '../../../lambdas/contracts/notification-state.ts';
import type { Observation } from '../../../lambdas/contracts/observation.ts';
import type { Target } from '../../../lambdas/contracts/target.ts';
import { type FleetHealth, fleetHealth } from '../../../lambdas/health/fleet-health.ts';
import { markNotified, NOTHING_NOTIFIED } from '../../../lambdas/notify/notification-state.ts';
import { type Plan, planLook } from '../../../lambdas/notify/plan.ts';
import { chatPublication, pagerPublication } from '../../../lambdas/notify/publication.ts';
import type { AlarmId } from '../../../lambdas/tables/alarms.ts';
import { assess, certificate, days } from '../audit/fixtures.ts';
import {
  at,
  BERLIN,
  DAY,
  DUBLIN,
  index,
  indexed,
  MINUTE,
  NOW,
  registered,
  registry,
  verdictLine,
} from '../fleet/values.ts';
import { message, planned } from './values.ts';

export const RUNBOOKS = 'https://github.com/example/certmarshal/blob/main/docs/runbooks';
export const CONTEXT = {
  link: undefined,
  runbooks: RUNBOOKS,
  place: { partition: 'aws', region: 'eu-central-1', account: '111122223333' },
};

/** One incident from its beginning to its end. */
export interface Incidents {
  readonly title: string;
  readonly events: readonly AlarmEvent[];
}

const BERLIN_PROD: Target = { ...BERLIN, id: 'berlin-prod', cluster: { ...BERLIN.cluster, name: 'berlin-prod' } };

/** A fleet of one cluster, as it is told from what a sweep and an audit found in it. */
function fleetOf(
  target: Target,
  found: Partial<IndexedCluster> = {},
  observations: readonly Observation[] = [],
): FleetHealth {
  const { id, cluster } = target;
  const { observations: kept, findings } = assess(observations, undefined, NOW, { id, provider: cluster.provider });
  const audit = summaryOf(
    { version: 1, cluster: id, provider: cluster.provider, auditedAt: at(), observations: kept, findings },
    { durationMs: 900 },
  );
  return fleetHealth(
    registry(registered(id, { target, foundAt: at(-DAY) })),
    index(indexed(id, { name: cluster.name, audit, ...found })),
    { ...DEFAULT_MONITORING, auditEveryMinutes: 15 },
    NOW,
  );
}

const kubelet = (left: number) =>
  certificate({
    what: 'kubelet-serving',
    where: '10.0.1.47:10250',
    member: 'worker-3',
    notBefore: days(left - 365),
    notAfter: days(left),
  });

/** An alarm of a cluster rings; a while later, in minutes, the fleet is as `after`, and stays so. */
function told(alarm: AlarmId, before: FleetHealth, after: FleetHealth, later = 60): readonly AlarmEvent[] {
  const opening = planned({
    named: { alarm },
    message: message(alarm, 'ALARM', { first: `aws logs tail /aws/vendedlogs/states/CertMarshal-tick --since 15m` }),
    health: before,
  });
  const state = markNotified(NOTHING_NOTIFIED, opening.change);
  const away = lookedAt(state, after, later);
  const over = lookedAt(away.state, after, later + 20);
  return [opening, away.plan, over.plan].flatMap(({ messages }) => messages.flatMap(({ events }) => events));
}

function lookedAt(
  state: NotificationState,
  health: FleetHealth,
  minutes: number,
): { plan: Plan; state: NotificationState } {
  const plan = planLook({ told: state, health, settings: {}, now: NOW + minutes * MINUTE });
  return { plan, state: markNotified(state, plan.change) };
}

/** What is shown in docs/notifications.md. */
export function fiveStories(): readonly Incidents[] {
  const hub = { alarm: 'Executions', part: 'failed' } as const;
  const errors = {
    name: 'certmarshal-executions-failed',
    first: 'aws logs tail /aws/vendedlogs/states/CertMarshal-tick --since 15m',
  };
  const begins = planned({ named: hub, message: { ...errors, state: 'ALARM' } });
  const ends = planned({
    named: hub,
    message: { ...errors, state: 'OK' },
    told: markNotified(NOTHING_NOTIFIED, begins.change),
    now: NOW + 12 * MINUTE,
  });
  return [
    {
      title: 'A certificate expires soon',
      events: told(
        'CertificateCritical',
        fleetOf(BERLIN_PROD, {}, [
          certificate({ what: 'etcd-server', where: '10.0.1.31:2379', notBefore: days(-347), notAfter: days(18) }),
        ]),
        fleetOf(BERLIN_PROD),
      ),
    },
    {
      title: 'A cluster cannot be read',
      events: told(
        'ClusterUnreadable',
        fleetOf(DUBLIN, {
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
        fleetOf(DUBLIN),
      ),
    },
    {
      title: 'A node asks for the address of another',
      events: told(
        'ImpersonationAttempt',
        fleetOf(BERLIN_PROD, { verdicts: [{ ...verdictLine(), hostile: true }] }),
        fleetOf(BERLIN_PROD),
      ),
    },
    {
      title: 'A warning becomes critical',
      events: told(
        'KubeletOverdue',
        fleetOf(BERLIN_PROD, {}, [kubelet(36)]),
        fleetOf(BERLIN_PROD, {}, [kubelet(9)]),
        (27 * DAY) / MINUTE,
      ),
    },
    {
      title: 'Certmarshal itself fails',
      events: [begins, ends].flatMap(({ messages }) => messages.flatMap(({ events }) => events)),
    },
  ];
}

/** The story as Slack and Teams, PagerDuty and Jira Service Management show it: the same lines, the first of which is the title. */
export function shown({ title, events }: Incidents): string {
  const blocks = events.map((event) => {
    const { metadata } = documentOf(chatPublication(event, CONTEXT));
    const { AlarmName, NewStateValue, AlarmDescription } = documentOf(pagerPublication(event, CONTEXT));
    return [
      `Slack, Teams: thread ${metadata.threadId}`,
      `PagerDuty, Jira Service Management: ${NewStateValue}, key ${AlarmName}`,
      ...AlarmDescription.split('\n').map((line: string) => `  ${line}`),
    ].join('\n');
  });
  return `### ${title}\n\n\`\`\`text\n${blocks.join('\n\n')}\n\`\`\``;
}

/** What a service gets over HTTPS. */
export function documentOf({ message: texts }: TopicMessage) {
  return JSON.parse(JSON.parse(texts).https);
}
