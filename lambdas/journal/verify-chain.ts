import { isUtf8 } from 'node:buffer';
import type { JournalHead } from '../contracts/journal-line.ts';
import { CHAIN_START, type ChainEnd, type RawLine, readLine } from './chain.ts';
import { headOfObject } from './head.ts';
import { parseJournalKey } from './keys.ts';

/**
 * What is wrong with a chain.
 *
 * - `edited`: a line does not have the hash that it says.
 * - `unlinked`: a line does not follow the one before it: that one was replaced, and hashed again.
 * - `removed-line`, `removed-object`: numbers are missing inside of an object, or between two.
 * - `reordered`, `duplicated`: the lines of an object are in another order, or a line is there twice.
 * - `fork`: two different lines have one number.
 * - `other-cluster`: a line of another cluster.
 * - `misplaced`: an object under a key that is not its own: of another day, or of another first line.
 * - `unreadable`, `too-large`: what is no line, or an object that no certmarshal wrote.
 * - `head-missing`, `head-damaged`: nobody can say where the chain ends.
 * - `truncated`: the head knows lines that are not there.
 * - `forged-tail`: there are lines that the head does not know.
 * - `head-mismatch`: the last line is not the one that the head knows.
 * - `anchor`: the line that was noted down earlier is another one by now, or gone.
 * - `stray`: an object that does not belong to the journal.
 */
export type TamperKind =
  | 'edited'
  | 'unlinked'
  | 'removed-line'
  | 'removed-object'
  | 'reordered'
  | 'duplicated'
  | 'fork'
  | 'other-cluster'
  | 'misplaced'
  | 'unreadable'
  | 'too-large'
  | 'head-missing'
  | 'head-damaged'
  | 'truncated'
  | 'forged-tail'
  | 'head-mismatch'
  | 'anchor'
  | 'stray';

/** One thing that is wrong, and where. Its texts may quote what is in the bucket: they are to be made printable. */
export interface ChainProblem {
  readonly kind: TamperKind;
  /** Key of the object. */
  readonly object: string;
  /** Of the object, from 1 on. */
  readonly line?: number;
  /** One sentence without a full stop. */
  readonly message: string;
}

/** A chain, as far as it was looked at. */
export interface VerifiedChain {
  readonly cluster: string;
  readonly objects: number;
  readonly lines: number;
  /** Number of the first line that was looked at; absent when there was none. */
  readonly first?: number;
  /** The last line; absent when none could be read. To be noted down: a later verification can be told to expect it. */
  readonly end?: ChainEnd;
  /** The last object was not written yet; its lines were read from the head, and nothing is lost. */
  readonly pending: boolean;
  /** The first ones of `problemCount`. */
  readonly problems: readonly ChainProblem[];
  readonly problemCount: number;
}

/** What stands at the place of the head of a chain. */
export type HeadReading = JournalHead | 'missing' | 'damaged';

/** Looks at one chain, object by object. Pure. */
export interface ChainVerifier {
  /** The next object in the order of the keys. @param bytes undefined when it is too large to be read */
  take(key: string, bytes: Buffer | undefined): void;
  /** Whether the objects end where this head says, the last one possibly in the head only. */
  endsAt(head: HeadReading): boolean;
  finish(head: HeadReading): VerifiedChain;
  /** Key of the last object that was taken. */
  readonly lastKey: string | undefined;
}

export interface ChainVerifierOptions {
  readonly cluster: string;
  /** The first day that is looked at, `2026-11-21`; what was before is not known then. @default from the beginning */
  readonly since?: string | undefined;
  /** Lines that were noted down earlier. */
  readonly expected?: readonly ChainEnd[];
}

const MAX_PROBLEMS = 100;

/** `unknown`: what was there could not be read, so that anything may follow. */
type Position = { readonly seq: number; readonly hash: string | undefined } | 'before' | 'unknown';

export function createChainVerifier({ cluster, since, expected = [] }: ChainVerifierOptions): ChainVerifier {
  const problems: ChainProblem[] = [];
  let problemCount = 0;
  let objects = 0;
  let lines = 0;
  let first: number | undefined;
  let lastKey: string | undefined;
  let day: string | undefined;
  let at: Position = since === undefined ? { ...CHAIN_START } : 'before';
  /** Hashes by number, of this object and the one before. */
  let known = new Map<number, string>();
  let before = new Map<number, string>();
  const anchors = new Map(expected.map(({ seq, hash }) => [seq, hash]));
  const met = new Set<number>();

  const report = (kind: TamperKind, object: string, message: string, line?: number): void => {
    problemCount += 1;
    if (problems.length < MAX_PROBLEMS) problems.push({ kind, object, line, message });
  };

  function take(key: string, bytes: Buffer | undefined): void {
    objects += 1;
    lastKey = key;
    before = known;
    known = new Map();
    const texts = bytes === undefined || !isUtf8(bytes) ? undefined : bytes.toString('utf8').split('\n');
    if (texts === undefined || texts.length < 2) {
      if (bytes === undefined) report('too-large', key, 'it is larger than any object of the journal');
      else
        report(
          'unreadable',
          key,
          bytes.length === 0 ? 'it is empty, where lines have to be' : 'it does not hold lines of text',
        );
      at = 'unknown';
      day = undefined;
      return;
    }
    const cut = texts.pop() !== '';
    if (cut) report('unreadable', key, 'its last line has no end: the object was cut', texts.length + 1);
    takeLines(key, texts.map(readLine));
    if (cut) at = 'unknown';
  }

  function takeLines(key: string, read: readonly (RawLine | undefined)[]): void {
    checkPlace(key, read);
    const later = new Set(read.flatMap((line) => (line === undefined ? [] : [line.seq])));
    const early = new Set<number>();
    for (const [index, line] of read.entries()) {
      lines += 1;
      const number = index + 1;
      if (line === undefined) {
        report('unreadable', key, 'it is no line of a journal', number);
        at = typeof at === 'string' ? 'unknown' : { seq: at.seq + 1, hash: undefined };
        continue;
      }
      if (!line.intact) report('edited', key, `line ${line.seq} was changed after it was written`, number);
      if (line.cluster !== cluster)
        report('other-cluster', key, `line ${line.seq} is of cluster ${line.cluster}`, number);
      follow(key, line, { number, later, early });
      later.delete(line.seq);
      checkAnchor(key, line, number);
      known.set(line.seq, line.hash);
    }
  }

  /** Whether a line is the next one. Goes on from what is there, so that one change is one problem. */
  function follow(
    key: string,
    { seq, previous, hash }: RawLine,
    { number, later, early }: { number: number; later: ReadonlySet<number>; early: Set<number> },
  ): void {
    const here = at;
    if (early.delete(seq)) return;
    if (here === 'unknown' || here === 'before') {
      if (here === 'before') first ??= seq;
      if (seq === 1 && previous !== CHAIN_START.hash)
        report('unlinked', key, 'line 1 says that another line was before it', number);
    } else if (seq <= here.seq) {
      const earlier = known.get(seq) ?? before.get(seq);
      if (earlier !== undefined && earlier !== hash)
        report('fork', key, `there are two different lines ${seq}`, number);
      else report('duplicated', key, `line ${seq} was there before`, number);
      return;
    } else if (seq > here.seq + 1) {
      const missing = range(here.seq + 1, seq - 1);
      const moved = missing.filter((each) => later.has(each));
      if (moved.length > 0) {
        report('reordered', key, `line ${seq} stands before line ${moved[0]}`, number);
        for (const each of moved) early.add(each);
      }
      if (moved.length < seq - 1 - here.seq) {
        const gap = here.seq + 1 === seq - 1 ? `line ${seq - 1} is` : `lines ${here.seq + 1} to ${seq - 1} are`;
        report(number === 1 ? 'removed-object' : 'removed-line', key, `${gap} missing before it`, number);
      }
    } else if (here.hash !== undefined && previous !== here.hash) {
      report(
        'unlinked',
        key,
        `line ${seq} was written after another line ${here.seq} than the one that is there`,
        number,
      );
    }
    first ??= seq;
    at = { seq, hash };
  }

  function checkPlace(key: string, read: readonly (RawLine | undefined)[]): void {
    const place = parseJournalKey(key);
    const [begin] = read;
    if (place === undefined) return;
    if (begin !== undefined && begin.seq !== place.seq)
      report('misplaced', key, `it begins with line ${begin.seq}, and its name says ${place.seq}`, 1);
    const days = read.flatMap((line) => (line === undefined ? [] : [line.at.slice(0, 10)]));
    const newest = days.reduce((last, each) => (each > last ? each : last), day ?? '');
    const isBeginning = typeof at !== 'string' && at.seq === 0;
    // An earlier line that was not read may have had a later day.
    const isRight = day === undefined && !isBeginning ? place.day >= newest : place.day === newest;
    if (!isRight && read.every((line) => line !== undefined))
      report('misplaced', key, `its lines are of ${newest}, and its name says ${place.day}`);
    day = place.day;
  }

  function checkAnchor(key: string, { seq, hash }: RawLine, number: number): void {
    const noted = anchors.get(seq);
    if (noted === undefined) return;
    met.add(seq);
    if (noted !== hash) report('anchor', key, `line ${seq} is not the one that was noted down`, number);
  }

  function endsAt(head: HeadReading): boolean {
    if (typeof head === 'string' || at === 'unknown') return true;
    if (at === 'before') return isBeforeWindow(head);
    return head.seq === at.seq || isPending(head, at.seq);
  }

  function finish(head: HeadReading): VerifiedChain {
    const pending =
      typeof head !== 'string' && typeof at !== 'string' && head.seq !== at.seq && isPending(head, at.seq);
    if (pending) {
      take(head.key, Buffer.from(head.body));
      objects -= 1;
    }
    checkHead(head);
    for (const [seq] of anchors) {
      if (met.has(seq)) continue;
      const where =
        first !== undefined && seq < first ? 'it is before the first line that was looked at' : 'it is gone';
      report('anchor', `chain of ${cluster}`, `line ${seq} was noted down, and ${where}`);
    }
    return {
      cluster,
      objects,
      lines,
      first,
      end: typeof at === 'string' || at.hash === undefined || at.seq === 0 ? undefined : { seq: at.seq, hash: at.hash },
      pending,
      problems,
      problemCount,
    };
  }

  function isBeforeWindow({ key }: JournalHead): boolean {
    return since !== undefined && (parseJournalKey(key)?.day ?? '') < since;
  }

  function checkHead(head: HeadReading): void {
    const object = `heads/${cluster}.json`;
    if (head === 'missing') report('head-missing', object, 'it does not exist: nobody can say where the chain ends');
    else if (head === 'damaged') report('head-damaged', object, 'it is no head of this chain, or was changed');
    else if (at === 'before') {
      if (!isBeforeWindow(head))
        report('truncated', object, `it knows lines up to ${head.seq}, in ${head.key}; none of them is there`);
    } else if (at !== 'unknown') {
      if (head.seq > at.seq)
        report('truncated', object, `it knows lines up to ${head.seq}; those after ${at.seq} are not there`);
      else if (head.seq < at.seq)
        report('forged-tail', lastKey ?? object, `lines after ${head.seq} are there, which the head does not know`);
      else if (at.hash !== undefined && head.hash !== at.hash)
        report('head-mismatch', lastKey ?? object, `its line ${at.seq} is not the one that the head knows`);
    }
  }

  return {
    take,
    endsAt,
    finish,
    get lastKey() {
      return lastKey;
    },
  };
}

/** Whether only the last object is missing, and the head has it. */
function isPending(head: JournalHead, seq: number): boolean {
  return parseJournalKey(head.key)?.seq === seq + 1 && headOfObject(head.key, head.body)?.seq === head.seq;
}

/** No more than tell that some of them moved. */
function range(from: number, to: number): number[] {
  return Array.from({ length: Math.min(to - from + 1, 100_000) }, (_, index) => from + index);
}
