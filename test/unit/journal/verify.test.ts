import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { array, assert, asyncProperty, constantFrom, integer, nat, pre, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHAIN_START, chainLines, readLine } from '../../../lambdas/journal/chain.ts';
import { directoryJournalStore } from '../../../lambdas/journal/directory-journal.ts';
import { headOfObject } from '../../../lambdas/journal/head.ts';
import { type JournalStore, MAX_JOURNAL_OBJECT } from '../../../lambdas/journal/journal-store.ts';
import { headKey, journalKey } from '../../../lambdas/journal/keys.ts';
import { readObjects, type VerifyOptions, verifyJournal } from '../../../lambdas/journal/verify.ts';
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
  const { chains, strays } = await verifyJournal(bucket.store, options, never);
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
  if (earlier !== undefined) bucket.objects.set(HEAD, Buffer.from(JSON.stringify(earlier)));
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
const TOO_LARGE = { bytes: undefined, etag: '' };

/** What is done, and what a verification finds: where, and why a line does not follow from the one before. */
const TAMPERINGS: readonly (readonly [
  name: string,
  tamper: Tamper,
  ...found: readonly (readonly [object: string, line: number | undefined, message: string])[],
])[] = [
  [
    'a verdict is changed',
    replaced(B, '"verdict":"approve"', '"verdict":"leave"'),
    [B, 1, 'line 4 was changed after it was written'],
  ],
  ['a space is put into a line', replaced(B, '"kind":', '"kind": '), [B, 1, 'line 4 was changed after it was written']],
  [
    'two lines are changed',
    edited(B, (lines) => lines.map((line) => line.replace('"hostile":false', '"hostile":true'))),
    [B, 1, 'line 4 was changed after it was written'],
  ],
  [
    'lines of two objects are changed',
    (bucket) => [A, C].forEach((key) => replaced(key, '"approve"', '"deny"')(bucket)),
    [A, 1, 'line 1 was changed after it was written'],
    [C, 1, 'line 7 was changed after it was written'],
  ],
  [
    'a line is written anew with its own hash',
    edited(B, ([, ...rest], bucket) => [forged(endOf(bucket, A), [99], DAY_2).trimEnd(), ...rest]),
    [B, 2, 'line 5 was written after another line 4 than the one that is there'],
  ],
  [
    'the last line of an object is written anew with its own hash',
    edited(B, (lines, bucket) => [...lines.slice(0, 2), forged(endOf(bucket, B, 1), [99], DAY_2).trimEnd()]),
    [C, 1, 'line 7 was written after another line 6 than the one that is there'],
  ],
  [
    'the chain is written anew from a line on, without the head',
    (bucket) => put(bucket, C, forged(endOf(bucket, B), [97, 98, 99], DAY_3)),
    [C, undefined, 'its line 9 is not the one that the head knows'],
  ],
  ['a line is removed', edited(B, (lines) => lines.toSpliced(1, 1)), [B, 2, 'line 5 is missing before it']],
  [
    'the first line of an object is removed',
    edited(B, (lines) => lines.slice(1)),
    [B, 1, 'line 4 is missing before it'],
  ],
  [
    'the last line of an object is removed',
    edited(B, (lines) => lines.slice(0, -1)),
    [C, 1, 'line 6 is missing before it'],
  ],
  ['an object is removed', removed(B), [C, 1, 'lines 4 to 6 are missing before it']],
  ['the first object is removed', removed(A), [B, 1, 'lines 1 to 3 are missing before it']],
  [
    'the numbers are written anew after an object is removed',
    (bucket) => {
      removed(B, C)(bucket);
      put(bucket, B, forged(endOf(bucket, A), [7, 8, 9], DAY_2));
    },
    [C, 1, 'line 7 was written after another line 6 than the one that is there'],
  ],
  [
    'two lines change places',
    edited(B, ([one, two, three]) => [one, three, two]),
    [B, 2, 'line 5 is missing before it'],
    [C, 1, 'line 6 is missing before it'],
  ],
  [
    'two objects change places',
    (bucket) => {
      const [b, c] = [textOf(bucket, B), textOf(bucket, C)];
      put(bucket, B, c);
      put(bucket, C, b);
    },
    [B, 1, 'lines 4 to 6 are missing before it'],
    [C, 1, 'line 4 comes after line 9'],
    [C, undefined, 'it ends with line 6, and the head of the chain with line 9'],
  ],
  ['a line appears twice', edited(B, ([one, ...rest]) => [one, one, ...rest]), [B, 2, 'line 4 comes after line 4']],
  ['an object appears twice', copied(B, LATE_B), [LATE_B, 1, 'line 4 comes after line 6']],
  [
    'an earlier object appears twice, in front',
    copied(B, keyOf(DAY_1, 4)),
    [keyOf(DAY_1, 4), undefined, 'its key does not match its lines'],
    [B, 1, 'line 4 comes after line 6'],
  ],
  [
    'a line is put in',
    edited(B, ([one, ...rest], bucket) => [one, forged(endOf(bucket, B, 0), [99], DAY_2).trimEnd(), ...rest]),
    [B, 3, 'line 5 comes after line 5'],
  ],
  [
    'an object is put in',
    (bucket) => put(bucket, keyOf(DAY_2, 7), forged(endOf(bucket, B), [99], DAY_2)),
    [C, 1, 'line 7 comes after line 7'],
  ],
  [
    'an empty line is put at the end of an object',
    (bucket) => put(bucket, B, `${textOf(bucket, B)}\n`),
    [B, 4, 'it is not a line of a journal'],
  ],
  [
    'ends of lines are changed',
    (bucket) => put(bucket, B, textOf(bucket, B).replaceAll('\n', '\r\n')),
    [B, 1, 'it is not a line of a journal'],
  ],
  [
    'a forged object is put at the end',
    (bucket) => put(bucket, D, forged(endOf(bucket, C), [99], DAY_3)),
    [D, undefined, 'it ends with line 10, and the head of the chain with line 9'],
  ],
  [
    'a forged line is put at the end',
    edited(C, (lines, bucket) => [...lines, forged(endOf(bucket, C), [99], DAY_3).trimEnd()]),
    [C, undefined, 'it ends with line 10, and the head of the chain with line 9'],
  ],
  ['the two newest objects are removed', removed(B, C), [C, 1, 'lines 4 to 6 are missing before it']],
  ['all objects are removed', removed(A, B, C), [C, 1, 'lines 1 to 6 are missing before it']],
  [
    'the newest object loses its last line',
    edited(C, (lines) => lines.slice(0, -1)),
    [C, undefined, 'it ends with line 8, and the head of the chain with line 9'],
  ],
  [
    'the head is put back to an earlier one',
    putBack,
    [C, undefined, 'it ends with line 9, and the head of the chain with line 6'],
  ],
  ['the head is removed', removed(HEAD), [HEAD, undefined, 'it does not exist, so the end of the chain is not known']],
  [
    'the head is changed',
    replaced(HEAD, '"seq":9', '"seq":8'),
    [HEAD, undefined, 'it is not a head of this chain, or was changed'],
  ],
  [
    'a line in the head is changed',
    replaced(HEAD, 'worker-9', 'worker-8'),
    [HEAD, undefined, 'it is not a head of this chain, or was changed'],
  ],
  [
    'the head of another cluster stands in its place',
    copied(headKey(OTHER), HEAD),
    [HEAD, undefined, 'it is not a head of this chain, or was changed'],
  ],
  [
    'the newest object is removed, and another line of the head changed',
    (bucket) => {
      removed(C)(bucket);
      replaced(HEAD, 'worker-7', 'worker-1')(bucket);
    },
    [C, 1, 'line 7 was changed after it was written'],
  ],
  ['an object is moved to another day', moved(B, LATE_B), [LATE_B, undefined, 'its key does not match its lines']],
  [
    'an object gets the number of another one',
    moved(B, WRONG_B),
    [WRONG_B, undefined, 'its key does not match its lines'],
  ],
  [
    'the object of another cluster stands in place of one',
    copied(OTHER_A, A),
    [A, 1, 'line 1 belongs to cluster other'],
    [B, 1, 'line 4 was written after another line 3 than the one that is there'],
  ],
  ['a line is made unreadable', edited(B, (lines) => lines.with(1, 'gone')), [B, 2, 'it is not a line of a journal']],
  [
    'an object is cut in the middle of a line',
    (bucket) => put(bucket, C, textOf(bucket, C).slice(0, -20)),
    [C, 3, 'it is not a line of a journal'],
  ],
  [
    'an object is cut before its last byte',
    (bucket) => put(bucket, B, textOf(bucket, B).slice(0, -1)),
    [B, 3, 'it is not a line of a journal'],
  ],
  [
    'a line is no JSON but for its hash',
    edited(B, (lines) => lines.with(1, `{no,"hash":"${'0'.repeat(64)}"}`)),
    [B, 2, 'it is not a line of a journal'],
  ],
  ['the number of a line is no number', replaced(B, '"seq":5', '"seq":"5"'), [B, 2, 'it is not a line of a journal']],
  [
    'the hash of a line is taken away',
    edited(B, ([one = '', ...rest]) => [one.replace(/,"hash":"\w+"/, ''), ...rest]),
    [B, 1, 'it is not a line of a journal'],
  ],
  ['an object is emptied', (bucket) => put(bucket, B, ''), [B, 1, 'it is not a line of a journal']],
  [
    'an object is other bytes',
    (bucket) => void bucket.objects.set(B, Buffer.from([0xff, 0xfe, 0x0a])),
    [B, 1, 'it is not a line of a journal'],
  ],
  [
    'something else is put beside the objects',
    (bucket) => put(bucket, NOTES, 'hello'),
    [NOTES, undefined, 'it does not belong to the journal: certmarshal does not write it'],
  ],
];

describe('a verification', () => {
  it('finds nothing in what was written', async () => {
    const { chains, strays } = await verifyJournal((await journal()).store, {}, never);
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
      expect(problems.map(({ object, line, message }) => [object, line, message])).toEqual(found);
      for (const { remedy } of problems) expect(remedy).toMatch(/(?:aws s3api list-object-versions|CloudTrail).*\.$/);
    },
  );

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

  it('finds any lines that are removed, copied or moved, within objects and between them', async () => {
    const bucket = await journal();
    const keys = [A, B, C];
    const place = record({ key: constantFrom(...keys), line: nat(3) });
    await assert(
      asyncProperty(
        array(record({ what: constantFrom('remove', 'copy', 'move'), from: place, to: place }), {
          minLength: 1,
          maxLength: 4,
        }),
        async (changes) => {
          const lines = new Map(keys.map((key) => [key, linesOf(bucket, key)]));
          for (const { what, from, to } of changes) {
            const [line] = lines.get(from.key)?.slice(from.line, from.line + 1) ?? [];
            if (line === undefined) continue;
            if (what !== 'copy') lines.get(from.key)?.splice(from.line, 1);
            if (what !== 'remove') lines.get(to.key)?.splice(to.line, 0, line);
          }
          const copy = memoryBucket(bucket.objects);
          for (const [key, of] of lines) put(copy, key, of.map((line) => `${line}\n`).join(''));
          const isSame = keys.every((key) => textOf(copy, key) === textOf(bucket, key));
          expect((await verify(copy)).length === 0).toBe(isSame);
        },
      ),
      { numRuns: 200, seed: 20_261_123 },
    );
  });

  it('finds any objects that are removed, copied or moved, but for the newest one: the head has all of it', async () => {
    const bucket = await journal();
    const keys = [A, B, C, HEAD, OTHER_A, headKey(OTHER), D, LATE_B, WRONG_B];
    const key = constantFrom(...keys);
    await assert(
      asyncProperty(
        array(record({ what: constantFrom('remove', 'copy', 'swap'), from: key, to: key }), {
          minLength: 1,
          maxLength: 4,
        }),
        async (changes) => {
          const copy = memoryBucket(bucket.objects);
          const { objects } = copy;
          for (const { what, from, to } of changes) {
            const [source, target] = [objects.get(from), objects.get(to)];
            if (what !== 'remove' && source !== undefined) objects.set(to, source);
            if (what === 'remove' || (what === 'swap' && target === undefined)) objects.delete(from);
            else if (what === 'swap' && target !== undefined) objects.set(from, target);
          }
          const newest = new Set([C, OTHER_A]);
          const isSame = keys.every((each) => {
            const [is, was] = [objects.get(each), bucket.objects.get(each)];
            return is === was || (newest.has(each) && is === undefined);
          });
          // Nothing is left of a cluster whose objects and head are all gone.
          const isGone = [
            [A, B, C, HEAD, D, LATE_B, WRONG_B],
            [OTHER_A, headKey(OTHER)],
          ].some((all) => all.every((each) => !objects.has(each)));
          pre(!isGone);
          expect((await verify(copy)).length === 0).toBe(isSame);
        },
      ),
      { numRuns: 400, seed: 20_261_123 },
    );
  });

  it('tells one hundred problems of a chain and counts the rest', async () => {
    const bucket = memoryBucket();
    for (let number = 1; number <= 300; number += 1) await writerOf(bucket).append(CLUSTER, [entry(number)], never);
    for (const key of bucket.objects.keys())
      if (key.startsWith('journal/'))
        put(bucket, key, textOf(bucket, key).replace('"hostile":false', '"hostile":true'));
    const { chains } = await verifyJournal(bucket.store, {}, never);
    expect(chains[0]?.problems).toHaveLength(100);
    expect(chains[0]?.problemCount).toBe(300);
  });

  it('takes the last lines from the head when their object is not written yet', async () => {
    const bucket = await journal();
    bucket.objects.delete(C);
    const { chains } = await verifyJournal(bucket.store, { cluster: CLUSTER }, never);
    expect(chains).toMatchObject([{ objects: 2, lines: 9, end: { seq: 9 }, pending: true, problems: [] }]);
  });

  it('looks again at a chain that grows meanwhile, as far as its head knows, and at its newest days alone', async () => {
    const bucket = await journal();
    const append = async (number: number) =>
      writerOf(bucket).append(CLUSTER, [entry(number, { at: `${DAY_3}T11:00:00.000Z` })], never);
    const prefixes: string[] = [];
    const store: JournalStore = {
      ...bucket.store,
      async read(key, signal) {
        if (key !== HEAD) return bucket.store.read(key, signal);
        // Two sweeps since the objects were listed, and one since the head was read.
        for (const number of [10, 11]) await append(number);
        const head = await bucket.store.read(key, signal);
        await append(12);
        return head;
      },
      objects(prefix, signal) {
        prefixes.push(prefix);
        return bucket.store.objects(prefix, signal);
      },
    };
    const { chains } = await verifyJournal(store, { cluster: CLUSTER, since: DAY_1 }, never);
    expect(chains[0]).toMatchObject({ lines: 11, end: { seq: 11 }, pending: false, problems: [] });
    expect(prefixes.filter((prefix) => prefix.includes(DAY_3))).toHaveLength(2);
    expect(prefixes.filter((prefix) => prefix.includes(DAY_2))).toHaveLength(1);
  });

  it('is of one cluster where one is asked for: of no other that was noted down, nor of one whose id begins like its own', async () => {
    const bucket = await journal();
    const longer = `${CLUSTER}/nested`;
    await writerOf(bucket).append(longer, [entry(1, { cluster: longer, at: `${DAY_1}T10:00:00.000Z` })], never);
    const expected = new Map([[OTHER, [endOf(bucket, OTHER_A)]]]);
    const { chains } = await verifyJournal(bucket.store, { cluster: CLUSTER, expected }, never);
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
    const { chains } = await verifyJournal(bucket.store, {}, never);
    expect(chains.map(({ cluster }) => cluster)).toEqual(['aachen', 'madrid', 'zurich']);
  });

  it('names a hundred objects that are not of the journal, of heads too, and counts the others', async () => {
    const bucket = await journal();
    put(bucket, 'heads/notes.txt', 'hello');
    for (let number = 1; number <= 100; number += 1) put(bucket, `journal/${DAY_2}/notes-${number}.txt`, 'hello');
    const { chains, strays, strayCount } = await verifyJournal(bucket.store, {}, never);
    expect([chains.length, strays.length, strayCount]).toEqual([2, 100, 101]);
  });

  it.each([
    [
      'an object that is too large',
      B,
      TOO_LARGE,
      [{ object: B, message: 'it is larger than any object of the journal' }],
    ],
    ['a head that is too large', HEAD, TOO_LARGE, [{ object: HEAD, message: expect.stringContaining('not a head') }]],
    ['an object that is gone by now', B, undefined, [{ object: C, line: 1 }]],
  ] as const)('finds %s', async (_, wrong, answer, found) => {
    const bucket = await journal();
    const store: JournalStore = {
      ...bucket.store,
      read: async (key, signal) => (key === wrong ? answer : bucket.store.read(key, signal)),
    };
    const { chains } = await verifyJournal(store, { cluster: CLUSTER }, never);
    expect(chains[0]?.problems).toMatchObject(found);
  });

  it.each([
    ['sixteen at once', 1, 16],
    ['two of the largest at once', MAX_JOURNAL_OBJECT, 2],
    ['one alone of which all are larger than any of the journal', 2 * MAX_JOURNAL_OBJECT + 1, 1],
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
      return { bytes: Buffer.from(key), etag: '' };
    };
    const found: [string, string | undefined][] = [];
    for await (const { key, bytes } of readObjects({ ...memoryBucket().store, read }, listed(), never))
      found.push([key, bytes?.toString('utf8')]);
    expect(found).toEqual(keys.map((key) => [key, key]));
    expect(most).toBe(atOnce);
  });

  describe('of the newest days', () => {
    it('takes what was before as it is', async () => {
      const bucket = await journal();
      bucket.objects.delete(A);
      const { chains } = await verifyJournal(bucket.store, { since: DAY_2 }, never);
      expect(chains).toMatchObject([
        { cluster: CLUSTER, lines: 6, first: 4, problems: [] },
        { cluster: OTHER, lines: 0, problems: [] },
      ]);
    });

    it('takes the day of the first object as it is, and of no other', async () => {
      const bucket = await journal();
      moved(A, keyOf(DAY_2, 1))(bucket);
      expect(await verify(bucket, { since: DAY_2 })).toEqual([]);
      moved(B, LATE_B)(bucket);
      expect(await verify(bucket, { since: DAY_2 })).toMatchObject([
        { object: LATE_B, message: 'its key does not match its lines' },
      ]);
    });

    it('finds lines of a later day than the first object says', async () => {
      const bucket = await journal();
      removed(A)(bucket);
      moved(B, keyOf(DAY_1, 4))(bucket);
      expect(await verify(bucket, { since: DAY_1 })).toMatchObject([{ object: keyOf(DAY_1, 4) }]);
    });

    it('finds that all of them are gone', async () => {
      const bucket = await journal();
      bucket.objects.delete(C);
      expect(await verify(bucket, { since: DAY_3 })).toMatchObject([
        { object: HEAD, message: `it knows lines up to 9, in ${C}; none of them is there` },
      ]);
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
        { message: 'line 9 was noted down, and it is gone', remedy: expect.stringContaining('the proof') },
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
      expect(await verify(anew, expecting(end))).toMatchObject([
        { object: `chain of ${CLUSTER}`, message: 'line 6 is not the one that was noted down' },
      ]);
    });

    it('says when it did not look so far back', async () => {
      const bucket = await journal();
      const problems = await verify(bucket, { ...expecting(endOf(bucket, A)), since: DAY_2 });
      expect(problems).toMatchObject([{ message: expect.stringContaining('before the first line') }]);
    });

    it('finds that a whole cluster was removed', async () => {
      const problems = await verify(await journal(), expecting({ ...CHAIN_START, seq: 5 }, 'gone'));
      expect(problems.map(({ object }) => object)).toEqual([headKey('gone'), 'chain of gone']);
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
      const store = directoryJournalStore(directory);
      expect(await verifyJournal(store, {}, never)).toEqual(await verifyJournal(bucket.store, {}, never));
      for (const options of [{ cluster: OTHER }, { since: DAY_2 }])
        expect(await verifyJournal(store, options, never)).toEqual(await verifyJournal(bucket.store, options, never));
      put(bucket, B, textOf(bucket, B).replace('approve', 'deny'));
      await write();
      expect((await verifyJournal(store, {}, never)).chains[0]?.problems).toMatchObject([{ object: B, line: 1 }]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
