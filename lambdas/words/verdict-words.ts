import type { VerdictLine } from '../contracts/outcome.ts';
import type { VerdictFacts } from '../contracts/verdict-facts.ts';
import { EVIDENCE_SOURCES } from '../tables/evidence-sources.ts';
import type { Reason } from '../tables/reasons.ts';
import { counted, firstOf } from '../words.ts';

type Cause = VerdictFacts['cause'];
/** Some causes have the same facts. */
type FactsOf<C extends Cause, F = VerdictFacts> = F extends { readonly cause: infer K }
  ? C extends K
    ? F
    : never
  : never;

const SENTENCES: { readonly [C in Cause]: (facts: FactsOf<C>) => string } = {
  proven: ({ proofs }) => proofs.map((proof) => `${firstOf(proof.names, 6, proof.count)} ← ${proof.object}`).join('; '),
  recovered: ({ until, by, node, object }) => `recovery until ${until}, by ${by}: ${node} ← ${object}`,
  rule: ({ rule, found, expected }) => `${rule}: ${found}; expected ${expected}`,
  signer: ({ signer }) => `signer is ${signer}`,
  deleting: () => 'the request is being deleted',
  issued: () => 'the certificate is issued',
  over: () => 'the request was decided or deleted just now',
  decided: ({ condition, reason }) => `condition ${condition}, reason ${reason || 'none'}`,
  requester: ({ requester }) => `requester is ${requester}`,
  misnamed: ({ requester, commonName }) => `common name is ${commonName}, but requester is ${requester}`,
  unselected: ({ cluster, provider }) => `no policy selects cluster ${cluster} (${provider})`,
  fault: ({ problem }) => problem,
  future: ({ seconds }) => `created ${seconds} s in the future of this clock`,
  age: ({ seconds, min, max }) => `${seconds} s old; judged between ${min} and ${max} s`,
  newer: ({ csr }) => `${csr} is newer`,
  flood: ({ requester, count, most }) => `${requester} has ${count} pending requests; more than ${most} is a flood`,
  unissued: ({ csrs, count }) =>
    `the signer issued none of ${counted(count, 'request')} approved more than 10 minutes ago; one a minute is approved until it issues one: ${firstOf(csrs, 3, count)}`,
  'of-another': ({ name, owner }) => `${nameWords(name)} belongs to ${ownerWords(owner)}`,
  contested: ({ name, node, object, owner }) =>
    `${nameWords(name)} is owned by ${node} (${object}) and by ${ownerWords(owner)}`,
  crowded: ({ name, source }) =>
    `${nameWords(name)} belongs to more ${EVIDENCE_SOURCES[source].plural} than a name can belong to`,
  weak: ({ name, why }) => `${nameWords(name)} ${why}`,
  unlisted: ({ name, objects }) => `${nameWords(name)} is not among the names of ${objects.join(', ')}`,
  unread: ({ name, source }) =>
    `${nameWords(name)} is not proven: ${EVIDENCE_SOURCES[source].plural} prove nothing now`,
  ambiguous: ({ node, count, objects }) => `${count} objects claim to be node ${node}: ${objects.join(', ')}`,
  'no-address': ({ objects }) => `${objects.join(', ')} has no addresses yet, or none of a known type`,
  former: ({ node, owner, without }) =>
    `${owner.object}, which is node ${node}, ${owner.notLive}${without === undefined ? '' : `; ${without}`}`,
  nobody: noObject,
};

/** What was proven and by what, or what was checked and not found: one sentence without a full stop. Pure. */
export function verdictSentence(facts: VerdictFacts): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the entry of its cause
  return SENTENCES[facts.cause](facts as never);
}

function noObject({ node, looked, trusted, yet, why, without }: FactsOf<'nobody'>): string {
  const each = looked.map(
    ({ source, count }) => `no ${EVIDENCE_SOURCES[source].plural.slice(0, -1)} (${count} checked)`,
  );
  const none = each.join(' and ') || `no evidence was read (policy asks for ${trusted.join(', ')}); nothing`;
  const cause = why === undefined ? (yet ? ' yet' : '') : `: ${why}`;
  return `${none} names node ${node}${cause}${without === undefined ? '' : `; ${without}`}`;
}

function nameWords({ kind, value }: FactsOf<'of-another'>['name']): string {
  return `${kind === 'dns' ? 'DNS name' : 'IP'} ${value}`;
}

/** `node-2 (Machine eksa-system/md-0-x7k2)`, `Machine eksa-system/cp-1, which is being deleted`. */
export function ownerWords({ node, object, notLive }: FactsOf<'of-another'>['owner']): string {
  return `${node === undefined ? object : `${node} (${object})`}${notLive === undefined ? '' : `, which ${notLive}`}`;
}

/** The message of the condition that records a decision in a CertificateSigningRequest. */
export function conditionMessage(facts: VerdictFacts, denial: Reason | undefined, policy = ''): string {
  const why = verdictSentence(facts);
  return facts.cause === 'recovered' ? why : `policy ${policy}: ${denial === undefined ? '' : `${denial}: `}${why}`;
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
