import { z } from 'zod';
import { ALARM_SEVERITIES, ALARMS } from '../health/alarms.ts';
import { CLUSTER_STATES } from '../health/fleet-health.ts';

// Not in any function: what is published about the events, and what tests hold them to.

const time = z.iso.datetime({ precision: 3 }).describe('RFC 3339, in UTC.');
const clusterId = z.string().min(1).max(310);
const ids = z.array(clusterId).max(100);
const version = z.literal(1).describe('Changes when a field changes its meaning; fields may be added without.');

const alarmEvent = z
  .strictObject({
    version,
    alarm: z.enum(Object.keys(ALARMS)).describe('What rings: docs/runbooks/alarms has a page for each.'),
    severity: z.enum(ALARM_SEVERITIES),
    state: z.enum(['opened', 'closed']),
    cluster: clusterId.describe('Absent where the alarm is about certmarshal, or names no cluster.').optional(),
    part: z
      .string()
      .max(260)
      .describe('What it is about: a function or queue of certmarshal; of a cluster a class of certificate, a node.')
      .optional(),
    story: z.string().max(700).describe('The whole story in one sentence.'),
    since: time.describe('Since when it is so; of a closed one, when people were told.').optional(),
    due: time.describe('When it bites.').optional(),
    at: time.describe('When people were told.'),
    command: z.string().max(900).describe('What to run first.'),
    runbook: z.string().describe('Path in the repository of certmarshal.'),
  })
  .describe('`detail` of `certmarshal alarm opened` and `certmarshal alarm closed`.');

const digestEvent = z
  .strictObject({
    version,
    at: time,
    story: z.string().max(700).describe('The whole story in one sentence.'),
    counts: z.record(z.enum(CLUSTER_STATES), z.int().min(0)).describe('Clusters by state.').optional(),
    critical: ids.describe('Ids of clusters, the first 100.').optional(),
    warning: ids.describe('Ids of clusters, the first 100.').optional(),
    opened: ids.describe('Unwell since the last digest.').optional(),
    mended: ids.describe('No longer unwell since the last digest.').optional(),
    objective: z
      .strictObject({
        promised: z.number().min(0).max(1),
        attainment: z.number().min(0).max(1).optional(),
        budgetLeft: z.number().max(1),
      })
      .describe('Requests of nodes that were accepted in the last 30 days.')
      .optional(),
  })
  .describe('`detail` of `certmarshal digest`. Without counts nothing is known of the fleet.');

/** `detail` of every event of EventBridge with source `certmarshal`. */
export const EventDetail = z.union([alarmEvent, digestEvent]).describe('What certmarshal tells EventBridge.');

/** What subscribers of SNS get over HTTPS, SQS, Lambda and Firehose. */
export const Document = z
  .strictObject({
    version,
    severity: z.enum(ALARM_SEVERITIES),
    state: z.enum(['opened', 'closed', 'digest']),
    subject: z.string().max(99),
    text: z.string().describe('What people get; the first line is the whole story.'),
    events: z.array(alarmEvent).max(50).describe('The first of eventCount.'),
    eventCount: z.int().min(0),
    digest: digestEvent.optional(),
  })
  .describe('Message of SNS over HTTPS, SQS, Lambda and Firehose.');

/** `schema/event.schema.json`. */
export function eventJsonSchema() {
  return z.toJSONSchema(z.union([EventDetail, Document]), { target: 'draft-7' });
}
