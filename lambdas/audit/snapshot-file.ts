import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { CertificateObservation, Observation, SourceId, UnreadObservation } from '../expiry/observation.ts';
import { readSnapshot } from '../expiry/read-observations.ts';
import type { Snapshot } from '../expiry/snapshot.ts';

/** A cluster of a thousand nodes has under half of it. */
export const MAX_OBSERVATIONS = 10_000;
/** Bytes of JSON: a small file must not become a large one. */
const LARGEST = 64 * 1024 * 1024;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** gzip of JSON. At most 10,000 observations; beyond these the least urgent certificates are left out, and an observation says so. */
export async function encodeSnapshot(snapshot: Snapshot): Promise<Buffer> {
  const { observations } = snapshot;
  return compress(JSON.stringify({ ...snapshot, observations: mostUrgent(observations, snapshot.auditedAt) }));
}

/** Undefined when it is damaged, or not what certmarshal wrote. Bounded also against a small file that becomes a large one. */
export async function decodeSnapshot(bytes: Uint8Array): Promise<Snapshot | undefined> {
  let value: unknown;
  try {
    const text = await decompress(bytes, { maxOutputLength: LARGEST });
    value = JSON.parse(text.toString('utf8'));
  } catch {
    // What is wrong with it changes nothing: it is written anew.
    return undefined;
  }
  return readSnapshot(value);
}

/** Whatever is no certificate stays, and of the certificates those that end first. */
function mostUrgent(observations: readonly Observation[], auditedAt: string): readonly Observation[] {
  if (observations.length <= MAX_OBSERVATIONS) return observations;
  const certificates = observations.filter((observation) => observation.kind === 'certificate');
  const others = observations.filter(({ kind }) => kind !== 'certificate').slice(0, MAX_OBSERVATIONS - 1);
  const byEnd = certificates.toSorted((a, b) => Date.parse(a.notAfter) - Date.parse(b.notAfter));
  const room = MAX_OBSERVATIONS - 1 - others.length;
  return [...others, ...byEnd.slice(0, room), leftOut(byEnd.slice(room), observations.length, auditedAt)];
}

function leftOut(lost: readonly CertificateObservation[], all: number, observedAt: string): UnreadObservation {
  const [last] = lost;
  return {
    kind: 'unread',
    source: mostOf(lost),
    observedAt,
    where: 'snapshot',
    problem: 'too-large',
    message: `${all - (MAX_OBSERVATIONS - 1)} of ${all} observations are not kept${last === undefined ? '' : `: certificates that end after ${last.notAfter}`}`,
    remedy: 'The findings count them all the same; delete what is not in use any more, such as old TLS Secrets.',
  };
}

/** The source that has the most of them. */
function mostOf(lost: readonly CertificateObservation[]): SourceId {
  const counts = Map.groupBy(lost, ({ source }) => source);
  const [most] = [...counts].toSorted(([, a], [, b]) => b.length - a.length);
  return most?.[0] ?? 'signing-requests';
}
