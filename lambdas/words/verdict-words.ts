import type { VerdictLine } from '../contracts/outcome.ts';
import type { VerdictFacts } from '../contracts/verdict-facts.ts';
import { EVIDENCE_SOURCES } from '../tables/evidence-sources.ts';
import type { Reason, VerdictKind } from '../tables/reasons.ts';
import { counted, firstOf } from '../words.ts';

type FactsOf<C extends VerdictFacts['cause']> = Extract<VerdictFacts, { readonly cause: C }>;

/** What was proven and by what, or what was checked and not found: one sentence without a full stop. Pure. */
export function verdictSentence(facts: VerdictFacts): string {
  switch (facts.cause) {
    case 'proven':
      return facts.proofs
        .map(({ object, names, more }) => `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''} ← ${object}`)
        .join('; ');
    case 'recovered':
      return `recovery until ${facts.until}, by ${facts.by}: ${facts.node} ← ${facts.object}`;
    case 'rule':
      return `${facts.rule}: ${facts.found}; expected ${facts.expected}`;
    case 'signer':
      return `signer is ${facts.signer}`;
    case 'deleting':
      return 'the request is being deleted';
    case 'issued':
      return 'the certificate is issued';
    case 'over':
      return 'the request was decided or deleted just now';
    case 'decided':
      return `condition ${facts.condition}, reason ${facts.reason || 'none'}`;
    case 'requester':
      return facts.commonName === undefined
        ? `requester is ${facts.requester}`
        : `common name is ${facts.commonName}, but requester is ${facts.requester}`;
    case 'unselected':
      return `no policy selects cluster ${facts.cluster} (${facts.provider})`;
    case 'fault':
      return facts.problem;
    case 'future':
      return `created ${facts.seconds} s in the future of this clock`;
    case 'age':
      return `${facts.seconds} s old; judged between ${facts.min} and ${facts.max} s`;
    case 'newer':
      return `${facts.csr} is newer`;
    case 'flood':
      return `${facts.requester} has ${facts.pending} pending requests; more than ${facts.most} is a flood`;
    case 'unissued':
      return `the signer issued none of ${counted(facts.count, 'request')} approved more than 10 minutes ago; one a minute is approved until it issues one: ${firstOf(facts.csrs, 3, facts.count)}`;
    case 'of-another':
      return `${nameWords(facts)} belongs to ${ownerWords(facts.owner)}`;
    case 'contested':
      return `${nameWords(facts)} is owned by ${facts.node} (${facts.object}) and by ${ownerWords(facts.owner)}`;
    case 'crowded':
      return `${nameWords(facts)} belongs to more ${EVIDENCE_SOURCES[facts.source].plural} than a name can belong to`;
    case 'weak':
      return `${nameWords(facts)} ${facts.why}`;
    case 'unlisted':
      return `${nameWords(facts)} is not among the names of ${facts.objects.join(', ')}`;
    case 'unread':
      return `${nameWords(facts)} is not proven: ${EVIDENCE_SOURCES[facts.source].plural} prove nothing now`;
    case 'ambiguous':
      return `${facts.count} objects claim to be node ${facts.node}: ${facts.objects.join(', ')}`;
    case 'no-address':
      return `${facts.objects.join(', ')} has no addresses yet, or none of a known type`;
    case 'no-object':
      return noObject(facts);
  }
}

function noObject({ node, former, looked, trusted, yet, why, without }: FactsOf<'no-object'>): string {
  const end = without === undefined ? '' : `; ${without}`;
  if (former !== undefined) return `${former.object}, which is node ${node}, ${former.notLive}${end}`;
  const none =
    looked.length === 0
      ? `no evidence was read (policy asks for ${trusted.join(', ')}); nothing`
      : looked
          .map(({ source, count }) => `no ${EVIDENCE_SOURCES[source].plural.slice(0, -1)} (${count} checked)`)
          .join(' and ');
  return `${none} names node ${node}${why === undefined ? (yet ? ' yet' : '') : `: ${why}`}${end}`;
}

function nameWords({ name: { kind, value } }: Pick<FactsOf<'of-another'>, 'name'>): string {
  return `${kind === 'dns' ? 'DNS name' : 'IP'} ${value}`;
}

/** `node-2 (Machine eksa-system/md-0-x7k2)`, `Machine eksa-system/cp-1, which is being deleted`. */
export function ownerWords({ node, object, notLive }: FactsOf<'of-another'>['owner']): string {
  return `${node === undefined ? object : `${node} (${object})`}${notLive === undefined ? '' : `, which ${notLive}`}`;
}

/** The message of the condition that records a decision in a CertificateSigningRequest. */
export function conditionMessage({
  verdict,
  reason,
  policy = '',
  facts,
}: {
  readonly verdict: VerdictKind;
  readonly reason: Reason;
  readonly policy?: string;
  readonly facts: VerdictFacts;
}): string {
  const why = verdictSentence(facts);
  if (facts.cause === 'recovered') return why;
  return `policy ${policy}: ${verdict === 'approve' ? '' : `${reason}: `}${why}`;
}

/** A verdict as JSON: its facts, and the sentence that they make. */
export function verdictDocument<V extends { readonly facts: VerdictFacts }>(
  verdict: V,
): V & { readonly message: string } {
  return { ...verdict, message: verdictSentence(verdict.facts) };
}

/** How a verdict and what became of it are shown, in a terminal and on the report page. */
export interface VerdictWords {
  readonly tone: 'critical' | 'warning' | 'well' | 'soft';
  /** With its symbol: `✔ approved`, `◇ would approve`. */
  readonly words: string;
}

/** Pure. */
export function verdictWords({
  verdict,
  outcome,
  hostile,
}: Pick<VerdictLine, 'verdict' | 'outcome'> & { readonly hostile?: boolean | undefined }): VerdictWords {
  if (verdict === 'leave')
    return hostile === true
      ? { tone: 'critical', words: '✖ not approved' }
      : { tone: 'warning', words: '◌ not approved' };
  if (verdict === 'ignore') return { tone: 'soft', words: '· ignored' };
  const tone = verdict === 'deny' ? 'critical' : 'well';
  if (outcome === 'written') return { tone, words: verdict === 'deny' ? '✖ denied' : '✔ approved' };
  if (outcome === 'observed') return { tone, words: `◇ would ${verdict}` };
  // Another writer was faster, or the write failed: then a problem says how.
  return outcome === 'overtaken'
    ? { tone: 'soft', words: `· ${verdict} (overtaken)` }
    : { tone: 'critical', words: `✖ ${verdict} (${outcome})` };
}
