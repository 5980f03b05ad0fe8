import { createHash } from 'node:crypto';
import type { V1CertificateSigningRequest } from '@kubernetes/client-node';
import type { RequestState } from '../contracts/observation.ts';
import { instant } from '../time.ts';
import { field, list, type Raw, raw, reader, text } from './fields.ts';
import { isDeleting } from './values.ts';

/** A CertificateSigningRequest for judging: every field is checked or absent. */
export interface SigningRequest {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Milliseconds since the epoch; undefined if `metadata.creationTimestamp` is missing or unreadable. */
  readonly createdAt: number | undefined;
  readonly deleting: boolean;
  readonly signerName: string;
  /** Set by kube-apiserver from the authenticated requester, never by the client. */
  readonly username: string;
  readonly groups: readonly string[];
  /**
   * The requester's credential: `X509SHA256=…` for a certificate. Empty if kube-apiserver does not say, as before
   * Kubernetes 1.32; undefined if it is not a list of strings.
   */
  readonly credentials: readonly string[] | undefined;
  readonly usages: readonly string[];
  readonly expirationSeconds: number | undefined;
  /** `spec.request`, base64-decoded: PEM. Undefined if missing or not base64. */
  readonly request: Uint8Array | undefined;
  readonly conditions: readonly SigningCondition[];
  /** True if `status.certificate` is not empty. */
  readonly issued: boolean;
}

export interface SigningCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  /** Absent if it is longer than any approver writes. */
  readonly message?: string;
  /** `lastUpdateTime` as read. */
  readonly updated?: string;
}

/** An object that no API server writes as a CertificateSigningRequest. */
export interface UnreadableRequest {
  /** `metadata.name`, if any. */
  readonly name: string | undefined;
  /** Which field is missing or wrong. */
  readonly problem: string;
  readonly remedy?: string;
}

// Base64 of the decoder's limit of 64 KiB; etcd accepts far more.
const MAX_REQUEST_TEXT = 88 * 1024;
const MAX_ENTRIES = 256;
/** Names, users and groups; Kubernetes' own bounds, if any, are lower. */
const MAX_REQUEST_NAME = 1024;
const MAX_CREDENTIALS = 16;
/** Source: Kubernetes, `CredentialIDKey` (apiserver/pkg/authentication/user). */
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';
/** Source: Kubernetes, `NodesGroup` (apiserver/pkg/authentication/user). */
const NODES_GROUP = 'system:nodes';
/** Far more than a real request has: one of each type. */
const MAX_STATES = 16;

/**
 * Reads a `certificates.k8s.io/v1` CertificateSigningRequest from JSON. Fields that an API server always sets must be
 * present with their type; others may be absent. No `status` means pending, as in a new request.
 */
export function readSigningRequest(
  object: unknown,
): { readonly ok: true; readonly csr: SigningRequest } | ({ readonly ok: false } & UnreadableRequest) {
  const request = raw<V1CertificateSigningRequest>(object);
  const name = shortText(request, 'metadata', 'name');
  const unreadable = (problem: string) => ({ ok: false as const, name, problem });

  if (name === undefined || name === '') return unreadable('metadata.name is missing or too long');
  const username = shortText(request, 'spec', 'username');
  if (username === undefined) return unreadable('spec.username is missing or too long');
  const signerName = shortText(request, 'spec', 'signerName');
  if (signerName === undefined) return unreadable('spec.signerName is missing or too long');
  const groups = strings(field(request, 'spec', 'groups'));
  if (groups === undefined) return unreadable('spec.groups is not a list of strings');
  const usages = strings(field(request, 'spec', 'usages'));
  if (usages === undefined) return unreadable('spec.usages is not a list of strings');
  const expirationSeconds = field(request, 'spec', 'expirationSeconds') ?? undefined;
  if (
    expirationSeconds !== undefined &&
    (typeof expirationSeconds !== 'number' || !Number.isInteger(expirationSeconds))
  )
    return unreadable('spec.expirationSeconds is not an integer');
  const conditions = readConditions(request);
  if (conditions === undefined) return unreadable('status.conditions is not a list of conditions');

  return {
    ok: true,
    csr: {
      name,
      uid: shortText(request, 'metadata', 'uid') ?? '',
      resourceVersion: shortText(request, 'metadata', 'resourceVersion') ?? '',
      createdAt: instant(text(request, 'metadata', 'creationTimestamp')),
      deleting: isDeleting(request),
      signerName,
      username,
      groups,
      credentials: strings(field(request, 'spec', 'extra', CREDENTIAL_ID), MAX_CREDENTIALS),
      usages,
      expirationSeconds,
      request: base64(text(request, 'spec', 'request')),
      conditions,
      issued: (field(request, 'status', 'certificate') ?? '') !== '',
    },
  };
}

/** Longest text; longer text counts as missing. */
const shortText = reader((found) =>
  typeof found === 'string' && found.length <= MAX_REQUEST_NAME ? found : undefined,
);

/** Copied, because a slice keeps the whole text in memory. */
const cutText = reader((found) => {
  if (typeof found !== 'string') return undefined;
  return found.length > MAX_REQUEST_NAME ? Buffer.from(found.slice(0, MAX_REQUEST_NAME)).toString() : found;
});

function readConditions(request: Raw<V1CertificateSigningRequest>): readonly SigningCondition[] | undefined {
  const entries = list(request, 'status', 'conditions');
  if (!Array.isArray(field(request, 'status', 'conditions') ?? []) || entries.length > MAX_ENTRIES) return undefined;
  const conditions: SigningCondition[] = [];
  for (const entry of entries) {
    const type = shortText(entry, 'type');
    if (type === undefined) return undefined;
    conditions.push({
      type,
      status: shortText(entry, 'status') ?? '',
      reason: shortText(entry, 'reason') ?? '',
      message: shortText(entry, 'message'),
      updated: shortText(entry, 'lastUpdateTime'),
    });
  }
  return conditions;
}

/** Absent counts as empty; anything but strings is invalid. */
function strings(value: unknown, most = MAX_ENTRIES): readonly string[] | undefined {
  const entries = value ?? [];
  if (!Array.isArray(entries) || entries.length > most) return undefined;
  return entries.every((entry) => typeof entry === 'string' && entry.length <= MAX_REQUEST_NAME) ? entries : undefined;
}

function base64(value: string | undefined): Uint8Array | undefined {
  if (value === undefined || value.length > MAX_REQUEST_TEXT) return undefined;
  const bytes = Buffer.from(value, 'base64');
  // Buffer skips invalid base64; only text that encodes back to itself is what the signer reads too.
  return bytes.toString('base64') === value ? bytes : undefined;
}

/** SHA-256 of the bytes of `spec.request`, in hexadecimal digits; undefined if missing. */
export function requestHash({ request }: SigningRequest): string | undefined {
  return request === undefined ? undefined : createHash('sha256').update(request).digest('hex');
}

/** The fields of a request for counting: there may be half a million, of any signer. */
export interface CountedRequest {
  readonly name: string;
  readonly signer: string;
  readonly requester: string;
  /** The requester is in the group of nodes. */
  readonly ofNodes: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly state: RequestState;
  /** The text of a Failed or Denied condition. */
  readonly message: string | undefined;
  /**
   * Reason of its Approved condition, chosen by the approver: `AutoApproved`, `KubectlApprove`, …. Only if approved or
   * issued.
   */
  readonly approvedBy?: string | undefined;
  /** Base64 of PEM; empty if not issued. */
  readonly certificate: string;
}

/**
 * Undefined for an object that no API server writes. Never throws. A name, signer or requester is cut to
 * `MAX_REQUEST_NAME` characters: a longer one is of no node and no known signer, and must not hide what was issued.
 *
 * Source: certificates.k8s.io/v1, RequestConditionType. Failed is set by the signer, after an approval.
 */
export function readCountedRequest(object: unknown): CountedRequest | undefined {
  const request = raw<V1CertificateSigningRequest>(object);
  const name = cutText(request, 'metadata', 'name');
  const signer = cutText(request, 'spec', 'signerName');
  const requester = cutText(request, 'spec', 'username');
  const createdAt = instant(text(request, 'metadata', 'creationTimestamp'));
  if (name === undefined || signer === undefined || requester === undefined || createdAt === undefined)
    return undefined;
  const certificate = text(request, 'status', 'certificate') ?? '';
  const ofNodes = list(request, 'spec', 'groups').slice(0, MAX_ENTRIES).includes(NODES_GROUP);
  const state = stateOf(request, certificate !== '');
  return {
    name,
    signer,
    requester,
    ofNodes,
    createdAt,
    certificate,
    ...state,
  };
}

function stateOf(
  request: Raw<V1CertificateSigningRequest>,
  issued: boolean,
): Pick<CountedRequest, 'state' | 'message' | 'approvedBy'> {
  const conditions = list(request, 'status', 'conditions').slice(0, MAX_STATES);
  const having = (type: string) =>
    conditions.find((condition) => text(condition, 'type') === type && text(condition, 'status') !== 'False');
  if (issued) return { state: 'issued', message: undefined, approvedBy: text(having('Approved'), 'reason') };
  for (const [type, state] of [
    ['Denied', 'denied'],
    ['Failed', 'failed'],
  ] as const) {
    const condition = having(type);
    if (condition === undefined) continue;
    const said = [text(condition, 'reason'), text(condition, 'message')].filter((part) => part);
    return { state, message: said.length === 0 ? undefined : said.join(': ') };
  }
  const approved = having('Approved');
  if (approved === undefined) return { state: 'pending', message: undefined };
  return { state: 'approved', message: undefined, approvedBy: text(approved, 'reason') };
}
