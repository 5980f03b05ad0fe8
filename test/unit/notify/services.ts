import type { TopicMessage } from '../../../lambdas/aws/topics.ts';
import type { AlarmEvent } from '../../../lambdas/contracts/event.ts';
import type { NotificationState } from '../../../lambdas/contracts/notification-state.ts';
import type { FleetHealth } from '../../../lambdas/health/fleet-health.ts';
import { markNotified, NOTHING_NOTIFIED } from '../../../lambdas/notify/notification-state.ts';
import { type Plan, planLook } from '../../../lambdas/notify/plan.ts';
import { chatPublication, pagerPublication } from '../../../lambdas/notify/publication.ts';
import type { AlarmId } from '../../../lambdas/tables/alarms.ts';
import { MINUTE, NOW } from '../fleet/values.ts';
import { cluster, fleet, largeFleet, message, planned, ringing } from './values.ts';

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

const KUBECONFIG = 'certmarshal explain csr-q77zt --kubeconfig KUBECONFIG --cluster berlin-prod';
const DUBLIN = '111122223333/eu-west-1/dublin';

const unwell = (alarm: AlarmId, id: string, changed: Partial<ReturnType<typeof ringing>>) =>
  cluster(id, [ringing(alarm, changed)]);

/** An alarm of a cluster rings; a while later the fleet is as `after`, and stays so. */
function told(alarm: AlarmId, before: FleetHealth, after: FleetHealth): readonly AlarmEvent[] {
  const opening = planned({
    named: { alarm },
    message: message(alarm, 'ALARM', { first: `aws logs tail /aws/lambda/certmarshal-sweep --since 15m` }),
    health: before,
  });
  const state = markNotified(NOTHING_NOTIFIED, opening.change);
  const away = lookedAt(state, after, 60);
  const over = lookedAt(away.state, after, 80);
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
  const well = (...ids: readonly string[]) => fleet(...ids.map((id) => cluster(id)));
  const kubelet = unwell('KubeletOverdue', 'berlin-prod', {
    story:
      'the kubelet serving certificate of worker-7 ends in 8 days; the kubelet should have renewed it before 90 % of its lifetime',
    due: '2026-11-29T10:00:00.000Z',
    command: 'kubectl get certificatesigningrequests --sort-by=.metadata.creationTimestamp',
  });
  const critical = unwell('CertificateCritical', 'berlin-prod', {
    story: 'the kubelet serving certificate of worker-7 ends in 2 days',
  });
  const hub = { alarm: 'FunctionErrors', part: 'sweep-default' } as const;
  const errors = {
    name: 'certmarshal-function-errors-sweep-default',
    first: 'aws logs tail /aws/lambda/certmarshal-sweep --since 15m',
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
        largeFleet(unwell('CertificateCritical', 'berlin-prod', {})),
        well('berlin-prod'),
      ),
    },
    {
      title: 'A cluster cannot be read',
      events: told(
        'ClusterUnreadable',
        fleet(
          unwell('ClusterUnreadable', DUBLIN, {
            value: 660,
            story: 'its requests cannot be listed: list certificatesigningrequests: the connection broke (ECONNRESET)',
            due: undefined,
            command: `certmarshal doctor --fleet fleet.yaml --cluster ${DUBLIN}`,
          }),
        ),
        well(DUBLIN),
      ),
    },
    {
      title: 'A node asks for the address of another',
      events: told(
        'ImpersonationAttempt',
        fleet(
          unwell('ImpersonationAttempt', 'berlin-prod', {
            parts: ['worker-3'],
            story: 'worker-3 asked for 10.0.1.24, which belongs to worker-8 (Machine eksa-system/md-0-k2m1); refused',
            due: undefined,
            command: KUBECONFIG,
          }),
        ),
        well('berlin-prod'),
      ),
    },
    { title: 'A warning becomes critical', events: told('KubeletOverdue', fleet(kubelet), fleet(critical)) },
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
