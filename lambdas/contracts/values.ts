import * as z from 'zod/mini';
import { CLUSTER_ID, CLUSTER_NAME, MAX_ADDRESSES, MAX_CIDRS, NAMESPACE, PROVIDERS, SERVER } from '../identifiers.ts';
import { addressRanges } from '../names.ts';
import { LAST_INSTANT } from '../time.ts';
import { list, matching, record } from './contract.ts';

export const Provider = z.enum(PROVIDERS);
export const ClusterId = matching(CLUSTER_ID, 'the id of a cluster');
export const ClusterName = matching(CLUSTER_NAME, 'a cluster name');
export const Namespace = matching(NAMESPACE, 'the name of a namespace');
export const Server = matching(SERVER, 'the host, port and path of a server');

export const Count = z.int('is not a whole number').check(z.gte(0, 'is not a whole number'));

/** Milliseconds since the epoch. */
export const Instant = z
  .int('is not a time in milliseconds since the epoch')
  .check(
    z.gte(0, 'is not a time in milliseconds since the epoch'),
    z.lte(LAST_INSTANT, 'is not a time in milliseconds since the epoch'),
  );

/** RFC 3339 as `Date.toISOString` writes it, so that texts compare like times. */
export const Time = timeOf(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, '2026-11-21T10:02:17.250Z');

/** RFC 3339 in UTC, with or without a fraction: certificates have whole seconds. */
export const CertificateTime = timeOf(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/, '2026-11-21T10:02:17Z');

function timeOf(pattern: RegExp, example: string) {
  const problem = `is not a time as in ${example}`;
  return z.string(problem).check(z.refine((at) => pattern.test(at) && !Number.isNaN(Date.parse(at)), problem));
}

export const Flag = z.optional(z.literal(true));

export const HttpsUrl = z.string('is not an https URL').check(
  z.refine((value) => {
    const url = value.length <= 512 && URL.canParse(value) ? new URL(value) : undefined;
    return url?.protocol === 'https:' && url.username === '' && url.password === '';
  }, 'is not an https URL'),
);

export const Cidrs = z
  .array(z.string(), 'is not a list of CIDRs')
  .check(z.refine((cidrs) => cidrs.length <= MAX_CIDRS && areCidrs(cidrs), 'is not a list of CIDRs'));

/** Of the API endpoint of one cluster. */
const Address = matching(/^[\da-f:.]{2,45}$/i, 'an address');
export const Addresses = list(Address, MAX_ADDRESSES);
/** With the last time of each. */
export const DatedAddresses = record(Address, Time, MAX_ADDRESSES);

function areCidrs(cidrs: readonly string[]): boolean {
  try {
    addressRanges(cidrs);
    return true;
  } catch {
    return false;
  }
}

/** No function runs longer. Milliseconds. */
const MAX_SWEEP_MS = 15 * 60_000;

/** Whether a time can belong to the sweep that began then. Both RFC 3339. */
export function isDuring(startedAt: string, at: string): boolean {
  return at >= startedAt && isUntilEnd(startedAt, at);
}

/** Whether the sweep that began then can know this time. Both RFC 3339. */
export function isUntilEnd(startedAt: string, at: string): boolean {
  return Date.parse(at) - Date.parse(startedAt) <= MAX_SWEEP_MS;
}
