import type { Observation } from '../../contracts/observation.ts';
import type { Provider } from '../../identifiers.ts';
import { eachInSteps, type Steps } from '../../steps.ts';
import type { SourceId } from '../../tables/audit-sources.ts';
import { CERTIFICATE_CLASSES } from '../../tables/certificate-classes.ts';
import { timeOf } from '../../words.ts';
import { classOf, dissenters, type KnownCertificate, renewalOf } from '../certificates.ts';
import { certificateFacts, judgeByRules, statementOf } from './certificate.ts';
import type { Draft } from './draft.ts';
import type { Thresholds } from './thresholds.ts';

/** Findings about each certificate, and about sources that disagree. */
export function* certificateFindings(
  certificates: readonly KnownCertificate[],
  observations: readonly Observation[],
  provider: Provider,
  thresholds: Thresholds,
  now: number,
): Steps<readonly Draft[]> {
  const nodes = nodeNames(observations);
  const knowsEtcdAuthority = certificates.some(({ what }) => what === 'etcd-ca');
  const lastAnswer = lastAnswerOf(observations);
  const isPaused = observations.some((one) => one.kind === 'group' && one.role === 'control-plane' && one.paused);
  const drafts: Draft[] = [];
  yield* eachInSteps(certificates, (certificate) => {
    const { what, best, member, unproven } = certificate;
    const node = member !== undefined && nodes.has(member) ? { node: member } : {};
    const authorityKnown = CERTIFICATE_CLASSES[what].layer !== 'etcd' || knowsEtcdAuthority;
    const shown = unproven ?? best;
    const judged = {
      ...certificate,
      ...node,
      observation: best,
      shown,
      facts: certificateFacts(certificate),
      authorityKnown,
      lastAnswer,
      thresholds,
      now,
    };
    const common = about(certificate, provider, now);
    const isWaiting = what === 'cluster-kubeconfig' && isPaused;
    const renewedBy = isWaiting ? `${common.renewedBy}, once its control plane is not paused` : common.renewedBy;
    for (const judgement of judgeByRules(judged)) drafts.push({ ...common, renewedBy, ...judgement });
    drafts.push(...stale(certificate, provider, now));
  });
  return [...drafts, ...unreadableEnds(observations)];
}

/** Every audit reads these from the API server of the cluster. */
const OF_API_SERVER: ReadonlySet<SourceId> = new Set(['nodes', 'signing-requests', 'trust-configmaps']);

/**
 * When the API server of the cluster last listed its Nodes, if it answers nothing now; 0 if never. Milliseconds since
 * the epoch.
 */
function lastAnswerOf(observations: readonly Observation[]): number | undefined {
  const answers = observations.filter(({ source }) => OF_API_SERVER.has(source));
  const isSilent = answers.some((one) => one.kind === 'unread' && one.where === undefined);
  if (!isSilent || answers.some(({ kind }) => kind === 'read')) return undefined;
  return answers.reduce(
    (last, { kind, observedAt }) => (kind === 'member' ? Math.max(last, timeOf(observedAt) ?? 0) : last),
    0,
  );
}

/** The fields of every finding about a certificate. */
export function about(
  certificate: KnownCertificate,
  provider: Provider,
  now: number,
): Pick<Draft, 'object' | 'what' | 'places' | 'lastSeen' | 'renewedBy'> {
  const { what, object, places, lastSeen } = certificate;
  return { object, what, places, lastSeen, renewedBy: renewalOf(certificate, provider, now) };
}

function stale(certificate: KnownCertificate, provider: Provider, now: number): readonly Draft[] {
  const [other] = dissenters(certificate);
  if (other === undefined) return [];
  return [
    {
      ...about(certificate, provider, now),
      code: 'StaleAnnotation',
      severity: 'warning',
      facts: { ...certificateFacts(certificate), best: statementOf(certificate.best), other: statementOf(other) },
    },
  ];
}

/** Certificates whose expiry is not a time. */
function unreadableEnds(observations: readonly Observation[]): readonly Draft[] {
  return observations
    .filter((observation) => observation.kind === 'certificate')
    .filter(({ notAfter }) => timeOf(notAfter) === undefined)
    .map((observation) => {
      const { where, position = 0 } = observation;
      const what = classOf(observation);
      return {
        code: 'CertificateUnreadable',
        severity: 'warning',
        object: `${what} ${where}${position > 0 ? ` #${position + 1}` : ''}`,
        what,
        facts: { of: 'certificate', ...certificateFacts({ best: observation }) },
      } as const;
    });
}

/** Names of Nodes; without a list of members, every member counts as one. */
function nodeNames(observations: readonly Observation[]): { has(member: string): boolean } {
  const members = observations.filter((observation) => observation.kind === 'member');
  if (members.length === 0) return { has: () => true };
  return new Set(members.map(({ node }) => node));
}
