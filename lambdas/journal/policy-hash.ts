import { createHash } from 'node:crypto';
import type { ApprovalPolicy } from '../approval/policy.ts';
import { canonicalJson } from '../canonical-json.ts';

/** SHA-256 of the policies as canonical JSON, in hexadecimal digits. */
export function policyHash(policies: readonly ApprovalPolicy[]): string {
  return createHash('sha256').update(canonicalJson(policies), 'utf8').digest('hex');
}
