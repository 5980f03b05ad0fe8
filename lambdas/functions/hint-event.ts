import { gunzipSync } from 'node:zlib';
import { isJsonObject } from '../resources/fields.ts';

/** Something that may be a new node. Nothing of it is believed but where it may be, and that only as far as the registry knows the place. */
export type HintEvent =
  | { readonly kind: 'audit-log'; readonly owner: string; readonly logGroup: string }
  | { readonly kind: 'launch'; readonly account: string; readonly region: string }
  | { readonly kind: 'due'; readonly bodies: readonly string[] };

/** Many times what CloudWatch Logs sends; more is not unpacked. Bytes. */
const LARGEST_LOGS = 16 * 1024 * 1024;

/** Undefined when it is nothing that hint is invoked with, or a message that only keeps a subscription alive. Never throws. */
export function readHintEvent(event: unknown): HintEvent | undefined {
  if (!isJsonObject(event)) return undefined;
  const { awslogs, Records: records } = event;
  if (isJsonObject(awslogs)) return auditLog(awslogs['data']);
  if (Array.isArray(records))
    return {
      kind: 'due',
      bodies: records.map((record: unknown) => (isJsonObject(record) ? String(record['body']) : '')),
    };
  const { source, account, region } = event;
  return source === 'aws.autoscaling' && typeof account === 'string' && typeof region === 'string'
    ? { kind: 'launch', account, region }
    : undefined;
}

/** Source: Amazon CloudWatch Logs User Guide, "Subscription filters with AWS Lambda". */
function auditLog(data: unknown): HintEvent | undefined {
  if (typeof data !== 'string') return undefined;
  try {
    const logs: unknown = JSON.parse(
      gunzipSync(Buffer.from(data, 'base64'), { maxOutputLength: LARGEST_LOGS }).toString('utf8'),
    );
    if (!isJsonObject(logs)) return undefined;
    const { messageType, owner, logGroup } = logs;
    if (messageType !== 'DATA_MESSAGE' || typeof owner !== 'string' || typeof logGroup !== 'string') return undefined;
    return { kind: 'audit-log', owner, logGroup };
  } catch {
    // Not gzip, too large or not JSON: no hint. The next tick sweeps the cluster anyway.
    return undefined;
  }
}
