import { field, text } from '../resources/fields.ts';
import { instant } from '../time.ts';
import type { SigningCondition, SigningRequest } from './request.ts';

/** An object that is no CertificateSigningRequest as every API server writes it. */
export interface UnreadableRequest {
  /** `metadata.name` if it has one. */
  readonly name: string | undefined;
  /** Which field is missing or wrong. */
  readonly problem: string;
}

// Base64 of the 64 KiB that the decoder takes; etcd accepts far more.
const MAX_REQUEST_TEXT = 88 * 1024;
const MAX_ENTRIES = 256;
// Names, users and groups; Kubernetes' own bounds are lower where it has any.
const MAX_TEXT = 1024;

/**
 * Reads a `certificates.k8s.io/v1` CertificateSigningRequest from JSON. Fields that an API server always sets must be there
 * with their type; all others may be absent. An absent `status` means undecided, as for a request just created.
 */
export function readSigningRequest(
  object: unknown,
): { readonly ok: true; readonly csr: SigningRequest } | ({ readonly ok: false } & UnreadableRequest) {
  const name = shortText(object, 'metadata', 'name');
  const unreadable = (problem: string) => ({ ok: false as const, name, problem });

  if (name === undefined || name === '') return unreadable('metadata.name is missing or too long');
  const username = shortText(object, 'spec', 'username');
  if (username === undefined) return unreadable('spec.username is missing or too long');
  const signerName = shortText(object, 'spec', 'signerName');
  if (signerName === undefined) return unreadable('spec.signerName is missing or too long');
  const groups = strings(field(object, 'spec', 'groups'));
  if (groups === undefined) return unreadable('spec.groups is not a list of strings');
  const usages = strings(field(object, 'spec', 'usages'));
  if (usages === undefined) return unreadable('spec.usages is not a list of strings');
  const expirationSeconds = field(object, 'spec', 'expirationSeconds') ?? undefined;
  if (
    expirationSeconds !== undefined &&
    (typeof expirationSeconds !== 'number' || !Number.isInteger(expirationSeconds))
  )
    return unreadable('spec.expirationSeconds is not an integer');
  const conditions = readConditions(object);
  if (conditions === undefined) return unreadable('status.conditions is not a list of conditions');
  const certificate = field(object, 'status', 'certificate') ?? '';

  return {
    ok: true,
    csr: {
      name,
      uid: shortText(object, 'metadata', 'uid') ?? '',
      resourceVersion: shortText(object, 'metadata', 'resourceVersion') ?? '',
      createdAt: instant(text(object, 'metadata', 'creationTimestamp')),
      deleting: field(object, 'metadata', 'deletionTimestamp') != null,
      signerName,
      username,
      groups,
      usages,
      expirationSeconds,
      request: base64(text(object, 'spec', 'request')),
      conditions,
      issued: certificate !== '',
    },
  };
}

/** Text that is kept; longer text counts as missing. */
function shortText(object: unknown, ...path: readonly string[]): string | undefined {
  const found = text(object, ...path);
  return found !== undefined && found.length <= MAX_TEXT ? found : undefined;
}

function readConditions(object: unknown): readonly SigningCondition[] | undefined {
  const found = field(object, 'status', 'conditions') ?? [];
  if (!Array.isArray(found) || found.length > MAX_ENTRIES) return undefined;
  const conditions: SigningCondition[] = [];
  for (const entry of found) {
    const type = shortText(entry, 'type');
    if (type === undefined) return undefined;
    conditions.push({ type, status: shortText(entry, 'status') ?? '', reason: shortText(entry, 'reason') ?? '' });
  }
  return conditions;
}

/** Absent counts as empty; anything but strings is wrong. */
function strings(value: unknown): readonly string[] | undefined {
  const entries = value ?? [];
  if (!Array.isArray(entries) || entries.length > MAX_ENTRIES) return undefined;
  return entries.every((entry) => typeof entry === 'string' && entry.length <= MAX_TEXT) ? entries : undefined;
}

function base64(value: string | undefined): Uint8Array | undefined {
  if (value === undefined || value.length > MAX_REQUEST_TEXT) return undefined;
  const bytes = Buffer.from(value, 'base64');
  // Buffer skips what is not base64; only text that encodes back to itself is what the signer reads too.
  return bytes.toString('base64') === value ? bytes : undefined;
}
