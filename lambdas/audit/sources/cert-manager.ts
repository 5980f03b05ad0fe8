import type { CertificateObservation, Observation, UnreadObservation } from '../../contracts/observation.ts';
import { listKind } from '../../kubernetes/list.ts';
import { printable } from '../../printable.ts';
import { list, text } from '../../resources/fields.ts';
import { renewedBy } from '../../tables/certificate-classes.ts';
import { instant, timestamp } from '../../time.ts';
import type { AuditContext, AuditSource } from '../audit-source.ts';
import { shownName } from '../objects.ts';
import { cutShort, readList } from '../read-list.ts';

const MOST = 10_000;
const what = 'cert-manager';

/** The status of cert-manager's Certificates, if the cluster has it. The certificates themselves are in Secrets. */
export const certManager: AuditSource = {
  id: 'cert-manager',
  stage: 'second',
  deadlineMs: 10_000,
  optional: 'always',
  off: () => undefined,
  async observe({ target, now, signal }) {
    const origin = { source: 'cert-manager' as const, observedAt: timestamp(now()) };
    const observations: Observation[] = [];
    const reading = await readList(listKind(target.workload, 'certificates', { signal }), (item) => {
      if (observations.length === MOST) return 'full';
      observations.push({ ...origin, ...statusOf(item, target, now()) });
      return 'more';
    });
    return { observations: [...observations, ...cutShort(origin, reading)], count: reading.count };
  },
};

type Said<T> = Omit<T, 'source' | 'observedAt'>;

/** Source: cert-manager.io/v1, CertificateStatus. */
function statusOf(
  item: unknown,
  { cluster: { provider } }: AuditContext['target'],
  now: number,
): Said<CertificateObservation> | Said<UnreadObservation> {
  const where = `Certificate ${shownName(item)}`;
  const notBefore = instant(text(item, 'status', 'notBefore'));
  const notAfter = instant(text(item, 'status', 'notAfter'));
  const renewalTime = instant(text(item, 'status', 'renewalTime'));
  const notReady = conditionOf(item, 'Ready', 'not Ready');
  const failure = conditionOf(item, 'Issuing', 'Issuing is False', 'Failed');
  if (notAfter === undefined)
    return {
      kind: 'unread',
      where,
      what,
      problem: 'missing',
      message: `it has no certificate yet, or status.notAfter is not a time${notReady === undefined ? '' : `; ${notReady}`}`,
      remedy: 'kubectl describe certificate shows what cert-manager waits for.',
    };
  const due = renewalTime === undefined ? undefined : timestamp(renewalTime);
  const day = due?.slice(0, 10);
  const from = renewalTime === undefined ? '' : renewalTime <= now ? `, due since ${day}` : `, from ${day} on`;
  return {
    kind: 'certificate',
    what,
    where,
    basis: 'status',
    notBefore: notBefore === undefined ? undefined : timestamp(notBefore),
    notAfter: timestamp(notAfter),
    renewedBy: `${renewedBy(what, provider)}${from}${notReady === undefined ? '' : `; now ${notReady}`}`,
    renewal: { due, failure },
  };
}

/** What a condition that is not True says; of one reason, if that is given. */
function conditionOf(item: unknown, type: string, words: string, reason?: string): string | undefined {
  const condition = list(item, 'status', 'conditions').find((one) => text(one, 'type') === type);
  if (condition === undefined || text(condition, 'status') === 'True') return undefined;
  const said = text(condition, 'reason') ?? 'no reason given';
  if (reason !== undefined && said !== reason) return undefined;
  return `${words}: ${printable(said, 100)} (${printable(text(condition, 'message') ?? '', 200)})`;
}
