import { createHmac, randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clusterOf, sweepPath } from '../../../lambdas/fleet/webhook-token.ts';
import { runs } from '../../runs.ts';

const KEY = randomBytes(32).toString('hex');
const OTHER_KEY = randomBytes(32).toString('hex');
const ID = '111122223333/eu-central-1/dublin';
const NAME = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/);
const ANY_ID = fc.array(NAME, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));

const path = sweepPath(KEY, ID);
const token = path.slice(path.lastIndexOf('/') + 1);
const at = (id: string, given: string) => `/sweep/${id}/${given}`;

describe('the path of a cluster', () => {
  it('is all of an HMAC-SHA-256 over its id, without query, fragment or anything to be escaped', () => {
    expect(token).toBe(createHmac('sha256', KEY).update(ID).digest('base64url'));
    expect(Buffer.from(token, 'base64url')).toHaveLength(32);
    expect(new URL(path, 'https://hub.example').pathname).toBe(path);
    expect(clusterOf(KEY, path)).toBe(ID);
  });

  it.each([
    ['nothing', ''],
    ['the root', '/'],
    ['no token', `/sweep/${ID}`],
    ['an empty token', at(ID, '')],
    ['no id', at('', token)],
    ['the token of another cluster', at('111122223333/eu-central-1/cork', token)],
    ['the token of a cluster that is a part of it', at('dublin', token)],
    ['a token made with another key', sweepPath(OTHER_KEY, ID)],
    ['a truncated token', path.slice(0, -1)],
    ['a longer token', `${path}A`],
    ['another first character', at(ID, `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`)],
    ['a token in capitals', at(ID, token.toUpperCase())],
    ['base64 with padding', `${path}=`],
    ['another first word', path.replace('/sweep/', '/sweeps/')],
    ['a path before it', `/x${path}`],
    ['a slash after it', `${path}/`],
    ['two slashes', path.replace('/sweep/', '/sweep//')],
    ['a line break after it', `${path}\n`],
    ['a query in it', `${path}?timeout=1s`],
    ['an escaped slash', path.replace('3/eu', '3%2Feu')],
    ['letters of another script', at('dublіn', token)],
    ['a token of letters that need more bytes', at(ID, 'é'.repeat(43))],
    ['a token of halves of letters', at(ID, '\uD800'.repeat(43))],
    ['a path of three million letters', `/sweep/${'a'.repeat(3_000_000)}/${token}`],
    ['a way out of it', at('../dublin', token)],
  ])('is not %s', (_, given) => {
    expect(clusterOf(KEY, given)).toBeUndefined();
  });

  it('leads every cluster to itself, and no other, whatever its id is', () => {
    fc.assert(
      fc.property(ANY_ID, ANY_ID, (one, two) => {
        expect(clusterOf(KEY, sweepPath(KEY, one))).toBe(one);
        expect(clusterOf(OTHER_KEY, sweepPath(KEY, one))).toBeUndefined();
        const stolen = sweepPath(KEY, one).slice(-43);
        expect(clusterOf(KEY, at(two, stolen))).toBe(one === two ? one : undefined);
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
          expect(clusterOf(KEY, given)).toBeUndefined();
        },
      ),
      { seed: 12, numRuns: runs(1_000) },
    );
  });
});
