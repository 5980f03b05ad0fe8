import * as z from 'zod/mini';
import { printableParts } from '../printable.ts';
import { EVIDENCE_SOURCE_IDS } from '../tables/evidence-sources.ts';
import { type Contract, list, printed } from './contract.ts';
import { Count, Flag, Provider } from './values.ts';

/** Characters of a value, and entries of a list, in what is stored. */
const LIMITS = { text: 253, entries: 6 } as const;

const word = printed(LIMITS.text);
const words = list(word, LIMITS.entries);
const Source = z.enum(EVIDENCE_SOURCE_IDS);
/** A requested name. */
const Name = z.object({ kind: z.enum(['dns', 'ip']), value: word });
/** An object that has a name; `notLive` is why it proves nothing. */
const Owner = z.object({ node: z.optional(word), object: word, notLive: z.optional(word) });
/** An object with the first names of `count` that it proves. */
const Proof = z.object({ object: word, names: words, count: Count });
const Looked = z.object({ source: Source, count: Count });
/** Why a source does not count the node. */
const without = z.optional(word);

/** Why a verdict is what it is: the cause, and its values. */
export const VerdictFacts = z.discriminatedUnion('cause', [
  z.object({ cause: z.literal('proven'), proofs: list(Proof, LIMITS.entries) }),
  z.object({ cause: z.literal('recovered'), until: word, by: word, node: word, object: word }),
  /** A rule failed. */
  z.object({ cause: z.literal('rule'), rule: word, found: word, expected: word }),
  z.object({ cause: z.literal('signer'), signer: word }),
  /** Over: decided or deleted just now. */
  z.object({ cause: z.enum(['deleting', 'issued', 'over']) }),
  z.object({ cause: z.literal('decided'), condition: word, reason: word }),
  z.object({ cause: z.literal('requester'), requester: word }),
  /** The API server takes a kubelet for another user. */
  z.object({ cause: z.literal('misnamed'), requester: word, commonName: word }),
  z.object({ cause: z.literal('unselected'), cluster: word, provider: Provider }),
  /** The object, or certmarshal itself, has a fault. */
  z.object({ cause: z.literal('fault'), problem: word }),
  z.object({ cause: z.literal('future'), seconds: Count }),
  z.object({ cause: z.literal('age'), seconds: Count, min: Count, max: Count }),
  z.object({ cause: z.literal('newer'), csr: word }),
  z.object({ cause: z.literal('flood'), requester: word, count: Count, most: Count }),
  z.object({ cause: z.literal('unissued'), count: Count, csrs: words }),
  z.object({ cause: z.literal('of-another'), name: Name, owner: Owner }),
  z.object({ cause: z.literal('contested'), name: Name, node: word, object: word, owner: Owner }),
  /** Crowded: more objects of the source have the name than are read. */
  z.object({ cause: z.enum(['crowded', 'unread']), name: Name, source: Source }),
  /** The node has the address in a way that proves nothing. */
  z.object({ cause: z.literal('weak'), name: Name, why: word }),
  z.object({ cause: z.literal('unlisted'), name: Name, objects: words }),
  z.object({ cause: z.literal('ambiguous'), node: word, count: Count, objects: words }),
  z.object({ cause: z.literal('no-address'), objects: words }),
  /** The object of the node is not live. */
  z.object({ cause: z.literal('former'), node: word, owner: Owner, without }),
  /** No object names the node; `yet`: Machines were read, and one may come. */
  z.object({
    cause: z.literal('unnamed'),
    node: word,
    looked: list(Looked, LIMITS.entries),
    trusted: list(Source, LIMITS.entries),
    yet: Flag,
    why: z.optional(word),
    without,
  }),
]);
export type VerdictFacts = Contract<typeof VerdictFacts>;

/** With texts and lists cut to what is stored. */
export function boundedFacts(facts: VerdictFacts): VerdictFacts {
  return printableParts(facts, LIMITS.text, LIMITS.entries);
}
