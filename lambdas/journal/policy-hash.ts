import { createHash } from 'node:crypto';
import type { ApprovalPolicy } from '../approval/policy.ts';

/** SHA-256 of the policies as JSON without spaces and with sorted names (in the manner of RFC 8785), in hexadecimal digits. */
export function policyHash(policies: readonly ApprovalPolicy[]): string {
  return createHash('sha256').update(JSON.stringify(policies, sorted), 'utf8').digest('hex');
}

function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
