import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { assert, asyncProperty, constantFrom, integer, nat } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHAIN_START, chainLines, readLine } from '../../../lambdas/journal/chain.ts';
import { directoryJournalFiles } from '../../../lambdas/journal/directory-journal.ts';
import { encodeHead, headOfObject } from '../../../lambdas/journal/head.ts';
import { headKey, journalKey } from '../../../lambdas/journal/keys.ts';
import { MAX_JOURNAL_OBJECT } from '../../../lambdas/journal/s3-journal.ts';
import { readObjects, type VerifyOptions, verifyJournal } from '../../../lambdas/journal/verify.ts';
import type { TamperKind } from '../../../lambdas/journal/verify-chain.ts';
import { CLUSTER, entry, type MemoryBucket, memoryBucket, never, writerOf } from './values.ts';

const HEAD = headKey(CLUSTER);
const [DAY_1, DAY_2, DAY_3] = ['2026-11-20', '2026-11-21', '2026-11-22'] as const;
const keyOf = (day: string, seq: number, cluster = CLUSTER) => journalKey({ day, cluster, seq });
const [A, B, C] = [keyOf(DAY_1, 1), keyOf(DAY_2, 4), keyOf(DAY_3, 7)];
const OTHER = 'other';
const OTHER_A = keyOf(DAY_1, 1, OTHER);

/** Nine lines of one cluster in three objects of three days, and three of another cluster. */
async function journal(): Promise<MemoryBucket> {
  const bucket = memoryBucket();
  for (const [index, day] of [DAY_1, DAY_2, DAY_3].entries()) {
    const entries = [1, 2, 3].map((line) => entry(index * 3 + line, { at: `${day}T10:00:00.000Z` }));
    await writerOf(bucket).append(CLUSTER, entries, never);
  }
  const others = [1, 2, 3].map((line) => entry(line, { cluster: OTHER, at: `${DAY_1}T10:00:00.000Z` }));
  await writerOf(bucket).append(OTHER, others, never);
  return bucket;
}

async function verify(bucket: MemoryBucket, options: VerifyOptions = {}) {
  const { chains, strays } = await verifyJournal(bucket.files, options, never);
  return [...chains.flatMap(({ problems }) => problems), ...strays];
}

const textOf = (bucket: MemoryBucket, key: string): string => bucket.objects.get(key)?.toString('utf8') ?? '';
const put = (bucket: MemoryBucket, key: string, text: string): void => void bucket.objects.set(key, Buffer.from(text));
const linesOf = (bucket: MemoryBucket, key: string): string[] => textOf(bucket, key).trimEnd().split('\n');

function endOf(bucket: MemoryBucket, key: string, index = -1) {
  const line = readLine(linesOf(bucket, key).at(index) ?? '');
  if (line === undefined) throw new Error('no line');
  return { seq: line.seq, hash: line.hash };
}

/** Lines written anew with right hashes, after the line of a number, as somebody would who knows how. */
function forged(after: { seq: number; hash: string }, numbers: readonly number[], day: string): string {
  const entries = numbers.map((number) => entry(number, { at: `${day}T10:00:00.000Z`, message: 'all is well' }));
  return chainLines(after, entries).body;
}

/** The head that was, when the second object was the last. */
function putBack(bucket: MemoryBucket): void {
  const earlier = headOfObject(B, textOf(bucket, B));
  if (earlier !== undefined) bucket.objects.set(HEAD, encodeHead(earlier));
}

type Tamper = (bucket: MemoryBucket) => void;
const replaced =
  (key: string, from: string, to: string): Tamper =>
  (bucket) =>
    put(bucket, key, textOf(bucket, key).replace(from, to));
const removed =
  (...keys: readonly string[]): Tamper =>
  (bucket) =>
    keys.forEach((key) => bucket.objects.delete(key));
const copied =
  (from: string, to: string): Tamper =>
  (bucket) =>
    put(bucket, to, textOf(bucket, from));
const moved =
  (from: string, to: string): Tamper =>
  (bucket) => {
    copied(from, to)(bucket);
    bucket.objects.delete(from);
  };
const edited =
  (key: string, edit: (lines: string[], bucket: MemoryBucket) => readonly (string | undefined)[]): Tamper =>
  (bucket) =>
    put(
      bucket,
      key,
      edit(linesOf(bucket, key), bucket)
        .map((line) => `${line}\n`)
        .join(''),
    );

const LATE_B = keyOf(DAY_3, 4);
const WRONG_B = keyOf(DAY_2, 5);
const D = keyOf(DAY_3, 10);
const NOTES = `journal/${DAY_2}/notes.txt`;

/** What is done, and what a verification finds: kind, object and line. */
const TAMPERINGS: readonly (readonly [
  name: string,
  tamper: Tamper,
  ...found: readonly (readonly [kind: TamperKind, object: string, line?: number])[],
])[] = [
  ['a verdict is changed', replaced(B, '"verdict":"approve"', '"verdict":"leave"'), ['edited', B, 1]],
  ['a space is put into a line', replaced(B, '"kind":', '"kind": '), ['edited', B, 1]],
  [
    'a line is written anew with its own hash',
    edited(B, ([, ...rest], bucket) => [forged(endOf(bucket, A), [99], DAY_2).trimEnd(), ...rest]),
    ['unlinked', B, 2],
  ],
  [
    'the chain is written anew from a line on, without the head',
    (bucket) => put(bucket, C, forged(endOf(bucket, B), [97, 98, 99], DAY_3)),
    ['head-mismatch', C],
  ],
  ['a line is removed', edited(B, (lines) => lines.toSpliced(1, 1)), ['removed-line', B, 2]],
  [
    'the first line of an object is removed',
    edited(B, (lines) => lines.slice(1)),
    ['misplaced', B, 1],
    ['removed-object', B, 1],
  ],
  ['the last line of an object is removed', edited(B, (lines) => lines.slice(0, -1)), ['removed-object', C, 1]],
  ['an object is removed', removed(B), ['removed-object', C, 1]],
  ['the first object is removed', removed(A), ['removed-object', B, 1]],
  ['two lines change places', edited(B, ([one, two, three]) => [one, three, two]), ['reordered', B, 2]],
  ['a line is there twice', edited(B, ([one, ...rest]) => [one, one, ...rest]), ['duplicated', B, 2]],
  [
    'an object is there twice',
    copied(B, LATE_B),
    ['misplaced', LATE_B],
    ['duplicated', LATE_B, 1],
    ['duplicated', LATE_B, 2],
    ['duplicated', LATE_B, 3],
  ],
  [
    'a line is put in',
    edited(B, ([one, ...rest], bucket) => [one, forged(endOf(bucket, B, 0), [99], DAY_2).trimEnd(), ...rest]),
    ['fork', B, 3],
    ['unlinked', B, 4],
  ],
  [
    'a forged object is put at the end',
    (bucket) => put(bucket, D, forged(endOf(bucket, C), [99], DAY_3)),
    ['forged-tail', D],
  ],
  ['the two newest objects are removed', removed(B, C), ['truncated', HEAD]],
  ['all objects are removed', removed(A, B, C), ['truncated', HEAD]],
  ['the newest object loses its last line', edited(C, (lines) => lines.slice(0, -1)), ['truncated', HEAD]],
  ['the head is put back to an earlier one', putBack, ['forged-tail', C]],
  ['the head is removed', removed(HEAD), ['head-missing', HEAD]],
  ['the head is changed', replaced(HEAD, '"seq":9', '"seq":8'), ['head-damaged', HEAD]],
  ['an object is moved to another day', moved(B, LATE_B), ['misplaced', LATE_B]],
  ['an object gets the number of another one', moved(B, WRONG_B), ['misplaced', WRONG_B, 1]],
  [
    'the object of another cluster stands in place of one',
    copied(OTHER_A, A),
    ['other-cluster', A, 1],
    ['other-cluster', A, 2],
    ['other-cluster', A, 3],
    ['unlinked', B, 1],
  ],
  ['a line is made unreadable', edited(B, (lines) => lines.with(1, 'gone')), ['unreadable', B, 2]],
  [
    'an object is cut in the middle of a line',
    (bucket) => put(bucket, C, textOf(bucket, C).slice(0, -20)),
    ['unreadable', C, 3],
  ],
  ['an object is emptied', (bucket) => put(bucket, B, ''), ['unreadable', B]],
  [
    'an object is other bytes',
    (bucket) => void bucket.objects.set(B, Buffer.from([0xff, 0xfe, 0x0a])),
    ['unreadable', B],
  ],
  ['something else is put beside the objects', (bucket) => put(bucket, NOTES, 'hello'), ['stray', NOTES]],
];

describe('a verification', () => {
  it('finds nothing in what was written', async () => {
    const { chains, strays } = await verifyJournal((await journal()).files, {}, never);
    expect(strays).toEqual([]);
    expect(chains).toMatchObject([
      { cluster: CLUSTER, objects: 3, lines: 9, first: 1, end: { seq: 9 }, pending: false, problems: [] },
      { cluster: OTHER, objects: 1, lines: 3, first: 1, end: { seq: 3 }, pending: false, problems: [] },
    ]);
  });

  it.each(TAMPERINGS.map(([name, tamper, ...found]) => ({ name, tamper, found })))(
    'finds that $name',
    async ({ tamper, found }) => {
      const bucket = await journal();
      tamper(bucket);
      const problems = await verify(bucket);
      expect(problems.map(({ kind, object, line }) => [kind, object, line])).toEqual(
        found.map(([kind, object, line]) => [kind, object, line]),
      );
      for (const { message } of problems) expect(message).toMatch(/^[^.].{10,}[^.]$/);
    },
  );

  it.each([
    ['an object is emptied', 'it is empty, where lines have to be'],
    ['an object is other bytes', 'it does not hold lines of text'],
    ['a line is removed', 'line 5 is missing before it'],
    ['an object is removed', 'lines 4 to 6 are missing before it'],
  ])('says what is wrong where %s', async (what, message) => {
    const bucket = await journal();
    TAMPERINGS.find(([name]) => name === what)?.[1](bucket);
    expect((await verify(bucket))[0]).toMatchObject({ message });
  });

  it('knows more than fourteen kinds', () => {
    const kinds = TAMPERINGS.flatMap(([, , ...found]) => found.map(([kind]) => kind));
    expect(new Set(kinds).size).toBeGreaterThanOrEqual(14);
  });

  it('finds any byte that is changed', async () => {
    const bucket = await journal();
    const keys = [...bucket.objects.keys()].filter((key) => key.startsWith('journal/'));
    await assert(
      asyncProperty(constantFrom(...keys), nat(), integer({ min: 1, max: 255 }), async (key, at, change) => {
        const bytes = Buffer.from(bucket.objects.get(key) ?? '');
        const index = at % bytes.length;
        bytes[index] = (bytes[index] ?? 0) ^ change;
        const copy = memoryBucket([...bucket.objects, [key, bytes]]);
        expect(await verify(copy)).not.toEqual([]);
      }),
      { numRuns: 100, seed: 20_261_121 },
    );
  });

  it('tells one hundred problems of a chain and counts the rest', async () => {
    const bucket = memoryBucket();
    await writerOf(bucket).append(
      CLUSTER,
      Array.from({ length: 300 }, (_, index) => entry(index)),
      never,
    );
    const [key = ''] = [...bucket.objects.keys()].filter((one) => one.startsWith('journal/'));
    put(bucket, key, textOf(bucket, key).replaceAll('"hostile":false', '"hostile":true'));
    const { chains } = await verifyJournal(bucket.files, {}, never);
    expect(chains[0]?.problems).toHaveLength(100);
    expect(chains[0]?.problemCount).toBe(300);
  });

  it('takes the last lines from the head when their object is not written yet', async () => {
    const bucket = await journal();
    bucket.objects.delete(C);
    const { chains } = await verifyJournal(bucket.files, { cluster: CLUSTER }, never);
    expect(chains).toMatchObject([{ objects: 2, lines: 9, end: { seq: 9 }, pending: true, problems: [] }]);
  });

  it('looks again at a chain that grows meanwhile', async () => {
    const bucket = await journal();
    let grown = 0;
    const read = async (key: string) => {
      // Whenever the end of the chain is looked for, it has moved on.
      if (key === HEAD && grown < 2) {
        grown += 1;
        const writer = writerOf(bucket);
        for (const number of [10, 11])
          await writer.append(CLUSTER, [entry(10 * grown + number, { at: `${DAY_3}T11:00:00.000Z` })], never);
      }
      return bucket.objects.get(key);
    };
    const { chains } = await verifyJournal({ ...bucket.files, read }, {}, never);
    expect(chains[0]).toMatchObject({ lines: 13, end: { seq: 13 }, problems: [] });
  });

  it('looks four times at most at a chain that never stops to grow, and again at its newest day alone', async () => {
    const bucket = await journal();
    let looks = 0;
    const read = async (key: string) => {
      if (key === HEAD) {
        looks += 1;
        // Two objects more: the head has only the last of them.
        for (const number of [1, 2])
          await writerOf(bucket).append(CLUSTER, [entry(10 * looks + number, { at: `${DAY_3}T11:00:00.000Z` })], never);
      }
      return bucket.objects.get(key);
    };
    const days = new Set<string>();
    const objects: typeof bucket.files.objects = (prefix, signal) => {
      if (looks > 0) days.add(prefix);
      return bucket.files.objects(prefix, signal);
    };
    await verifyJournal({ ...bucket.files, read, objects }, { cluster: CLUSTER }, never);
    expect(looks).toBe(4);
    expect([...days]).toEqual([`journal/${DAY_3}/${CLUSTER}/`]);
  });

  it('is of one cluster where one is asked for: of no other that was noted down, nor of one whose id begins like its own', async () => {
    const bucket = await journal();
    const longer = `${CLUSTER}/nested`;
    await writerOf(bucket).append(longer, [entry(1, { cluster: longer, at: `${DAY_1}T10:00:00.000Z` })], never);
    const expected = new Map([[OTHER, [endOf(bucket, OTHER_A)]]]);
    const { chains } = await verifyJournal(bucket.files, { cluster: CLUSTER, expected }, never);
    expect(chains).toMatchObject([{ cluster: CLUSTER, lines: 9, problems: [] }]);
  });

  it('has its chains in the order of their clusters, whichever wrote first', async () => {
    const bucket = memoryBucket();
    for (const [cluster, day] of [
      ['zurich', DAY_1],
      ['aachen', DAY_3],
      ['madrid', DAY_2],
    ] as const)
      await writerOf(bucket).append(cluster, [entry(1, { cluster, at: `${day}T10:00:00.000Z` })], never);
    const { chains } = await verifyJournal(bucket.files, {}, never);
    expect(chains.map(({ cluster }) => cluster)).toEqual(['aachen', 'madrid', 'zurich']);
  });

  it('names a hundred objects that are not of the journal, of heads too, and counts the others', async () => {
    const bucket = await journal();
    put(bucket, 'heads/notes.txt', 'hello');
    for (let number = 1; number <= 100; number += 1) put(bucket, `journal/${DAY_2}/notes-${number}.txt`, 'hello');
    const { chains, strays, strayCount } = await verifyJournal(bucket.files, {}, never);
    expect([chains.length, strays.length, strayCount]).toEqual([2, 100, 101]);
  });

  it.each([
    ['an object that is too large', B, 'too-large', [{ kind: 'too-large', object: B }]],
    ['a head that is too large', HEAD, 'too-large', [{ kind: 'head-damaged', object: HEAD }]],
    ['an object that is gone by now', B, undefined, [{ kind: 'removed-object', object: C, line: 1 }]],
  ] as const)('finds %s', async (_, wrong, answer, found) => {
    const bucket = await journal();
    const read = async (key: string) => (key === wrong ? answer : bucket.objects.get(key));
    const { chains } = await verifyJournal({ ...bucket.files, read }, { cluster: CLUSTER }, never);
    expect(chains[0]?.problems).toMatchObject(found);
  });

  it.each([
    ['sixteen at once', 1, 16],
    ['two of the largest at once', MAX_JOURNAL_OBJECT, 2],
    ['none that is larger than any of the journal', MAX_JOURNAL_OBJECT + 1, 0],
  ])('reads objects in their order: %s', async (_, size, atOnce) => {
    const keys = Array.from({ length: 40 }, (__, index) => keyOf(DAY_1, index + 1));
    async function* listed() {
      for (const key of keys) yield { key, size };
    }
    let [reading, most] = [0, 0];
    const read = async (key: string) => {
      reading += 1;
      most = Math.max(most, reading);
      await Promise.resolve();
      reading -= 1;
      return Buffer.from(key);
    };
    const found: [string, string | undefined][] = [];
    for await (const { key, bytes } of readObjects({ ...memoryBucket().files, read }, listed(), never))
      found.push([key, bytes?.toString('utf8')]);
    expect(found).toEqual(keys.map((key) => [key, atOnce === 0 ? undefined : key]));
    expect(most).toBe(atOnce);
  });

  describe('of the newest days', () => {
    it('takes what was before as it is', async () => {
      const bucket = await journal();
      bucket.objects.delete(A);
      const { chains } = await verifyJournal(bucket.files, { since: DAY_2 }, never);
      expect(chains).toMatchObject([
        { cluster: CLUSTER, lines: 6, first: 4, problems: [] },
        { cluster: OTHER, lines: 0, problems: [] },
      ]);
    });

    it('finds that all of them are gone', async () => {
      const bucket = await journal();
      bucket.objects.delete(C);
      expect(await verify(bucket, { since: DAY_3 })).toMatchObject([{ kind: 'truncated', object: HEAD }]);
    });
  });

  describe('with a line that was noted down', () => {
    const expecting = (end: { seq: number; hash: string }, cluster = CLUSTER): VerifyOptions => ({
      expected: new Map([[cluster, [end]]]),
    });

    it('finds that newest objects and head were removed together', async () => {
      const bucket = await journal();
      const end = endOf(bucket, C);
      expect(await verify(bucket, expecting(end))).toEqual([]);
      putBack(bucket);
      bucket.objects.delete(C);
      expect(await verify(bucket)).toEqual([]);
      expect(await verify(bucket, expecting(end))).toMatchObject([
        { kind: 'anchor', message: expect.stringContaining('gone') },
      ]);
    });

    it('finds that everything was written anew', async () => {
      const bucket = await journal();
      const end = endOf(bucket, B);
      const anew = memoryBucket();
      for (const [index, day] of [DAY_1, DAY_2, DAY_3].entries()) {
        const entries = [4, 5, 6].map((line) => entry(index * 3 + line, { at: `${day}T10:00:00.000Z` }));
        await writerOf(anew).append(CLUSTER, entries, never);
      }
      expect(await verify(anew)).toEqual([]);
      expect(await verify(anew, expecting(end))).toMatchObject([{ kind: 'anchor', object: B, line: 3 }]);
    });

    it('says when it did not look so far back', async () => {
      const bucket = await journal();
      const problems = await verify(bucket, { ...expecting(endOf(bucket, A)), since: DAY_2 });
      expect(problems).toMatchObject([{ kind: 'anchor', message: expect.stringContaining('before the first line') }]);
    });

    it('finds that a whole cluster was removed', async () => {
      const problems = await verify(await journal(), expecting({ ...CHAIN_START, seq: 5 }, 'gone'));
      expect(problems.map(({ kind }) => kind)).toEqual(['head-missing', 'anchor']);
    });
  });

  it('reads a copy in a directory as it reads the bucket', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'journal-'));
    try {
      const bucket = await journal();
      const write = async (): Promise<void> => {
        for (const [key, bytes] of bucket.objects) {
          await mkdir(dirname(join(directory, key)), { recursive: true });
          await writeFile(join(directory, key), bytes);
        }
      };
      await write();
      const files = directoryJournalFiles(directory);
      expect(await verifyJournal(files, {}, never)).toEqual(await verifyJournal(bucket.files, {}, never));
      for (const options of [{ cluster: OTHER }, { since: DAY_2 }])
        expect(await verifyJournal(files, options, never)).toEqual(await verifyJournal(bucket.files, options, never));
      put(bucket, B, textOf(bucket, B).replace('approve', 'deny'));
      await write();
      expect((await verifyJournal(files, {}, never)).chains[0]?.problems).toMatchObject([
        { kind: 'edited', object: B },
      ]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
