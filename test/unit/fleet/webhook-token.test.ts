import { createHmac, randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hintedBy, hintPath, isKey, proofOf, provesAccepted } from '../../../lambdas/fleet/webhook-token.ts';
import { runs } from '../../runs.ts';

const KEY = randomBytes(32).toString('hex');
const OTHER_KEY = randomBytes(32).toString('hex');
const ID = '111122223333/eu-central-1/dublin';
const NAME = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/);
const ANY_ID = fc.array(NAME, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));

const path = hintPath(KEY, ID);
const token = path.slice(path.lastIndexOf('/') + 1);
const at = (id: string, given: string) => `/hint/${id}/${given}`;

describe('the path of a cluster', () => {
  it('is all of an HMAC-SHA-256 over its id, without query, fragment or anything to be escaped', () => {
    expect(token).toBe(createHmac('sha256', KEY).update(`hint ${ID}`).digest('base64url'));
    expect(Buffer.from(token, 'base64url')).toHaveLength(32);
    expect(new URL(path, 'https://hub.example').pathname).toBe(path);
    expect(hintedBy(KEY, path)).toBe(ID);
  });

  it.each([
    ['nothing', ''],
    ['the root', '/'],
    ['no token', `/hint/${ID}`],
    ['an empty token', at(ID, '')],
    ['no id', at('', token)],
    ['the token of another cluster', at('111122223333/eu-central-1/cork', token)],
    ['the token of a cluster that is a part of it', at('dublin', token)],
    ['a token made with another key', hintPath(OTHER_KEY, ID)],
    ['a truncated token', path.slice(0, -1)],
    ['a longer token', `${path}A`],
    ['another first character', at(ID, `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`)],
    ['a token in capitals', at(ID, token.toUpperCase())],
    ['base64 with padding', `${path}=`],
    ['a proof', at(ID, proofOf(KEY, 'accepted', ID, '').slice(1))],
    ['another first word', path.replace('/hint/', '/hints/')],
    ['a path before it', `/x${path}`],
    ['a slash after it', `${path}/`],
    ['two slashes', path.replace('/hint/', '/hint//')],
    ['a line break after it', `${path}\n`],
    ['a query in it', `${path}?timeout=1s`],
    ['an escaped slash', path.replace('3/eu', '3%2Feu')],
    ['letters of another script', at('dublіn', token)],
    ['a token of letters that need more bytes', at(ID, 'é'.repeat(43))],
    ['a token of halves of letters', at(ID, '\uD800'.repeat(43))],
    ['a path of three million letters', `/hint/${'a'.repeat(3_000_000)}/${token}`],
    ['a way out of it', at('../dublin', token)],
  ])('is not %s', (_, given) => {
    expect(hintedBy(KEY, given)).toBeUndefined();
  });

  it('leads every cluster to itself, and no other, whatever its id is', () => {
    fc.assert(
      fc.property(ANY_ID, ANY_ID, (one, two) => {
        expect(hintedBy(KEY, hintPath(KEY, one))).toBe(one);
        expect(hintedBy(OTHER_KEY, hintPath(KEY, one))).toBeUndefined();
        const stolen = hintPath(KEY, one).slice(-43);
        expect(hintedBy(KEY, at(two, stolen))).toBe(one === two ? one : undefined);
      }),
      { seed: 11, numRuns: runs(200) },
    );
  });

  it('is none of what is made up', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.tuple(ANY_ID, fc.stringMatching(/^[A-Za-z0-9_-]{43}$/)).map(([id, given]) => at(id, given)),
          fc
            .tuple(fc.nat(path.length - 1), fc.string({ minLength: 1, maxLength: 1 }))
            .map(([index, letter]) =>
              path[index] === letter ? '' : `${path.slice(0, index)}${letter}${path.slice(index + 1)}`,
            ),
        ),
        (given) => {
          expect(hintedBy(KEY, given)).toBeUndefined();
        },
      ),
      { seed: 12, numRuns: runs(1_000) },
    );
  });
});

describe('a proof', () => {
  it('is another one for each outcome, answer, salt and key', () => {
    const all = [KEY, OTHER_KEY].flatMap((key) =>
      (['accepted', 'refused'] as const).flatMap((outcome) =>
        ['a', 'b'].flatMap((uid) => ['c', 'd'].map((salt) => proofOf(key, outcome, uid, salt))),
      ),
    );
    expect(new Set(all.map((proof) => proof.slice(2))).size).toBe(16);
  });

  it.each([
    ['one that was accepted', proofOf(KEY, 'accepted', 'a', 'salt'), true],
    ['one that was refused', proofOf(KEY, 'refused', 'a', 'salt'), false],
    ['that of another request', proofOf(KEY, 'accepted', 'b', 'salt'), false],
    ['that of another key', proofOf(OTHER_KEY, 'accepted', 'a', 'salt'), false],
    ['one with another salt', proofOf(KEY, 'accepted', 'a', 'salt').replace('salt', 'sal'), false],
    ['none', '', false],
    ['what is no proof', 'undefined', false],
  ])('is told from %s', (_, proof, expected) => {
    expect(provesAccepted(KEY, 'a', proof)).toBe(expected);
  });
});

it.each([
  ['64 letters and digits, as CloudFormation makes it', 'a'.repeat(64), true],
  ['32 bytes in base64', randomBytes(32).toString('base64'), true],
  ['too short', 'a'.repeat(42), false],
  ['too long', 'a'.repeat(257), false],
  ['with a line break', `${'a'.repeat(64)}\n`, false],
  ['empty', '', false],
])('a text that is %s is a key or not', (_, given, expected) => {
  expect(isKey(given)).toBe(expected);
});
