import type { Observation, RequestsObservation } from '../../contracts/observation.ts';
import type { Provider } from '../../identifiers.ts';
import type { CertificateClass } from '../../tables/certificate-classes.ts';
import { DAY_MS, MINUTE_MS } from '../../time.ts';
import type { KnownCertificate } from '../certificates.ts';
import type { Draft } from './draft.ts';

/** A kubelet gives up on a request then (client-go, certificateWaitTimeout). */
const PENDING_MS = 15 * MINUTE_MS;
/** A signer takes seconds. */
const ISSUE_MS = 10 * MINUTE_MS;
/** Signers backdate certificates by this. */
const BACKDATED_MS = 5 * MINUTE_MS;
const MANY_NOT_ISSUED = 100;
const MANY_DENIED = 3;
/** A kubelet with a pending request asks 4 times an hour, a denied one 112 times. */
const STORM = { warning: 20, critical: 100, total: 10_000 };
/** All further requesters together. */
const OTHERS = '*';

const KUBELET_SIGNERS: ReadonlyMap<string, CertificateClass> = new Map([
  ['kubernetes.io/kubelet-serving', 'kubelet-serving'],
  ['kubernetes.io/kube-apiserver-client-kubelet', 'kubelet-client'],
]);

/** Findings about CertificateSigningRequests that are pending, not issued, failed, denied, or too many. */
export function requestFindings(
  observations: readonly Observation[],
  certificates: readonly KnownCertificate[],
  provider: Provider,
  now: number,
): readonly Draft[] {
  const requests = observations.filter((observation) => observation.kind === 'requests');
  const began = new Map(certificates.map(({ what, member, best }) => [`${what} ${member}`, best.notBefore]));
  // A kubelet with a newer certificate has abandoned its older requests.
  const isLeftBehind = ({ signer, requester, newestAt }: RequestsObservation): boolean => {
    const since = began.get(`${KUBELET_SIGNERS.get(signer)} ${requester.replace(/^system:node:/, '')}`);
    return Date.parse(since ?? '') + BACKDATED_MS > Date.parse(newestAt);
  };
  return [
    ...requests.flatMap((group) => (group.signerIdle === true || isLeftBehind(group) ? [] : judge(group, now))),
    ...signerDoesNotIssue(requests, provider),
    ...storms(requests),
  ];
}

function signerDoesNotIssue(requests: readonly RequestsObservation[], provider: Provider): readonly Draft[] {
  const groups = requests.filter(({ signerIdle }) => signerIdle === true);
  const [first] = groups;
  if (first === undefined) return [];
  const isEks = provider === 'eks';
  const { signer, examples } = first;
  return [
    {
      code: 'SignerDoesNotIssue',
      severity: isEks ? 'warning' : 'critical',
      object: signer,
      facts: { signer, nodes: groups.length, request: examples[0], isEks: isEks || undefined },
    },
  ];
}

function judge(group: RequestsObservation, now: number): readonly Draft[] {
  const { signer, requester, state, count, lastHour, oldestAt, examples, message } = group;
  const age = now - Date.parse(oldestAt);
  const facts = { requester, signer, count, oldestAt, condition: message, request: examples[0] };
  const common = { object: `${requester} ${signer}`, facts };
  switch (state) {
    case 'pending':
      if (!(age > PENDING_MS)) return [];
      return [{ ...common, code: 'RequestPending', severity: 'warning' }];
    case 'approved': {
      if (!(age > ISSUE_MS)) return [];
      const severity = count > MANY_NOT_ISSUED || age > DAY_MS ? 'critical' : 'warning';
      return [{ ...common, code: 'RequestNotIssued', severity }];
    }
    case 'failed':
      if (!(count > 0)) return [];
      return [{ ...common, code: 'RequestFailed', severity: 'warning' }];
    case 'denied':
      if (!(lastHour >= MANY_DENIED)) return [];
      return [{ ...common, code: 'RequestDenied', severity: 'warning', facts: { ...facts, count: lastHour } }];
    case 'issued':
      return [];
  }
}

function storms(requests: readonly RequestsObservation[]): readonly Draft[] {
  const asked = new Map<string, number>();
  let total = 0;
  for (const { requester, lastHour, count } of requests) {
    total += count;
    asked.set(requester, (asked.get(requester) ?? 0) + lastHour);
  }
  const drafts: Draft[] = [];
  for (const [requester, lastHour] of asked) {
    if (requester === OTHERS || !(lastHour > STORM.warning)) continue;
    drafts.push({
      code: 'RequestStorm',
      severity: lastHour > STORM.critical ? 'critical' : 'warning',
      object: requester,
      facts: { requester, count: lastHour },
    });
  }
  if (total > STORM.total)
    drafts.push({ code: 'RequestStorm', severity: 'critical', object: 'all requesters', facts: { count: total } });
  return drafts;
}
