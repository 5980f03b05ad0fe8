import { gunzipSync } from 'node:zlib';
import { field, text } from '../resources/fields.ts';

/** Something that may be a new node. Nothing of it is believed but where it may be, and that only as far as the registry knows the place. */
export type HintEvent =
  | { readonly kind: 'audit-log'; readonly owner: string; readonly logGroup: string }
  | { readonly kind: 'launch'; readonly account: string; readonly region: string }
  | { readonly kind: 'due'; readonly bodies: readonly string[] };

/** Many times what CloudWatch Logs sends; more is not unpacked. Bytes. */
const MAX_LOGS = 16 * 1024 * 1024;

/** Undefined when it is nothing that hint is invoked with, or a message that only keeps a subscription alive. Never throws. */
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
    // Not gzip, too large or not JSON: no hint. The next tick sweeps the cluster anyway.
    return undefined;
  }
}
