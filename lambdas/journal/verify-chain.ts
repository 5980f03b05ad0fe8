import { isUtf8 } from 'node:buffer';
import type { JournalHead } from '../contracts/journal-line.ts';
import { CHAIN_START, type ChainEnd, type RawLine, readLine } from './chain.ts';
import { dayOfObject, headKey, JOURNAL_PREFIX, journalKey } from './keys.ts';

/** One problem and its place. The texts may quote the bucket's content: escape before printing. */
export interface ChainProblem {
  /** Key of the object. */
  readonly object: string;
  /** Of the object, from 1 on. */
  readonly line?: number;
  /** One sentence without a full stop. */
  readonly message: string;
  /** The remedy. */
  readonly remedy: string;
}

const VERSIONS =
  'The bucket keeps every version: aws s3api list-object-versions --bucket BUCKET --prefix KEY shows what was there and when it changed; CloudTrail says who did it.';
const HEADS =
  'Compare the versions of the head: aws s3api list-object-versions --bucket BUCKET --prefix heads/. The next sweep with a decision writes a new one.';
const NOTED = 'The noted line is the proof: the chain was rewritten since. Compare the versions in the bucket.';

/** The result for a chain, as far as it was read. */
export interface VerifiedChain {
  readonly cluster: string;
  readonly objects: number;
  readonly lines: number;
  /** Number of the first line read; absent if there was none. */
  readonly first?: number;
  /** The last line; absent if none could be read. Note it down: a later verification can expect it. */
  readonly end?: ChainEnd;
  /** The last object is not written yet; its lines were read from the head, so nothing is lost. */
  readonly pending: boolean;
  /** The first ones of `problemCount`; for each object only the first broken line. */
  readonly problems: readonly ChainProblem[];
  readonly problemCount: number;
}

/** The content at the key of a head. */
export type HeadReading = JournalHead | 'missing' | 'damaged';

/** Verifies one chain, object by object. Pure. */
export interface ChainVerifier {
  /** The next object, in the order of keys. @param bytes undefined if too large to read */
  take(key: string, bytes: Buffer | undefined): void;
  finish(head: HeadReading): VerifiedChain;
  /** Key of the last verified object; initially a key before all keys to verify. */
  readonly at: string;
}

const MAX_PROBLEMS = 100;

/**
 * @param since the first day to verify, `2026-11-21`; earlier lines are assumed intact
 * @param expected lines that were noted down earlier
 */
export function createChainVerifier(
  cluster: string,
  since: string | undefined,
  expected: readonly ChainEnd[],
): ChainVerifier {
  const problems: ChainProblem[] = [];
  const noted = new Map(expected.map(({ seq, hash }) => [seq, hash]));
  const met = new Map<number, string>();
  let problemCount = 0;
  let objects = 0;
  let lines = 0;
  let first: number | undefined;
  let at = JOURNAL_PREFIX + (since ?? '');
  /** The line that must come before the next one; undefined if unknown. */
  let end = since === undefined ? CHAIN_START : undefined;

  const report = (object: string, message: string, remedy: string, line?: number): void => {
    problemCount += 1;
    if (problems.length < MAX_PROBLEMS) problems.push({ object, line, message, remedy });
  };

  function take(key: string, bytes: Buffer | undefined): void {
    const known = problemCount;
    const read = linesOf(bytes);
    for (const [index, line] of read.entries()) {
      const message = line === undefined ? unreadable(bytes) : wrongWith(line, end, cluster);
      // A changed object is one problem: later lines are compared with its actual content.
      if (message !== undefined && problemCount === known) report(key, message, VERSIONS, index + 1);
      end = line;
      if (line === undefined) continue;
      first ??= line.seq;
      if (noted.has(line.seq)) met.set(line.seq, line.hash);
    }
    if (problemCount === known && !isInPlace(key, read)) report(key, 'its key does not match its lines', VERSIONS);
    objects += 1;
    lines += read.length;
    at = key;
  }

  /** Its key names its first line and its day. */
  function isInPlace(key: string, read: readonly (RawLine | undefined)[]): boolean {
    const known = read.filter((line) => line !== undefined);
    // The day before the first object is unknown.
    const before = objects === 0 && since !== undefined ? key : at;
    return key === journalKey({ day: dayOfObject(before, known), cluster, seq: known[0]?.seq ?? 0 });
  }

  function finish(head: HeadReading): VerifiedChain {
    const object = headKey(cluster);
    let pending = false;
    if (head === 'missing') report(object, 'it does not exist, so the end of the chain is not known', HEADS);
    else if (head === 'damaged') report(object, 'it is not a head of this chain, or was changed', HEADS);
    else {
      if (head.key > at && objects === 0 && since !== undefined)
        report(object, `it knows lines up to ${head.seq}, in ${head.key}; none of them is there`, VERSIONS);
      else if (head.key > at) {
        // A head is written before its object and contains all of it.
        const known = problemCount;
        take(head.key, Buffer.from(head.body));
        objects -= 1;
        pending = problemCount === known;
      }
      if (end !== undefined && end.seq !== head.seq)
        report(at, `it ends with line ${end.seq}, and the head of the chain with line ${head.seq}`, VERSIONS);
      else if (end !== undefined && end.hash !== head.hash)
        report(at, `its line ${end.seq} is not the one that the head knows`, VERSIONS);
    }
    for (const [seq, hash] of noted) {
      if (met.get(seq) === hash) continue;
      const message = met.has(seq)
        ? `line ${seq} is not the one that was noted down`
        : `line ${seq} was noted down, and ${first !== undefined && seq < first ? 'it is before the first line that was read' : 'it is gone'}`;
      report(`chain of ${cluster}`, message, NOTED);
    }
    const last = end === undefined || end.seq === 0 ? undefined : { seq: end.seq, hash: end.hash };
    return { cluster, objects, lines, first, end: last, pending, problems, problemCount };
  }

  return {
    take,
    finish,
    get at() {
      return at;
    },
  };
}

/** Empty objects and a last line without a newline count as one unreadable line. */
function linesOf(bytes: Buffer | undefined): readonly (RawLine | undefined)[] {
  const texts = bytes !== undefined && isUtf8(bytes) ? bytes.toString('utf8').split('\n') : [];
  const rest = texts.pop();
  const read = texts.map(readLine);
  return rest === '' && read.length > 0 ? read : [...read, undefined];
}

function unreadable(bytes: Buffer | undefined): string {
  return bytes === undefined ? 'it is larger than any object of the journal' : 'it is not a line of a journal';
}

/** Why a line does not continue the chain; undefined if it does. */
function wrongWith(
  { seq, previous, intact, cluster: of }: RawLine,
  before: ChainEnd | undefined,
  cluster: string,
): string | undefined {
  if (!intact) return `line ${seq} was changed after it was written`;
  if (of !== cluster) return `line ${seq} belongs to cluster ${of}`;
  if (before === undefined || (seq === before.seq + 1 && previous === before.hash)) return undefined;
  if (seq === before.seq + 1)
    return `line ${seq} was written after another line ${before.seq} than the one that is there`;
  if (seq <= before.seq) return `line ${seq} comes after line ${before.seq}`;
  const missing = seq === before.seq + 2 ? `line ${seq - 1} is` : `lines ${before.seq + 1} to ${seq - 1} are`;
  return `${missing} missing before it`;
}
