import type { AuditContext, AuditSource, SourceObservations } from '../../../../lambdas/audit/audit-source.ts';
import type { AuditReach } from '../../../../lambdas/audit/audit-target.ts';
import type { IssuedJudge } from '../../../../lambdas/audit/issued-certificates.ts';
import type {
  CertificateObservation,
  MemberObservation,
  Observation,
} from '../../../../lambdas/contracts/observation.ts';
import type { Provider } from '../../../../lambdas/identifiers.ts';
import type { ApiCall, KubernetesClient } from '../../../../lambdas/kubernetes/client.ts';
import { KubernetesError, type KubernetesErrorKind } from '../../../../lambdas/kubernetes/errors.ts';
import type { SourceId } from '../../../../lambdas/tables/audit-sources.ts';

export const SERVER = 'https://10.0.0.1:6443';
export const NOW = Date.parse('2026-11-21T12:00:00Z');
/** `observedAt` of everything. */
export const TOLD = { observedAt: '2026-11-21T12:00:00.000Z' };

/** What a path answers: an object, the items of a list, text, or why not. Paths that are not here are 404. */
export type Answers = Readonly<Record<string, object | string | KubernetesError | (() => Promise<object | string>)>>;

export interface FakeClient extends KubernetesClient {
  readonly calls: readonly ApiCall[];
}

export function failure(kind: KubernetesErrorKind, object = 'list things'): KubernetesError {
  return new KubernetesError({ kind, object, problem: `is ${kind}`, remedy: 'Mend it.' });
}

/** A client of an API server that is not there. Lists are split as their `limit` asks. */
export function fakeClient(answers: Answers, caPem?: string): FakeClient {
  const calls: ApiCall[] = [];
  const stats = { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 };
  const answer = async (call: ApiCall): Promise<object | string> => {
    calls.push(call);
    stats.requests += 1;
    const found = answers[call.path];
    if (found === undefined) throw failure('not-found', `get ${call.path}`);
    if (found instanceof KubernetesError) throw found;
    const value = typeof found === 'function' ? await found() : found;
    if (!Array.isArray(value)) return value;
    const start = Number(call.query?.['continue'] ?? 0);
    const end = start + Number(call.query?.['limit'] ?? value.length);
    // As from the network: what a reader changes is not changed here.
    const items: unknown[] = structuredClone(value.slice(start, end));
    return { items, metadata: end < value.length ? { continue: String(end) } : {} };
  };
  return {
    server: SERVER,
    caPem,
    stats,
    calls,
    request: async (call) => ({ ...Object(await answer(call)) }),
    requestText: async (call) => {
      const text = await answer(call);
      return typeof text === 'string' ? text : JSON.stringify(text);
    },
    close: () => undefined,
  };
}

/** Judges as an audit does that could read nothing. */
export const NO_EVIDENCE: IssuedJudge = () => ({ verdict: 'unknown' });

export interface Surroundings {
  readonly provider?: Provider;
  readonly reach?: Partial<AuditReach>;
  readonly members?: readonly MemberObservation[];
  readonly signal?: AbortSignal;
  readonly now?: () => number;
  readonly remembered?: ReadonlySet<SourceId>;
}

export function contextOf(workload: KubernetesClient, around: Surroundings = {}): AuditContext {
  const { provider = 'eks-anywhere', reach, members = [], signal, now = () => NOW, remembered = new Set() } = around;
  return {
    target: {
      id: 'berlin',
      cluster: { name: 'berlin', provider },
      workload,
      machinesNamespace: 'eksa-system',
      reach: { handshakes: true, secrets: true, kubeletMetrics: true, ...reach },
    },
    now,
    signal: signal ?? new AbortController().signal,
    members,
    authorities: [],
    issuedJudge: async () => NO_EVIDENCE,
    remembered,
  };
}

/** Reads one source, and checks what holds for whatever any of them says. */
export async function observe(
  source: AuditSource,
  answers: Answers,
  surroundings: Surroundings = {},
): Promise<SourceObservations> {
  const read = await source.observe(contextOf(fakeClient(answers), surroundings));
  for (const observation of read.observations) expectHarmless(observation);
  return read;
}

/** Bounded, printable, plain. */
export function expectHarmless(observation: Observation): void {
  const text = JSON.stringify(observation);
  if (text.length > 8_192) throw new Error(`an observation of ${text.length} characters: ${text.slice(0, 300)}`);
  for (const value of Object.values(observation))
    if (typeof value === 'string' && /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(value))
      throw new Error(`an unprintable text: ${JSON.stringify(value)}`);
}

export function certificatesOf({ observations }: SourceObservations): readonly CertificateObservation[] {
  return observations.filter((observation) => observation.kind === 'certificate');
}

/** `kind what where: problem`, in order: enough to see what a source says at a glance. */
export function outline({ observations }: Pick<SourceObservations, 'observations'>): readonly string[] {
  return observations.map((observation) => {
    const { kind } = observation;
    if (kind === 'certificate')
      return `${kind} ${observation.what} @ ${observation.where} #${observation.position ?? 0}`;
    if (kind === 'unread')
      return `${kind} ${observation.what ?? '-'} @ ${observation.where ?? '(source)'}: ${observation.problem}`;
    if (kind === 'member') return `${kind} ${observation.role} ${observation.name}`;
    if (kind === 'requests')
      return `${kind} ${observation.state} ${observation.count} of ${observation.requester} at ${observation.signer}`;
    if (kind === 'renewal')
      return `${kind} ${observation.what} of ${observation.node}: ${observation.errors} errors${observation.none ? ', none' : ''}`;
    return kind;
  });
}
