import * as z from 'zod/mini';
import { printable } from '../printable.ts';
import { EVIDENCE_SOURCE_IDS } from '../tables/evidence-sources.ts';
import { type Contract, list, printed } from './contract.ts';
import { Count, Flag, Provider } from './values.ts';

/** Characters of a value, and entries of a list, in what is stored. */
const LIMITS = { text: 253, entries: 6 } as const;

const word = printed(LIMITS.text);
const Source = z.enum(EVIDENCE_SOURCE_IDS);
/** A requested name. */
const Name = z.object({ kind: z.enum(['dns', 'ip']), value: word });
/** An object that has a name. */
const Owner = z.object({
  node: z.optional(word),
  object: word,
  /** Why it proves nothing. */
  notLive: z.optional(word),
});
/** An object with the names that it proves, and how many more it proves. */
const Proof = z.object({ object: word, names: list(word, LIMITS.entries), more: Count });
const Looked = z.object({ source: Source, count: Count });

/** Why a verdict is what it is: the cause, and its values. */
export const VerdictFacts = z.discriminatedUnion('cause', [
  z.object({ cause: z.literal('proven'), proofs: list(Proof, LIMITS.entries) }),
  z.object({ cause: z.literal('recovered'), until: word, by: word, node: word, object: word }),
  /** A rule failed. */
  z.object({ cause: z.literal('rule'), rule: word, found: word, expected: word }),
  z.object({ cause: z.literal('signer'), signer: word }),
  z.object({ cause: z.enum(['deleting', 'issued', 'over']) }),
  z.object({ cause: z.literal('decided'), condition: word, reason: word }),
  z.object({ cause: z.literal('requester'), requester: word, commonName: z.optional(word) }),
  z.object({ cause: z.literal('unselected'), cluster: word, provider: Provider }),
  /** The object, or certmarshal itself, has a fault. */
  z.object({ cause: z.literal('fault'), problem: word }),
  z.object({ cause: z.literal('future'), seconds: Count }),
  z.object({ cause: z.literal('age'), seconds: Count, min: Count, max: Count }),
  z.object({ cause: z.literal('newer'), csr: word }),
  z.object({ cause: z.literal('flood'), requester: word, pending: Count, most: Count }),
  z.object({ cause: z.literal('unissued'), count: Count, csrs: list(word, LIMITS.entries) }),
  z.object({ cause: z.literal('of-another'), name: Name, owner: Owner }),
  z.object({ cause: z.literal('contested'), name: Name, node: word, object: word, owner: Owner }),
  /** More objects have the name than are read. */
  z.object({ cause: z.literal('crowded'), name: Name, source: Source }),
  /** The node has the address in a way that proves nothing. */
  z.object({ cause: z.literal('weak'), name: Name, why: word }),
  z.object({ cause: z.literal('unlisted'), name: Name, objects: list(word, LIMITS.entries) }),
  z.object({ cause: z.literal('unread'), name: Name, source: Source }),
  z.object({ cause: z.literal('ambiguous'), node: word, count: Count, objects: list(word, LIMITS.entries) }),
  z.object({ cause: z.literal('no-address'), objects: list(word, LIMITS.entries) }),
  z.object({
    cause: z.literal('no-object'),
    node: word,
    /** The object of the node, if one is not live. */
    former: z.optional(Owner),
    looked: list(Looked, LIMITS.entries),
    trusted: list(Source, LIMITS.entries),
    /** Machines were read: one may come. */
    yet: Flag,
    why: z.optional(word),
    /** Why a source does not count the node. */
    without: z.optional(word),
  }),
]);
export type VerdictFacts = Contract<typeof VerdictFacts>;

/** With texts and lists cut to what is stored. */
export function boundedFacts(facts: VerdictFacts): VerdictFacts {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of the same form
  return bounded(facts) as VerdictFacts;
}

function bounded(value: unknown): unknown {
  if (typeof value === 'string') return printable(value, LIMITS.text);
  if (Array.isArray(value)) return value.slice(0, LIMITS.entries).map(bounded);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, bounded(one)]));
}
