import { gunzipSync } from 'node:zlib';
import { field, text } from '../resources/fields.ts';

/** A possible new node. Only its place is used, and only if the registry knows that place. */
export type HintEvent =
  | { readonly kind: 'audit-log'; readonly owner: string; readonly logGroup: string }
  | { readonly kind: 'launch'; readonly account: string; readonly region: string }
  | { readonly kind: 'due'; readonly bodies: readonly string[] };

/** Larger payloads are not unpacked; CloudWatch Logs sends far less. Bytes. */
const MAX_LOGS = 16 * 1024 * 1024;

/** Undefined for an unknown event, and for control messages that keep a subscription alive. Never throws. */
export function readHintEvent(event: unknown): HintEvent | undefined {
  const logs = field(event, 'awslogs', 'data');
  if (typeof logs === 'string') return auditLog(logs);
  const records = field(event, 'Records');
  if (Array.isArray(records)) return { kind: 'due', bodies: records.map((record) => text(record, 'body') ?? '') };
  const [account, region] = [text(event, 'account'), text(event, 'region')];
  return text(event, 'source') === 'aws.autoscaling' && account !== undefined && region !== undefined
    ? { kind: 'launch', account, region }
    : undefined;
}

/** Source: Amazon CloudWatch Logs User Guide, "Subscription filters with AWS Lambda". */
function auditLog(data: string): HintEvent | undefined {
  try {
    const logs: unknown = JSON.parse(
      gunzipSync(Buffer.from(data, 'base64'), { maxOutputLength: MAX_LOGS }).toString('utf8'),
    );
    const [owner, logGroup] = [text(logs, 'owner'), text(logs, 'logGroup')];
    if (text(logs, 'messageType') !== 'DATA_MESSAGE' || owner === undefined || logGroup === undefined) return undefined;
    return { kind: 'audit-log', owner, logGroup };
  } catch {
    // Not gzip, too large or not JSON: the hint is dropped. The next tick sweeps the cluster anyway.
    return undefined;
  }
}
