import * as z from 'zod/mini';
import { PROVIDERS } from '../identifiers.ts';
import { ALARM_IDS, ALARM_SEVERITIES } from '../tables/alarms.ts';
import { CLUSTER_STATES } from '../tables/cluster-states.ts';
import type { Contract } from './contract.ts';

// schema/event.schema.json is generated from these, with their descriptions.

const version = z
  .literal(1)
  .check(z.describe('Changes when the meaning of a field changes; fields may be added without a change.'));
const clusterId = z.string().check(z.minLength(1), z.maxLength(310));
const story = z.string().check(z.maxLength(700), z.describe('The whole story in one sentence.'));
const time = (words = 'RFC 3339, in UTC.') => z.iso.datetime({ precision: 3 }).check(z.describe(words));
const ids = (words: string) => z.optional(z.array(clusterId).check(z.maxLength(100), z.describe(words)));
const count = z.int().check(z.gte(0));

/** Told to people, and to EventBridge as `detail`. */
export const AlarmEvent = z
  .object({
    version,
    alarm: z.enum(ALARM_IDS).check(z.describe('The alarm that fires: docs/runbooks/alarms has a page for each.')),
    severity: z.enum(ALARM_SEVERITIES),
    state: z.enum(['opened', 'closed']),
    cluster: z.optional(
      clusterId.check(z.describe('Absent where the alarm is about certmarshal, or names no cluster.')),
    ),
    name: z.optional(z.string().check(z.maxLength(310), z.describe('What the cluster is called.'))),
    provider: z.optional(z.enum(PROVIDERS).check(z.describe('What kind of cluster it is.'))),
    part: z.optional(
      z
        .string()
        .check(
          z.maxLength(260),
          z.describe(
            'What it is about: a function or topic of certmarshal, or a class of certificates or a node of a cluster.',
          ),
        ),
    ),
    story,
    since: z.optional(time('When it began; for a closed one, when people were told.')),
    due: z.optional(time('When it expires or is due.')),
    at: time('When people were told.'),
    command: z.string().check(z.maxLength(900), z.describe('What to run first.')),
    next: z.optional(
      z
        .string()
        .check(z.maxLength(900), z.describe('Command that shows more about this certificate, node or request.')),
    ),
    reason: z.optional(
      z.string().check(z.maxLength(300), z.describe('For a closed one: why, unless the cluster is healthy.')),
    ),
    escalatedTo: z.optional(
      z.enum(ALARM_IDS).check(z.describe('For a closed one that became worse: the alarm that has it now.')),
    ),
    runbook: z.string().check(z.describe('Path in the repository of certmarshal.')),
  })
  .check(z.describe('`detail` of `certmarshal alarm opened` and `certmarshal alarm closed`.'));
export type AlarmEvent = Contract<typeof AlarmEvent>;

/** The state of the fleet, once a day; `detail` of `certmarshal digest`. */
export const DigestEvent = z
  .object({
    version,
    at: time(),
    /** The first line of the message to people. */
    story,
    counts: z.optional(z.record(z.enum(CLUSTER_STATES), count).check(z.describe('Clusters by state.'))),
    critical: ids('Ids of clusters, the first 100.'),
    warning: ids('Ids of clusters, the first 100.'),
  })
  .check(z.describe('`detail` of `certmarshal digest`. Without counts, the state of the fleet is not known.'));
export type DigestEvent = Contract<typeof DigestEvent>;

/** `detail` of every event of EventBridge with source `certmarshal`. */
export const EventDetail = z
  .union([AlarmEvent, DigestEvent])
  .check(z.describe('Events that certmarshal sends to EventBridge.'));

/** The message for SNS subscriptions over HTTPS, SQS, Lambda and Firehose. */
export const NotificationDocument = z
  .object({
    version,
    severity: z.enum(ALARM_SEVERITIES),
    state: z.enum(['opened', 'closed', 'digest']),
    subject: z.string().check(z.maxLength(99)),
    text: z.string().check(z.describe('The text that people get; its first line is the whole story.')),
    events: z.array(AlarmEvent).check(z.maxLength(50), z.describe('The first of eventCount events.')),
    eventCount: count,
    digest: z.optional(DigestEvent),
  })
  .check(z.describe('Message of SNS over HTTPS, SQS, Lambda and Firehose.'));
export type NotificationDocument = Contract<typeof NotificationDocument>;

/** `schema/event.schema.json`. */
export function eventJsonSchema() {
  return z.toJSONSchema(z.union([EventDetail, NotificationDocument]), { target: 'draft-7' });
}
